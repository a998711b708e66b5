package simd

import "os"

// best is the backend in use. It is written at start and, in tests, by one
// goroutine between kernels.
var best = choose(supported(), os.Getenv("GIBBSITE_SIMD"))

// Backend returns the name of the backend in use: "purego", "avx2" or "avx512".
func Backend() string { return levelNames[best] }

// choose lowers the backend the CPU has to the one that mask names, if any.
func choose(have level, mask string) level {
	for l, name := range levelNames {
		if mask == name {
			return min(have, level(l))
		}
	}
	return have
}
