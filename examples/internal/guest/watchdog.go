package guest

import (
	"sync"
	"sync/atomic"
	"time"
)

// watchdog ends something when nothing moved in it for the idle time, or after
// the total time, whatever moves.
type watchdog struct {
	idle, total time.Duration
	start       time.Time
	// moved is when something moved last, as nanoseconds after start.
	moved atomic.Int64

	mu sync.Mutex
	// bite is called at most once, with errIdle or errTotal; nil after that, or
	// after stop.
	bite  func(cause error)
	timer *time.Timer
}

// watch starts a watchdog. The caller calls stop in the end. bite is called on
// a goroutine of its own, and not any more once stop has returned.
func watch(idle, total time.Duration, bite func(cause error)) *watchdog {
	w := &watchdog{idle: idle, total: total, start: time.Now(), bite: bite}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(min(idle, total), w.look)
	return w
}

// touch says that something moved.
func (w *watchdog) touch() { w.moved.Store(int64(time.Since(w.start))) }

// look bites, or sleeps until the next moment at which it may have to.
func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bite == nil {
		return
	}
	now := time.Since(w.start)
	idle := now - time.Duration(w.moved.Load())
	switch {
	case now >= w.total:
		w.bite(errTotal)
		w.bite = nil
	case idle >= w.idle:
		w.bite(errIdle)
		w.bite = nil
	default:
		w.timer.Reset(min(w.total-now, w.idle-idle))
	}
}

// stop ends the watch, and reports whether it never bit.
func (w *watchdog) stop() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	quiet := w.bite != nil
	w.bite = nil
	return quiet
}
