package simd

import (
	"fmt"
	"os"
	"strings"
)

// variable is the environment variable that chooses a backend.
const variable = "GIBBSITE_SIMD"

// level orders the backends of the architecture. Files that are written by _gen have the
// others, and supported, which returns the highest that this binary and this CPU have.
type level int

const (
	purego level = 0
	never  level = 1 << 8 // of what has no assembly
)

// best is the backend in use. It is written at start and, in tests, by one
// goroutine between kernels.
var best = must(choose(levelNames[:supported()+1], os.Getenv(variable)))

// Backend returns the name of the backend in use: "purego", "avx2", "avx512" or "neon".
func Backend() string { return levelNames[best] }

// choose returns the backend that name asks for, of those that there are, the highest
// one if it is empty, or an error if there is no such backend here.
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

// must stops the program at start: a backend that was asked for and is not there
// would change the results of the fused kernels unnoticed.
func must(l level, err error) level {
	if err != nil {
		panic(err)
	}
	return l
}
