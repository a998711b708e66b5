package diagnose

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// RealTrace returns a [Trace] of functions of real states, and the observer that
// feeds it. The functions must be safe for concurrent use. A trace of reals
// keeps no states.
func RealTrace(chains int, f ...func(x []float32) float64) (*Trace, sampler.RealObserver) {
	if err := check.Entries("diagnose: RealTrace", "chains", chains); err != nil || chains < 1 {
		panic(fmt.Sprintf("diagnose: RealTrace: chains = %d, want 1 … %d", chains, check.MaxEntries))
	}
	for i := range f {
		if f[i] == nil {
			panic(fmt.Sprintf("diagnose: RealTrace: function %d is nil", i))
		}
	}
	values := make([][]float64, chains)
	for c := range values {
		values[c] = make([]float64, len(f))
	}
	read := make([]func(x []int32) float64, len(f))
	for i := range f {
		// The state that the trace passes on is the number of the chain.
		read[i] = func(x []int32) float64 {
			if len(x) != 1 || x[0] < 0 || int(x[0]) >= chains {
				panic("diagnose: RealTrace: the trace was told of states of tokens, want it told by its own observer")
			}
			return values[x[0]][i]
		}
	}
	t := NewTrace(chains, read...)
	number := make([][]int32, chains)
	for c := range number {
		number[c] = []int32{int32(c)}
	}
	return t, func(chain, draw int, x []float32, info *sampler.Info) {
		for i := range f {
			values[chain][i] = f[i](x)
		}
		t.Observe(chain, draw, number[chain], info)
	}
}
