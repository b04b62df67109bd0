package guest

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchdog(t *testing.T) {
	for _, test := range []struct {
		name    string
		every   time.Duration // between two moves
		moves   int
		bites   time.Duration
		because error
	}{
		{"never moves", 0, 0, time.Minute, errIdle},
		{"moves and stops", 50 * time.Second, 3, 3*50*time.Second + time.Minute, errIdle},
		{"moves for ever", 59 * time.Second, 1000, time.Hour, errTotal},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				bitten := make(chan error, 2)
				var took time.Duration
				w := watch(time.Minute, time.Hour, func(cause error) {
					took = time.Since(start)
					bitten <- cause
				})
				for range test.moves {
					time.Sleep(test.every)
					w.touch()
				}
				if cause := <-bitten; cause != test.because || took != test.bites {
					t.Errorf("bites after %v because %v; want %v, %v", took, cause, test.bites, test.because)
				}
				time.Sleep(3 * time.Hour)
				if w.stop() || len(bitten) != 0 {
					t.Error("stop says that it never bit, or it bit twice")
				}
			})
		})
	}
}

func TestWatchdogStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(time.Minute, time.Hour, func(cause error) { t.Errorf("bites: %v", cause) })
		time.Sleep(59 * time.Second)
		if !w.stop() {
			t.Error("stop says that it bit")
		}
		time.Sleep(2 * time.Hour)
	})
}

// The total is the bound even where it is the shorter one.
func TestWatchdogTotalUnderIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		bitten := make(chan error)
		w := watch(time.Hour, time.Minute, func(cause error) { bitten <- cause })
		if cause := <-bitten; cause != errTotal || time.Since(start) != time.Minute {
			t.Errorf("bites after %v because %v", time.Since(start), cause)
		}
		w.stop()
	})
}
