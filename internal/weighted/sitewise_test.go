package weighted_test

import (
	"math"
	"slices"
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

// Sums of a coupled base and merged parts have every figure of the sum, in both
// numbers of levels.
func TestSumOfSitewise(t *testing.T) {
	for _, levels := range []int{2, 3} {
		var base energy.Model = exact.Must(model.NewPotts(model.Lattice{4}, levels, 0.7, nil))
		if levels == 2 {
			base = exact.Must(model.NewIsing(model.Lattice{4}, 0.7, 0.2))
		}
		w := weighted.NewSitewise(4, levels)
		for k := range 2 {
			logw := make([]float64, 4*levels)
			for i := range logw {
				logw[i] = math.Cos(float64(3*i + k))
			}
			_, ok := w.Append(exact.Must(model.NewIndependent(logw, levels)))
			require.True(t, ok)
		}
		copy(w.Coef, []float64{0.5, -1.5})
		w.Update()
		s := weighted.New(base)
		s.Coef[weighted.Append(s, w)] = 1
		s.Coef[weighted.Append(s, exact.Must(model.NewPotts(model.Lattice{2, 2}, levels, -0.4, nil)))] = 0.5
		s.Coef[0], s.Offset = 0.8, 0.25
		weighted.Unite(s)
		diff, _ := energy.As[energy.Differentiable](s)
		local, _ := energy.As[energy.Local](s)
		binary, two := energy.As[energy.Binary](s)
		require.Equal(t, levels == 2, two)
		e, g, h := make([]float64, 1), make([]float32, 4*levels), make([]float32, 4)
		d, after := make([]float64, 4*levels), make([]float64, 4*levels)
		for _, x := range exact.States(4, levels) {
			diff.Gradient(e, g, x)
			if two {
				binary.Field(e, h, x)
			}
			from := e[0]
			local.Locals(d, x)
			for at := range d {
				site, l := at/levels, int32(at%levels)
				y := slices.Clone(x)
				y[site] = l
				s.Energy(e, y)
				require.InDelta(t, e[0]-from, d[at]-d[site*levels+int(x[site])], 1e-12)
				require.InDelta(t, e[0]-from, float64(g[at]), 1e-5, "float32")
				if two && l == 1 && x[site] == 0 {
					require.InDelta(t, e[0]-from, float64(h[site]), 1e-5, "float32")
				}
			}
			to := (x[1] + 1) % int32(levels)
			local.Move(d, 1, to, x)
			y := slices.Clone(x)
			y[1] = to
			local.Locals(after, y)
			for at := range d {
				row := at / levels * levels
				require.InDelta(t, after[at]-after[row], d[at]-d[row], 1e-12)
			}
		}
		_, ordinal := energy.As[energy.Ordinal](s)
		_, own := energy.As[energy.Ordinal](base)
		require.Equal(t, own, ordinal)
		_, supported := energy.As[energy.Supported](s)
		_, own = energy.As[energy.Supported](base)
		require.Equal(t, own, supported)
	}
}
