//go:build !linux

package gibbsite_test

// limitMemory does nothing where there is no such limit.
func limitMemory() {}
