package grammar_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the time that processors have spent on this thread: getrusage
// counts in ticks of milliseconds.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
