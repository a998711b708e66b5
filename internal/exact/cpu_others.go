//go:build !linux

package exact

import "time"

var began = time.Now()

// CPU returns the wall-clock time since the start, on systems without a measure of
// processor time.
func CPU() time.Duration { return time.Since(began) }
