package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// killRounds is how many times TestKillLoop kills: a few by default, and many
// in the long forms of the tests.
const killRounds = 3

// However often the daemon is killed while its fleet grows and shrinks, in the
// end there are exactly as many guests as asked for, and nothing else.
func TestKillLoop(t *testing.T) {
	rounds, seed := number(t, "PROXYD_KILL_ROUNDS", killRounds), uint64(number(t, "PROXYD_KILL_SEED", int(time.Now().UnixNano()%1e9)))
	t.Logf("PROXYD_KILL_ROUNDS=%d PROXYD_KILL_SEED=%d", rounds, seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := newSite(t)
	replicas := 2
	for round := range rounds {
		replicas = 2 + r.IntN(5)
		s.configure(replicas, "")
		p := s.start("-config", s.configFile())
		// Most of what can be cut in the middle happens soon after the start.
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		for range r.IntN(3) {
			replicas = 2 + r.IntN(5)
			s.configure(replicas, "")
			p.signal(syscall.SIGHUP)
			time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		}
		p.signal(syscall.SIGKILL)
		<-p.done
		if round%5 == 4 {
			// Now and then everything must be right in between as well.
			p = s.start("-config", s.configFile())
			p.settled(replicas)
			s.audit(replicas)
			p.end(syscall.SIGKILL)
		}
	}
	p := s.start("-config", s.configFile(), "-keep=false")
	p.settled(replicas)
	s.audit(replicas)
	if code := p.end(syscall.SIGTERM); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.errors.String())
	}
	s.audit(0)
}

// number reads a number from the environment.
func number(t *testing.T, key string, otherwise int) int {
	t.Helper()
	text := os.Getenv(key)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%q is not a number", key, text)
	}
	return n
}
