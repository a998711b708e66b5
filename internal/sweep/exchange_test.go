package sweep

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// contract is an engine on a model that it takes.
type contract struct {
	engine  string
	m       energy.Model
	request Request
	law     *flipping // of torusLangevin
}

// kernel returns the engine on the model to the power beta.
func (c contract) kernel(t *testing.T, beta float64, chains int) sampler.Kernel {
	t.Helper()
	m := exact.Must(energy.Scale(c.m, beta))
	if c.law != nil {
		law := *c.law
		k := OnBits(m, chains, &law, law.alpha, nil)
		require.NotNil(t, k)
		return k
	}
	c.request.Method, c.request.Model, c.request.Chains = "test", m, chains
	k, _, err := c.request.Kernel()
	require.NoError(t, err)
	require.Equal(t, c.engine, sweeptest.EngineOf(k))
	return k
}

func contracts(t *testing.T) []contract {
	fields := make([]float64, 24)
	for i := range fields {
		fields[i] = float64(i%5) / 8
	}
	uneven := exact.Must(model.NewIsing(model.Lattice{6, 4}, 0.2, 0))
	uneven = exact.Must(uneven.WithFields(fields))
	pin := func(m energy.Model) energy.Model { return sweeptest.Pinned(m, func(i int) bool { return i%4 > 0 }) }
	potts := exact.Must(model.NewPotts(model.Lattice{5, 4}, 3, 0.5, []float64{0, 0.2, -0.1}))
	opaque := energy.Func{Sites: 12, Levels: 3, E: func(x []int32) float64 { return 0.2*float64(x[0]*x[1]) - 0.3*float64(x[2]) }}
	torus, large := sweeptest.Chequered(t, 6, 8), sweeptest.Chequered(t, 12, 12)
	all := []contract{
		{engine: "wordGibbs", m: torus}, {engine: "wordGibbs", m: uneven}, {engine: "wordGibbs", m: pin(torus)},
		{engine: "torusGibbs", m: sweeptest.Chequered(t, 20, 20)},
		{engine: "torusGibbs", m: pin(torus), request: Request{Proposes: true, Scan: Chromatic}},
		{engine: "rowGibbs", m: sweeptest.Complete(t, 30, 0.1, 0.2)}, {engine: "rowGibbs", m: pin(sweeptest.Complete(t, 30, 0.1, 0.2))}, {engine: "rowGibbs", m: sweeptest.Glass(t, 40, 0.2, 0.1), request: Request{Scan: Systematic}},
		{engine: "sparseGibbs", m: potts}, {engine: "sparseGibbs", m: pin(potts)},
		{engine: "denseGibbs", m: sweeptest.Complete(t, 30, 0.1, 0.2), request: Request{Proposes: true, Scan: Systematic}},
		{engine: "denseGibbs", m: pin(torus), request: Request{Proposes: true, Scan: Systematic}},
		{engine: "memoGibbs", m: sweeptest.Scattered(60, 3, sweeptest.Normal)}, {engine: "memoGibbs", m: pin(sweeptest.Scattered(60, 3, sweeptest.Normal))},
		{engine: "fieldGibbs", m: sweeptest.Scattered(800, 6, sweeptest.Normal)}, {engine: "fieldGibbs", m: pin(sweeptest.Scattered(800, 6, sweeptest.Normal))},
		{engine: "gibbs", m: sweeptest.Scattered(60, 3, sweeptest.Normal), request: Request{Scan: Random}}, {engine: "gibbs", m: opaque},
		{engine: "metropolis", m: potts, request: Request{Proposes: true, Scan: Systematic}}, {engine: "metropolis", m: opaque, request: Request{Proposes: true, Scan: Random}},
		{engine: "torusLangevin", m: large, law: &flipping{alpha: 0.2}}, {engine: "torusLangevin", m: pin(large), law: &flipping{alpha: 0.2}},
	}
	return all
}

