//go:build !unix

package command

// Processor returns 0, because the system does not report processor time.
func Processor() float64 { return 0 }
