package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processor returns the time that the processors have spent on this program, to the
// microsecond: getrusage counts in ticks of milliseconds.
func processor() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// thread returns the time that a processor has spent on this thread of the system.
func thread() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}
