package simd

import (
	"fmt"
	"os"
	"strings"
)

// variable is the name of the environment variable that selects a backend.
const variable = "GIBBSITE_SIMD"

// level is a backend of the architecture; higher levels are faster. Generated files define the
// constants, and the function supported, which returns the highest level that this binary and this
// CPU support.
type level int

const (
	purego level = 0
	never  level = 1 << 8 // level of a kernel without assembly
)

// best is the backend in use. It is set at program start and, in tests, by one goroutine while no
// kernel runs.
var best = must(choose(levelNames[:supported()+1], os.Getenv(variable)))

// Backend returns the name of the backend in use: "purego", "avx2", "avx512" or "neon".
func Backend() string { return levelNames[best] }

// choose returns the backend in have with the given name, or the highest one if name is empty. It
// returns an error if there is no such backend.
func choose(have []string, name string) (level, error) {
	if name == "" {
		return level(len(have) - 1), nil
	}
	for l, known := range have {
		if name == known {
			return level(l), nil
		}
	}
	return 0, fmt.Errorf("gibbsite: environment variable %s = %q, want one of %s, which this program and CPU have, or none",
		variable, name, strings.Join(have, ", "))
}

// must panics if err is not nil. A program must not start with a different backend from the
// requested one, because the results of the fused kernels would change unnoticed.
func must(l level, err error) level {
	if err != nil {
		panic(err)
	}
	return l
}
