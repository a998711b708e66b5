package diagnose

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// temper runs tempered Gibbs chains of a 4×4 torus whose coldest rung is at
// β J = 0.6, and returns what it recorded.
func temper(t *testing.T, chains, draws int, method mcmc.Tempering) (*model.Ising, *Replicas) {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.6, 0)
	require.NoError(t, err)
	all := NewReplicas(energy.Magnetization, func(x []int32) float64 { return math.Abs(energy.Magnetization(x)) }).Name("m", "abs")
	ch, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: chains, Seed: 3, Warmup: 200, Observe: all.Observe})
	require.NoError(t, err)
	require.NoError(t, ch.Run(context.Background(), draws))
	return m, all
}

// One tempered run against enumeration at 50 temperatures: |m|, E, C, Binder's
// cumulant and log Z, 250 figures. A Student's t with 31 degrees of freedom lies
// beyond 8.1 with probability 4e-9, so all do at 1e-6. The figures of one run hang
// together; that one of them is off by a quarter of a standard error says that
// errors are not too large by far.
func TestReweightingIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	const worst = 8.1
	m, all := temper(t, 40, 400, mcmc.Tempering{Base: mcmc.Gibbs{}, Rungs: 6})
	w, err := all.Reweight()
	require.NoError(t, err)
	energies := exact.Energies(m)
	var mags []float64
	for _, x := range exact.States(16, 2) {
		mags = append(mags, energy.Magnetization(x))
	}
	twin := *w // without the free energies
	twin.mixture.f = make([]float64, len(w.betas))
	twin.mixture.logd = make([]float64, len(w.e))
	twin.evaluate()
	var betas []float64
	for k := range 50 {
		betas = append(betas, float64(k)/49)
	}
	abs, mean, heat := must(w.Mean("abs", betas...)), must(w.Mean("energy", betas...)), must(w.HeatCapacity(betas...))
	binder, logz, wrong := must(w.Binder("m", betas...)), must(w.LogZ(betas...)), must(twin.Mean("energy", betas...))
	beyond, off := 0.0, 0.0
	for k, beta := range betas {
		var z, e1, e2, m2, m4, ma float64
		for s, e := range energies {
			p := math.Exp(-beta * e)
			mag := mags[s]
			z += p
			e1 += p * e
			e2 += p * e * e
			m2 += p * mag * mag
			m4 += p * mag * mag * mag * mag
			ma += p * math.Abs(mag)
		}
		for _, c := range []struct {
			want float64
			got  Average
		}{
			{ma / z, abs[k]},
			{e1 / z, mean[k]},
			{beta * beta * (e2/z - e1/z*e1/z), heat[k]},
			{1 - m4/z/(3*m2/z*m2/z), binder[k]},
			{math.Log(z) - 16*math.Ln2, logz[k]},
		} {
			if c.got.SE < 1e-12 { // log Z and C at β = 0, which are 0 by definition
				assert.InDelta(t, c.want, c.got.Value, 1e-9)
				continue
			}
			sigmas := math.Abs(c.want-c.got.Value) / c.got.SE
			assert.Less(t, sigmas, worst, "β = %v: want %v, got %+v", beta, c.want, c.got)
			assert.Greater(t, c.got.ESS, 300.0)
			off = max(off, sigmas)
		}
		beyond = max(beyond, math.Abs(e1/z-wrong[k].Value)/mean[k].SE)
	}
	assert.Greater(t, off, 0.25)
	assert.Greater(t, beyond, worst, "without free energies the answer is wrong")
}

// At the only β of its draws a reweighted mean is the plain one, and its error
// that of the chain means.
func TestReweightingOfOneRung(t *testing.T) {
	w := &Reweighting{names: []string{"a"}, parts: 2, values: []float64{1, 2, 4, 5}}
	require.NoError(t, w.fit([]float64{3, 4, 3, 8}, []float64{1, 1, 1, 1}, []int32{0, 0, 1, 1}))
	a, err := w.Mean("a", 1)
	require.NoError(t, err)
	assert.InDelta(t, 3, a[0].Value, 1e-12)
	assert.InDelta(t, 1.5, a[0].SE, 1e-12)
	assert.InDelta(t, 4, a[0].ESS, 1e-12)
	e, err := w.Mean("energy", 1)
	require.NoError(t, err)
	assert.InDelta(t, 4.5, e[0].Value, 1e-12)
}

func TestReplicas(t *testing.T) {
	betas := []float64{1, 0.7, 0.3}
	m, all := temper(t, 4, 80, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: betas})
	require.Equal(t, 3, all.Len())
	for j, beta := range betas {
		tr := all.Rung(j)
		assert.Equal(t, 4, tr.Chains())
		assert.Equal(t, 80, tr.Len())
		for _, x := range must(tr.Values("beta")) {
			for _, b := range x {
				assert.Equal(t, beta, b)
			}
		}
	}
	assert.Equal(t, betas, must(all.Reweight()).Betas())
	// The ground states of the torus have energy −2·16·0.6.
	assert.GreaterOrEqual(t, must(all.Rung(2).Histogram("energy", 2)).Edges[0], -19.2-1e-9)
	_, dead := m.Shape()
	assert.Equal(t, 2, dead)

	w := must(all.Reweight())
	for _, err := range []error{
		exact.Error(w.Mean("m", 0.9, 1.01)), exact.Error(w.LogZ(0.2)), exact.Error(w.HeatCapacity(math.NaN())),
	} {
		assert.ErrorContains(t, err, "want 0.3 … 1, the range of the ladder")
	}
	assert.ErrorContains(t, exact.Error(w.Binder("no", 1)), `diagnose: Reweighting.Binder: name = "no", want one of ["m" "abs"] or energy`)
	assert.ErrorContains(t, exact.Error(w.Function([]float64{1}, func([]float64) float64 { return math.NaN() })), "not finite")
	assert.Panics(t, func() { all.Name("a", "b") })
	assert.Panics(t, func() { all.Rung(3) })
	assert.PanicsWithValue(t, "diagnose: Replicas.Observe: info has no Rungs, want those of a method such as mcmc.Tempering", func() { all.Observe(0, 0, []int32{1}, &sampler.Info{}) })
	assert.Panics(t, func() { all.Observe(0, 0, nil, &sampler.Info{Rungs: two{}}) })
	all.Reset()
	assert.ErrorIs(t, exact.Error(all.Reweight()), ErrTooFew)
	short := NewReplicas()
	short.Observe(0, 0, nil, &sampler.Info{Rungs: two{}})
	assert.ErrorIs(t, exact.Error(short.Reweight()), ErrTooFew)
	assert.Panics(t, func() { NewReplicas(first).Name("beta") })
	assert.Panics(t, func() { NewReplicas(first).Name() })

	apart, bad := NewReplicas(), NewReplicas(first)
	for i := range 256 {
		apart.Observe(0, i, nil, &sampler.Info{Rungs: two{float64(i % 3)}})
		bad.Observe(0, i, nil, &sampler.Info{Rungs: two{math.NaN()}})
	}
	assert.ErrorContains(t, exact.Error(apart.Reweight()), "do not overlap, want more rungs from β = 1 to 0")
	var not *NotFinite
	assert.ErrorAs(t, exact.Error(bad.Reweight()), &not)
}

// two is a ladder of two rungs that are far apart.
type two struct{ e float64 }

func (two) Len() int { return 2 }

func (r two) Rung(j int) (beta, energy float64, x []int32) {
	return float64(1 - j), r.e + 1e4*float64(j), []int32{1}
}
