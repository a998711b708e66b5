//go:build !linux

package main

import "time"

// processor is the clock on the wall where the system does not tell the time of
// processors.
func processor() time.Duration { return time.Since(began) }

// thread is the same.
func thread() time.Duration { return processor() }
