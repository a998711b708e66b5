package mcmc

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// chance returns n(y|x) by the numbers that the noise is drawn with.
func (n *noise) chance(y, x []int32) float64 {
	if n.levels == 2 {
		return math.Exp(simd.FlipLogProb(x, y, n.t))
	}
	p := 1.0
	for i, at := range x {
		switch {
		case n.values != nil:
			sum := n.weigh(at)
			p *= float64(n.w[y[i]]) / sum
		case y[i] == at:
			p /= 1 + float64(n.levels-1)*n.far
		default:
			p *= n.far / (1 + float64(n.levels-1)*n.far)
		}
	}
	return p
}

// stand makes the proposal of k one at the noisy state y.
func (k *proximal) stand(y []int32) {
	load(k.proposal, k.f, y, nil)
	k.proposal.accept(0, len(k.e))
}

// proximalMatrix sums over the noisy states between.
func proximalMatrix(k *proximal, all [][]int32) *exact.Matrix {
	n := len(all)
	moves := make([]float64, n*n)
	e := make([]float64, n)
	for x := range all {
		k.model.Energy(e[x:x+1], all[x])
	}
	forth, q := make([]float64, n), make([]float64, n)
	for _, y := range all {
		k.stand(y)
		for z := range all {
			forth[z] = k.proposal.current(all[z], y, 0)
			q[z] = math.Exp(forth[z])
		}
		for x := range all {
			if math.IsInf(e[x], 1) {
				continue
			}
			blur, row := k.noise.chance(y, all[x]), moves[x*n:(x+1)*n]
			if !k.adjusted {
				for z, p := range q {
					row[z] += blur * p
				}
				continue
			}
			k.e[0], k.blurred[0] = e[x], sweep.Changed(y, all[x])
			for z := range all {
				k.next[0], k.moved[0], k.logq[0] = e[z], sweep.Changed(y, all[z]), forth[z]
				if a, _ := k.accepts(0, all[x], y, all[z]); a > 0 {
					row[z] += blur * q[z] * a
				}
			}
		}
	}
	return exact.NewMatrix(n, func(x int, dst []float64) {
		copy(dst, moves[x*n:(x+1)*n])
		sweeptest.Stay(dst, x)
	})
}

// The acceptance probability of DMAPS needs all of its parts: without the noise in it, or
// the rest, the target is another one.
func TestBrokenProximalTwinsFail(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, space := range []string{"binary", "3-levels", "ordinal"} {
		if space == "ordinal" && testing.Short() {
			continue // 125 states: eight million acceptances
		}
		m := spaces()[space]
		sites, levels := m.Shape()
		all := exact.States(sites, levels)
		pi, _ := exact.Law(m)
		bind := func(m energy.Model) *proximal {
			return exact.Must(DMAPS{StepSize: 0.6}.Kernel(context.Background(), m, 1)).(*proximal)
		}
		require.LessOrEqual(t, proximalMatrix(bind(m), all).MaxDiff(pi), 1e-12, space)
		k := bind(m)
		if k.noise.change = 0; k.noise.values == nil {
			assert.Greater(t, proximalMatrix(k, all).MaxDiff(pi), 1e-4, "%s: noise forgotten", space)
		}
		k = bind(m)
		k.adjusted = false
		assert.Greater(t, proximalMatrix(k, all).MaxDiff(pi), 1e-4, "%s: never rejected", space)
		k = bind(exact.Must(energy.Scale(m, 0.9)))
		assert.Greater(t, proximalMatrix(k, all).MaxDiff(pi), 1e-4, "%s: another energy", space)
	}
}

// A linear energy is never rejected, and DUPS samples it at every step size.
func TestProximalSamplersAreExactOnProducts(t *testing.T) {
	exact.SkipUnderRace(t)
	r := sampler.NewStream(3, 0)
	for _, levels := range []int{2, 4} {
		w := make([]float64, 4*levels)
		for i := range w {
			w[i] = 3 * r.Float64()
		}
		m := exact.Must(model.NewIndependent(w, levels))
		pi, _ := exact.Law(m)
		for _, alpha := range []float64{0.1, 0.5, 3, 1e4} {
			dups := transition(t, exact.Must(DUPS{StepSize: alpha}.Kernel(context.Background(), m, 1)), 4, levels)
			assert.LessOrEqual(t, total(dups.Stationary(), pi), 2e-6, "%d levels, step %g", levels, alpha)
			c := exact.Must(sampler.NewChains(context.Background(), m, DMAPS{StepSize: alpha}, sampler.Config{Chains: 8, Warmup: -1, Seed: 1}))
			require.NoError(t, c.Run(context.Background(), 50))
			assert.InDelta(t, 1, c.Stats().Accept, 1e-5)
			dula := transition(t, exact.Must(DULA{StepSize: alpha}.Kernel(context.Background(), m, 1)), 4, levels)
			assert.Greater(t, total(dula.Stationary(), pi), 1e-5, "DULA is not exact there")
		}
	}
}

