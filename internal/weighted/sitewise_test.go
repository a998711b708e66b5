package weighted_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
	"github.com/stretchr/testify/require"
)

// The merged sum has the energies of the sum, and every interface's figures.
func TestSitewise(t *testing.T) {
	for _, levels := range []int{2, 3} {
		logw := func(k int) []float64 {
			w := make([]float64, 4*levels)
			for i := range w {
				w[i] = math.Sin(float64(7*i + k))
			}
			return w
		}
		s := weighted.NewSitewise(4, levels)
		var parts []*model.Independent
		for k := range 3 {
			parts = append(parts, exact.Must(model.NewIndependent(logw(k), levels)))
			n, ok := s.Append(parts[k])
			require.True(t, ok)
			require.Equal(t, k, n)
			n, _ = s.Append(parts[k])
			require.Equal(t, k, n, "once")
		}
		copy(s.Coef, []float64{1.5, 0, -2})
		s.Update()
		brute := func(x []int32) float64 {
			sum := 0.0
			e := make([]float64, 1)
			for k, p := range parts {
				p.Energy(e, x)
				sum += s.Coef[k] * e[0]
			}
			return sum
		}
		exact.CheckModel(t, s, false, brute)
		_, binary := energy.As[energy.Binary](s)
		require.Equal(t, levels == 2, binary)
		_, local := energy.As[energy.Local](s)
		require.True(t, local)

		_, ok := s.Append(exact.Must(model.NewPotts(model.Lattice{4}, levels, 1, nil)))
		require.False(t, ok, "couples sites")
		hole := logw(0)
		hole[1] = math.Inf(-1)
		_, ok = s.Append(exact.Must(model.NewIndependent(hole, levels)))
		require.False(t, ok, "forbids a level")
		_, ok = s.Append(energy.Func{Sites: 4, Levels: levels, E: brute})
		require.False(t, ok, "only values are known")
		_, ok = weighted.NewSitewise(1<<23, 2).Append(exact.Must(model.NewIndependent(logw(0), levels)))
		require.False(t, ok, "too large")
	}
}
