//go:build !linux

package main

import "time"

// processor returns the elapsed time, because processor time is not available on this system.
func processor() time.Duration { return time.Since(began) }

// thread returns the elapsed time, too.
func thread() time.Duration { return processor() }
