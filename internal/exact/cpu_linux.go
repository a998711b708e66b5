package exact

import (
	"syscall"
	"time"
)

// CPU returns the time that the processors have spent on this process: on a busy
// machine the measure of a cost, where the clock on the wall is none.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
