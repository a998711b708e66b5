package mcmc

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func balances() []Balance { return []Balance{Sqrt, Barker, Min, Max} }

// TestBalance checks the law of balancing functions, g(t) = t·g(1/t), and the
// functions themselves in plain arithmetic.
func TestBalance(t *testing.T) {
	plain := map[Balance]func(t float64) float64{
		Sqrt:   math.Sqrt,
		Barker: func(t float64) float64 { return t / (1 + t) },
		Min:    func(t float64) float64 { return math.Min(1, t) },
		Max:    func(t float64) float64 { return math.Max(1, t) },
	}
	for _, b := range balances() {
		for _, d := range []float64{-1e6, -30, -1, 0, 0.25, 3, 700, 1e6} {
			assert.InDelta(t, b.log(d), -d+b.log(-d), 1e-9, "%v at %v", b, d)
			if math.Abs(d) < 100 {
				assert.InEpsilon(t, plain[b](math.Exp(-d)), math.Exp(b.log(d)), 1e-12, "%v at %v", b, d)
			}
		}
		assert.True(t, math.IsInf(b.log(math.Inf(1)), -1), "%v: a level without probability is not proposed", b)
		assert.True(t, math.IsNaN(b.log(math.NaN())), "%v: a failed difference shows", b)
		w := make([]float32, 3)
		b.logs(w, []float32{-2, 0, 2})
		for i, d := range []float64{-2, 0, 2} {
			assert.Equal(t, float32(b.log(d)), w[i])
		}
	}
	assert.Equal(t, "sqrt barker min max Balance(9)", fmt.Sprint(Sqrt, Barker, Min, Max, Balance(9)))
}

// TestLocallyBalancedProposal checks the proposal against its formula on a
// space whose table is wrong: with Exact it must not matter.
func TestLocallyBalancedProposal(t *testing.T) {
	m := exact.NewRugged(4, 3, 1, 0.5, 2)
	all := exact.States(4, 3)
	for _, b := range balances() {
		k := exact.Must(LocallyBalanced{Balance: b, Exact: true}.Kernel(context.Background(), m, 1)).(*hastings)
		p := k.proposal.(*gwg)
		for x, state := range all {
			require.NoError(t, k.Reset(sampler.Control{}, state))
			total := 0.0
			want := make([]float64, 12)
			for c := range want {
				if i, l := c/3, c%3; int(state[i]) != l {
					want[c] = math.Exp(b.log(m.E[m.Neighbour(x, i, int(state[i]), l)] - m.E[x]))
				}
				total += want[c]
			}
			for c := range want {
				require.InDelta(t, want[c]/total, float64(p.w.Now[c])/p.sum.Now[0], 1e-6)
			}
		}
	}
}

// Exact differences are the same whether a model keeps them, knows them or must
// be evaluated.
func TestExactTable(t *testing.T) {
	ising, err := model.NewIsing(model.Lattice{3, 3}, 0.4, 0.1)
	require.NoError(t, err)
	plain := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 {
		e := make([]float64, 1)
		ising.Energy(e, x)
		return e[0]
	}}
	x := []int32{0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0}
	e, g := make([]float64, 2), make([]float32, 36)
	newExactTable(ising).evaluate(e, g, x, &sweep.Cursor{})
	e2, g2 := make([]float64, 2), make([]float32, 36)
	newExactTable(plain).evaluate(e2, g2, x, &sweep.Cursor{})
	assert.Equal(t, e, e2)
	for i := range g {
		assert.InDelta(t, g2[i], g[i], 1e-6)
	}
}

// A twin that forgets the normaliser of the reverse proposal is found out.
func TestLocallyBalancedBrokenTwin(t *testing.T) {
	exact.SkipRepeated(t)
	m := exact.NewRugged(4, 3, 1, 0.5, 2)
	pi, _ := exact.Law(m)
	all := exact.States(4, 3)
	k := exact.Must(LocallyBalanced{Balance: Barker}.Kernel(context.Background(), m, 1)).(*hastings)
	p := k.proposal.(*gwg)
	twin := exact.NewMatrix(len(all), func(x int, dst []float64) {
		y := make([]int32, 4)
		for c := range 12 {
			require.NoError(t, k.Reset(sampler.Control{}, all[x]))
			p.list[0] = c
			copy(y, all[x])
			if p.w.Now[c] == 0 || !p.apply(y, all[x], p.list) {
				continue
			}
			load(p, k.next, y, nil)
			forth, back := p.current(y, all[x], 0), p.logProb(all[x], y, 0)
			back += math.Log(p.sum.Next[0] / p.sum.Now[0]) // the mistake
			a, _ := sweep.Accept(k.e[0]-k.next[0], forth, back)
			dst[exact.Index(y, 3)] += math.Exp(forth) * a
		}
		sweeptest.Stay(dst, x)
	})
	assert.Greater(t, twin.MaxDiff(pi), 1e-4)
	v, _ := exact.TransitionsPValue(sweeptest.Observed(t, m, LocallyBalanced{Balance: Barker}, 6400, 7), twin)
	assert.Less(t, v, exact.Rate)
}
