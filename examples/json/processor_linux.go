package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processor returns the processor time of this program with microsecond resolution. The clock of
// getrusage only has a resolution of milliseconds.
func processor() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// thread returns the processor time of the calling system thread.
func thread() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}
