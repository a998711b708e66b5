//go:build js || wasip1

package durable

// lockFile does nothing, because the system has no locks between processes.
func lockFile(string) (unlock func(), err error) { return func() {}, nil }
