package diagnose

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// RealTrace returns a [Trace] of functions of real states, and the observer that
// feeds it. The functions must be safe for concurrent use. A trace of reals
// keeps no states, best ones or marginals. It panics if a function is nil.
func RealTrace(f ...func(x []float32) float64) (*Trace, sampler.RealObserver) {
	for i := range f {
		if f[i] == nil {
			panic(fmt.Sprintf("diagnose: RealTrace: function %d is nil", i))
		}
	}
	t := newTrace(len(f))
	return t, func(chain, draw int, x []float32, info *sampler.Info) {
		r := t.record(chain)
		for i := range f {
			r.values[i] = f[i](x)
		}
		t.keep(r, nil, info)
	}
}
