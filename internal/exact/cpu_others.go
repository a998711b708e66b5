//go:build !linux

package exact

import "time"

var began = time.Now()

// CPU is the clock on the wall where it is not known how long processors work.
func CPU() time.Duration { return time.Since(began) }
