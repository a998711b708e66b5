package exact

// Must returns v, and panics on an error: for what a test builds and cannot do
// without.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Error returns the error of a call that also returns a value, for lists of
// calls that must fail.
func Error[T any](_ T, err error) error { return err }
