//go:build js || wasip1

package durable

// lockFile locks nothing: there are no locks between processes.
func lockFile(string) (unlock func(), err error) { return func() {}, nil }
