package customprovider

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// sighting is what the process table says of an ID now.
type sighting struct {
	start  string // boot and time of start, see startOf
	parent int
	zombie bool
}

// see looks an ID up in the process table, by proc_pid_stat(5).
func see(pid int) (sighting, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return sighting{}, false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return sighting{}, false
	}
	// The second field is the program's name in brackets, which may contain
	// anything. What is counted here begins with the third.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, ppid, starttime = 0, 1, 19
	if len(fields) <= starttime {
		return sighting{}, false
	}
	parent, err := strconv.Atoi(fields[ppid])
	return sighting{
		start:  strings.TrimSpace(string(boot)) + "/" + fields[starttime],
		parent: parent,
		zombie: fields[state] == "Z" || fields[state] == "X",
	}, err == nil
}

// startOf returns what tells a process from every other that gets its ID: the
// boot, and the clock tick in which it was started. For an ID to come round
// within a tick, a hundredth of a second, all others would have to be used up.
func startOf(pid int) string {
	s, _ := see(pid)
	return s.start
}

// confirmed reports whether the process with the ID is the one recorded.
func (g process) confirmed(string) bool {
	s, ok := see(g.PID)
	return ok && s.start == g.Start
}

// lingers reports whether the process is on its way out but not yet there, and
// reaps it where an earlier provider of this program has started it.
func (g process) lingers() bool {
	s, ok := see(g.PID)
	if !ok || s.start != g.Start {
		return false
	}
	if s.zombie && s.parent == os.Getpid() {
		return !reapOne(g.PID)
	}
	return !s.zombie
}
