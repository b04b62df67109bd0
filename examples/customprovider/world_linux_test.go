package customprovider

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// guests returns the processes that have a guest's lock file of this world
// open, with the directory that it is in. It looks at the process table, and
// at nothing that the provider has written.
func (w world) guests() map[int]string {
	found := map[int]string{}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		target = strings.TrimSuffix(target, " (deleted)")
		if err != nil || !strings.HasPrefix(target, w.dir+"/instances/") || filepath.Base(target) != "alive" {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err == nil && pid != os.Getpid() {
			found[pid] = filepath.Dir(target)
		}
	}
	return found
}

// guest returns the one guest of an instance.
func (w world) guest(name string) int {
	w.t.Helper()
	var pids []int
	for pid, dir := range w.guests() {
		if strings.Contains(filepath.Base(dir), "."+name+".") {
			pids = append(pids, pid)
		}
	}
	if len(pids) != 1 {
		w.t.Fatalf("%s has the guests %v, want one", name, pids)
	}
	return pids[0]
}

// zombies returns the children of the test program that nobody has reaped.
func (w world) zombies() []int {
	var found []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range stats {
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			w.t.Fatal(err)
		}
		if s, ok := see(pid); ok && s.zombie && s.parent == os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}