// Engines at two temperatures exchange states: energies, of either's model, are those of the
// states that each has, before steps and behind them, whether somebody reads the states or not,
// and what is counted as moved is what differs. Fixed sites keep their levels.
func TestExchange(t *testing.T) {
	const chains = 9
	for n, c := range contracts(t) {
		hot, cold := c.kernel(t, 0.4, chains).(sampler.Exchanger), c.kernel(t, 1, chains).(sampler.Exchanger)
		require.True(t, hot.Exchanges(cold, 0.4) && cold.Exchanges(cold, 1), "%d %s", n, c.engine)
		sites, levels := c.m.Shape()
		r := rand.New(rand.NewPCG(1, uint64(n)))
		x, y, streams, info := make([]int32, chains*sites), make([]int32, chains*sites), sweeptest.Streams(2*chains), make([]sampler.Info, chains)
		for _, z := range [][]int32{x, y} {
			for i := range z {
				z[i] = r.Int32N(int32(levels))
			}
			if s, ok := energy.As[energy.Supported](c.m); ok {
				s.Repair(z)
			}
		}
		fixed := func(z []int32) (levels []int32) {
			if m, ok := energy.As[energy.Clamped](c.m); ok {
				_, at := m.Unclamped()
				for i, l := range z {
					if at[i%sites] >= 0 {
						levels = append(levels, l)
					}
				}
			}
			return levels
		}
		pins := fixed(x)
		steps := []struct {
			k    sampler.Exchanger
			x    []int32
			r    []sampler.Stream
			beta float64
		}{{hot, x, streams[:chains], 0.4}, {cold, y, streams[chains:], 1}}
		for _, s := range steps {
			require.NoError(t, s.k.(sampler.Kernel).Reset(sampler.Control{}, s.x))
			s.k.Hold(s.x)
		}
		e, f := make([]float64, chains), make([]float64, chains)
		for round := range 6 {
			for _, s := range steps {
				require.Equal(t, 1, s.k.(sampler.Kernel).Step(sampler.Control{Unread: round%2 == 0, Workers: 1 + round%2}, info, s.x, s.r))
			}
			x, y := slices.Clone(x), slices.Clone(y)
			hot.Show(x)
			cold.Show(y)
			which, moved := []int{0, 3, 8}, make([]int, chains)
			hot.Exchange(cold, which, moved)
			for s := range chains {
				a, b, want := x[s*sites:(s+1)*sites], y[s*sites:(s+1)*sites], 0
				if slices.Contains(which, s) {
					want = Changed(a, b)
					Exchange(a, b)
				}
				require.Equal(t, want, moved[s])
			}
			got, other := make([]int32, len(x)), make([]int32, len(x))
			for i, s := range steps {
				z, to := [][]int32{x, y}[i], [][]int32{got, other}[i]
				copy(s.x, z) // engines that keep states there have them there
				copy(to, z)
				s.k.Show(to)
				require.Equal(t, z, to, "%d %s", n, c.engine)
				c.m.Energy(f, z)
				for _, of := range steps {
					of.k.Energies(e, s.k)
					for at := range e {
						require.InDelta(t, of.beta*f[at], e[at], 1e-9, "%d %s", n, c.engine)
					}
				}
				require.Equal(t, pins, fixed(z))
			}
		}
		assert.False(t, hot.Exchanges(stranger{}, 0.4))
		if priced, ok := hot.(sampler.Costed); ok {
			assert.Positive(t, priced.Cost(info))
		}
	}
}

// stranger is a kernel of no engine.
type stranger struct{ sampler.Exchanger }

// asked is a method of one request.
type asked struct{ Request }

// Name implements [sampler.Named]. It returns "asked".
func (asked) Name() string { return "asked" }

// Kernel implements [sampler.Method].
func (a asked) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	a.Model, a.Chains = m, chains
	k, _, err := a.Request.Kernel()
	return k, err
}

// Engines resume to the same bits, whatever holds their states.
func TestEnginesResume(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, c := range contracts(t) {
		if c.law == nil {
			runs.Resume(t, c.m, asked{c.request})
		}
	}
}

// Automatic is what is fastest; others have their names in errors.
func TestScans(t *testing.T) {
	for scan, name := range map[Scan]string{Automatic: "automatic", Systematic: "systematic", Random: "random", Chromatic: "chromatic", 9: "Scan(9)"} {
		assert.Equal(t, name, scan.String())
	}
	_, _, err := Request{Method: "M", Scan: Chromatic, Model: energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return 0 }}, Chains: 1}.Kernel()
	assert.ErrorContains(t, err, "with Scan = chromatic, want an energy.Graphical one")
}
