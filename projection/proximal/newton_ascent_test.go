package proximal

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The active set, coordinate ascent and Newton's method share the rows and
// nothing else, and end at the same point, with and without a metric.
func TestMethodsAgree(t *testing.T) {
	const n = 8
	rng := rand.New(rand.NewPCG(4, 4))
	var set constraint.Slabs
	for range 10 {
		var r constraint.Row
		for i := range n {
			r.Index, r.Value = append(r.Index, int32(i)), append(r.Value, rng.NormFloat64())
		}
		set.A = append(set.A, r)
		set.Lower, set.Upper = append(set.Lower, -rng.Float64()), append(set.Upper, rng.Float64())
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = 3 * rng.NormFloat64()
	}
	for _, metric := range []func(dst, v []float64, t float64){nil, func(dst, v []float64, _ float64) {
		for i, x := range v {
			dst[i] = float64(i+1) * x
		}
	}} {
		for _, gamma := range []float64{1, 30} {
			s, err := Projector{Set: set, Metric: metric}.Compile(t.Context(), n)
			require.NoError(t, err)
			z := make([]float64, n)
			_, err = s.Penalised(z, v, gamma)
			require.NoError(t, err)
			require.NotNil(t, s.small)
			for _, method := range []func() float64{
				func() float64 { return s.iter.ascend(v, s.iter.len(), 20000, 1e-12) },
				func() float64 { return s.iter.run(v, s.iter.len(), 1e-12, nil) },
			} {
				s.Reset()
				assert.LessOrEqual(t, method(), 1e-12)
				for i := range z {
					assert.InDelta(t, z[i], v[i]+s.iter.pc[i], 1e-9)
				}
			}
		}
	}
	assert.EqualError(t, &projection.NotConverged{Method: "proximal", Residual: 1, Want: 1e-9, Iterations: 5}, "proximal: residual = 1 after 5 iterations, want ≤ 1e-09")
	assert.True(t, math.IsInf(Gamma(nil).at(1, 0), 1))
}
