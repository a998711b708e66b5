//go:build !linux

package auto_test

import "time"

var began = time.Now()

// cpu is the clock on the wall where it is not known how long processors work.
func cpu() time.Duration { return time.Since(began) }
