//go:build !linux

package grammar_test

import "time"

var began = time.Now()

// cpuTime returns the time that has passed: that of the thread is not known.
func cpuTime() time.Duration { return time.Since(began) }