// total returns the total variation between two distributions.
func total(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Abs(p[i]-q[i]) / 2
	}
	return sum
}

func TestDUPSObserved(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range spaces() {
		if strings.Contains(space, "holes") {
			continue // DUPS stops there
		}
		t.Run(space, func(t *testing.T) {
			sites, levels := m.Shape()
			p := transition(t, exact.Must(DUPS{StepSize: 0.7}.Kernel(context.Background(), m, 1)), sites, levels)
			require.LessOrEqual(t, p.RowError(), 1e-12)
			exact.Transitions(t, sweeptest.Observed(t, m, DUPS{StepSize: 0.7}, sweeptest.Many(640), 11), p, exact.Rate)
		})
	}
}

// The two stages hold to the formulas of the documentation, in float64 from the model's
// own table.
func TestProximalStages(t *testing.T) {
	exact.SkipUnderRace(t)
	const alpha = 0.7
	for space, m := range spaces() {
		if strings.Contains(space, "holes") {
			continue
		}
		sites, levels := m.Shape()
		k := exact.Must(DUPS{StepSize: alpha}.Kernel(context.Background(), m, 1)).(*proximal)
		e, g := make([]float64, 1), make([]float32, sites*levels)
		all := exact.States(sites, levels)
		for _, x := range all {
			energy.Differences(m).Gradient(e, g, x)
			k.stand(x)
			for _, y := range all {
				blur, clean := 1.0, 1.0
				for i := range x {
					var ofNoise, ofClean, n, q float64
					for l := range levels {
						d := apartBy(m, l, int(x[i])) / (2 * alpha)
						ofNoise += math.Exp(-d)
						ofClean += math.Exp(-float64(g[i*levels+l]) - d)
						if l == int(y[i]) {
							n, q = math.Exp(-d), math.Exp(-float64(g[i*levels+l])-d)
						}
					}
					blur, clean = blur*n/ofNoise, clean*q/ofClean
				}
				require.InDelta(t, blur, k.noise.chance(y, x), 3e-6*blur+1e-9, space)
				require.InDelta(t, clean, math.Exp(k.proposal.current(y, x, 0)), 3e-6*clean+1e-9, space)
			}
		}
	}
}

// apartBy returns δ² between two levels of a model.
func apartBy(m energy.Model, a, b int) float64 {
	_, levels := m.Shape()
	o, ordinal := m.(energy.Ordinal)
	switch {
	case a == b:
		return 0
	case levels == 2:
		return 1
	case ordinal:
		v := o.Values()
		return math.Pow(float64(v[a])-float64(v[b]), 2)
	}
	return 2
}

// DUPS evaluates a model with a field once a step, DMAPS twice: once for the field of
// the noisy state, once for the energy of the proposal.
func TestProximalEvaluations(t *testing.T) {
	const chains, steps = 4, 50
	for want, method := range map[int]sampler.Method{1: DUPS{}, 2: DMAPS{}} {
		m := &fielded{of: exact.NewQuadratic(10, 1)}
		k := exact.Must(method.Kernel(context.Background(), m, chains))
		x, info, r := make([]int32, chains*10), make([]sampler.Info, chains), make([]sampler.Stream, chains)
		for s := range r {
			r[s].Seed(1, uint64(s))
		}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		m.states = 0
		for range steps {
			k.Step(sampler.Control{}, info, x, r)
		}
		require.Equal(t, want*chains*steps, m.states)
	}
}

// Where the noise meets a state that cannot be evaluated, or has no probability, a run of
// DUPS stops with an error; one of DMAPS rejects it.
func TestProximalSamplersMeetHoles(t *testing.T) {
	for v, want := range map[float64]error{math.Inf(1): sampler.ErrZero, math.Inf(-1): sampler.ErrNaN} {
		zero := make([]int32, 5)
		c := exact.Must(sampler.NewChains(context.Background(), exact.Pocked(v), DUPS{StepSize: 1}, sampler.Config{Chains: 4, Warmup: -1, Init: zero}))
		err := c.Run(context.Background(), 200)
		require.ErrorIs(t, err, want)
		require.Regexp(t, `chain \d+, step \d+`, err.Error())
		c = exact.Must(sampler.NewChains(context.Background(), exact.Pocked(v), DMAPS{StepSize: 1}, sampler.Config{Chains: 4, Warmup: -1, Init: zero}))
		require.NoError(t, c.Run(context.Background(), 200))
		require.Equal(t, want == sampler.ErrNaN, c.Stats().Invalid > 0)
		require.Positive(t, c.Stats().Moved)
	}
}
