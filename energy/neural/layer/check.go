package layer

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// rowsOf panics unless a slice called name, of length got, has the given number of
// rows of cols entries.
func rowsOf(name string, got, rows, cols int) {
	if cols < 0 || cols > 0 && rows > math.MaxInt/cols {
		panic(fmt.Sprintf("layer: %d rows of %d entries, want len(%s) = %d", rows, cols, name, got))
	}
	check.Len("layer", name, got, rows*cols)
}

// atLeast panics if the slice called name, of length got, is shorter than want.
func atLeast(name string, got, want int) {
	if got < want {
		panic(fmt.Sprintf("layer: len(%s) = %d, want ≥ %d", name, got, want))
	}
}

// held reports whether memory may hold a·b entries, both ≥ 0.
func held(a, b int) bool { return b == 0 || a <= check.MaxEntries/b }
