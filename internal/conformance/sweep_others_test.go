//go:build !linux

package conformance_test

// limitMemory does nothing where there is no such limit.
func limitMemory() {}
