//go:build !linux

package exact

import "time"

var began = time.Now()

// CPU returns the time since the program started, because processor time is not available on
// this system.
func CPU() time.Duration { return time.Since(began) }
