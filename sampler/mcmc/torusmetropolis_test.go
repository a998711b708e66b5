package mcmc

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// smallTori lets Metropolis propose changes of the smallest tori as bits for the rest of
// a test.
func smallTori(t *testing.T) {
	old := fewestProposed
	fewestProposed = 0
	t.Cleanup(func() { fewestProposed = old })
}

func proposing(t *testing.T, m energy.Model, chains int) *torusGibbs {
	k, ok := must(Metropolis{Scan: Chromatic}.Kernel(context.Background(), m, chains)).(*torusGibbs)
	require.True(t, ok)
	return k
}

// A step leaves π over all 65 536 states of a 4×4 torus invariant, by the numbers that
// decide, which are those of the model's differences; a twin that mistakes the state of a
// site does not.
func TestTorusMetropolisIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	smallTori(t)
	for _, m := range []energy.Model{
		exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.3, 0.1)),
		exact.Must(model.NewIsing(model.Lattice{4, 4}, -0.7, 0)),
		exact.Must(energy.Scale(exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.4, 0.1)), 1.5)),
	} {
		k := proposing(t, m, 1)
		pi, _ := exact.Law(m)
		all := exact.States(16, 2)
		near := func(x []int32, i int) int32 {
			r, c := i/4, i%4
			return x[(r+1)%4*4+c] + x[(r+3)%4*4+c] + x[r*4+(c+1)%4] + x[r*4+(c+3)%4]
		}
		d := make([]float64, 2)
		for _, x := range all[:3000] {
			for i, l := range x {
				energy.Conditionals(m).Conditional(d, i, x)
				want := math.Min(1, math.Exp(d[l]-d[1-l]))
				n := near(x, i)
				require.InDelta(t, want, k.proposal.accept[l][n], 1e-14)
				require.InDelta(t, want, float64(k.proposal.p[l][n])*0x1p-64, 1e-14)
			}
		}
		step := func(p [2][5]uint64) (worst float64) {
			v := slices.Clone(pi)
			w := make([]float64, len(v))
			for colour := range 2 {
				for i := range 16 {
					if (i/4+i%4)%2 != colour {
						continue
					}
					clear(w)
					for at, x := range all {
						y := slices.Clone(x)
						y[i] = 1 - x[i]
						a := float64(p[x[i]][near(x, i)]) * 0x1p-64
						w[at] += v[at] * (1 - a)
						w[exact.Index(y, 2)] += v[at] * a
					}
					v, w = w, v
				}
			}
			for at := range v {
				worst = max(worst, math.Abs(v[at]-pi[at]))
			}
			return worst
		}
		assert.LessOrEqual(t, step(k.proposal.p), 1e-14)
		assert.Greater(t, step([2][5]uint64{k.proposal.p[1], k.proposal.p[0]}), 1e-6)
	}
}

// The numbers of ones in the last states of many chains have the law that all states of the
// model give.
func TestTorusMetropolisLaw(t *testing.T) {
	exact.SkipUnderRace(t)
	smallTori(t)
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.2, 0.1))
	p, _ := exact.Law(m)
	law := make([]float64, 17)
	for code, v := range p {
		law[bits.OnesCount(uint(code))] += v
	}
	states := runs.Run(t, m, Metropolis{Scan: Chromatic}, sampler.Config{Chains: 6400, Seed: 3, Warmup: -1}, 60).States()
	counts := make([]int, 17)
	for s := range 6400 {
		ones := 0
		for _, v := range states[16*s : 16*s+16] {
			ones += int(v)
		}
		counts[ones]++
	}
	exact.Counts(t, counts, law, exact.Rate)
}

// Energies, moves and acceptance are those of the states, resumed runs have the bits of whole
// ones, and nothing is allocated.
func TestTorusMetropolisRuns(t *testing.T) {
	method := Metropolis{Scan: Chromatic}
	m := exact.Must(model.NewIsing(model.Lattice{6, 10}, 0.3, 0.2))
	runs.Resume(t, m, method)
	e, last := make([]float64, 1), make([]int32, 3*60)
	runs.Run(t, m, method, sampler.Config{Chains: 3, Seed: 2, Workers: 1, Warmup: -1, Observe: func(chain, draw int, x []int32, info *sampler.Info) {
		m.Energy(e, x)
		require.InDelta(t, e[0], info.Energy, 1e-9)
		moved, old := 0, last[60*chain:60*chain+60]
		for i, v := range x {
			moved += int(v ^ old[i])
		}
		if draw > 0 {
			require.Equal(t, moved, info.Moved)
		}
		copy(old, x)
	}}, 50)

	k := proposing(t, m, 2)
	x, info, r := make([]int32, 120), make([]sampler.Info, 2), streams(2)
	for i := range x {
		x[i] = int32(i * i % 7 % 2)
	}
	require.NoError(t, k.Reset(sampler.Control{}, x))
	old := pollWork
	pollWork = 1
	sum, d := 0.0, make([]float64, 2)
	for colour := range 2 { // of the first chain, of which one colour moves at a time
		for i, l := range x[:60] {
			if (i/10+i%10)%2 == colour {
				m.Conditional(d, i, x[:60])
				sum += math.Min(1, math.Exp(d[l]-d[1-l]))
			}
		}
		k.Step(sampler.Control{Stop: func() bool { return true }}, info, x, r)
	}
	for k.Step(sampler.Control{Stop: func() bool { return true }}, info, x, r) == 0 {
	}
	pollWork = old
	assert.InDelta(t, sum/60, info[0].Accept, 1e-12)
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, r) }))
	}
}

// Any number of workers gives the same bits.
func TestTorusMetropolisWorkers(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{300, 334}, 0.3, 0.1))
	r := rand.New(rand.NewPCG(1, 1))
	start := make([]int32, 300*334)
	for i := range start {
		start[i] = r.Int32N(2)
	}
	var want []int32
	var told []sampler.Info
	for _, workers := range []int{1, 2, 9} {
		k, x, info, r := proposing(t, m, 1), slices.Clone(start), make([]sampler.Info, 1), streams(1)
		ctl := sampler.Control{Workers: workers}
		require.NoError(t, k.Reset(ctl, x))
		for range 3 {
			k.Step(ctl, info, x, r)
		}
		if want == nil {
			want, told = x, info
		}
		require.Equal(t, want, x)
		require.Equal(t, told, info)
	}
}
