package conformance_test

import "syscall"

// limitMemory bounds the address space of a sweep: what wants more ends the process
// and is found.
func limitMemory() {
	limit := syscall.Rlimit{Cur: 6 << 30, Max: 6 << 30}
	if ^uint(0)>>32 == 0 {
		return
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_AS, &limit)
}
