package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processor returns the time that the processors have spent on this program, to the
// microsecond: getrusage counts in ticks of milliseconds.
func processor() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}
