package denoise_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Posteriors by elimination are those of all states, also with hidden units, forbidden and fixed
// levels and impossible states.
func TestFactoredIsBayesRule(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.6, 0.1))
	weights := make([]float32, 3*5)
	for i := range weights {
		weights[i] = float32(r.NormFloat64())
	}
	rbm := exact.Must(model.NewRBM(weights, []float32{.3, -.5, .1}, []float32{.1, .2, -.3, .4, 0}))
	field := make([]float64, 5*3)
	for i := range field {
		field[i] = r.NormFloat64()
	}
	field[4], field[9], field[10] = math.Inf(-1), math.Inf(-1), math.Inf(-1)
	for name, m := range map[string]energy.Model{
		"ising": ising, "rbm": rbm, "potts": exact.Must(model.NewPotts(model.FreeLattice{2, 3}, 3, 0.9, []float64{0, .2, -.4})),
		"fixed":     exact.Must(energy.Clamp(ising, map[int]int32{0: 1, 5: 0})),
		"forbidden": exact.Must(model.NewIndependent(field, 3)),
	} {
		f, ok := energy.As[energy.Factored](m)
		require.True(t, ok, name)
		sites, k := m.Shape()
		for _, c := range []denoise.Corruption{denoise.Absorbing, denoise.Noisy} {
			d := exact.Must(denoise.NewFactored(t.Context(), f, c))
			table := exact.Must(denoise.NewTable(m, c))
			_, levels := d.Shape()
			const states = 40
			q := energy.Noised[int32]{X: make([]int32, states*sites), Alpha: make([]float64, states), Time: make([]float64, states)}
			for s := range states {
				q.Alpha[s] = float64(s) / states
			}
			for i := range q.X {
				if q.X[i] = int32(r.IntN(levels)); c == denoise.Absorbing && r.IntN(2) == 0 {
					q.X[i] = int32(k)
				}
			}
			got, want := make([]float32, states*sites*levels), make([]float32, states*sites*levels)
			require.NoError(t, d.Denoise(t.Context(), got, q))
			require.NoError(t, table.Denoise(t.Context(), want, q))
			possible := 0
			for at := 0; at < len(got); at += levels {
				top, other := float32(math.Inf(-1)), float32(math.Inf(-1))
				for l := range levels {
					top, other = max(top, got[at+l]), max(other, want[at+l])
				}
				require.Equal(t, math.IsInf(float64(other), -1), math.IsInf(float64(top), -1), "%s %v", name, c)
				for l := range levels {
					if math.IsInf(float64(want[at+l]), -1) {
						require.True(t, math.IsInf(float64(got[at+l]), -1), "%s %v", name, c)
						continue
					}
					possible++
					require.InDelta(t, want[at+l]-other, got[at+l]-top, 1e-5, "%s %v", name, c)
				}
			}
			require.Positive(t, possible)
		}
	}
}

// nothing is a site whose levels are all forbidden.
type nothing struct{ energy.Model }

func (nothing) Shape() (sites, levels int) { return 1, 2 }

func (nothing) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	return []int32{2}, [][]int32{{0}}, [][]float64{{math.Inf(1), math.Inf(1)}}, true
}

func TestFactoredRefuses(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{40, 40}, 0.4, 0))
	_, err := denoise.NewFactored(t.Context(), nil, denoise.Absorbing)
	require.ErrorContains(t, err, "m is nil")
	_, err = denoise.NewFactored(t.Context(), ising, 7)
	require.ErrorContains(t, err, "Corruption = 7")
	var wide *energy.WidthError
	_, err = denoise.NewFactored(t.Context(), ising, denoise.Absorbing)
	require.ErrorAs(t, err, &wide)
	_, err = denoise.NewFactored(t.Context(), nothing{}, denoise.Noisy)
	require.ErrorContains(t, err, "NewFactored: every state has energy +Inf")
	d := exact.Must(denoise.NewFactored(t.Context(), exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.4, 0)), denoise.Absorbing))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := energy.Noised[int32]{X: make([]int32, 36), Alpha: []float64{.5}, Time: []float64{.5}}
	require.ErrorIs(t, d.Denoise(ctx, make([]float32, 36*3), q), context.Canceled)
}
