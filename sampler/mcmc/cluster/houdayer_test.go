package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// glasses are small models whose clusters are of all sizes.
func glasses() map[string]energy.Model {
	glass := exact.Must(model.NewGraph(5, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -1}, {I: 0, J: 2, W: 1}, {I: 2, J: 3, W: -1}, {I: 3, J: 4, W: 1}}))
	three := exact.Must(model.NewGraph(3, kite[:2]))
	return map[string]energy.Model{
		"glass": exact.Must(model.NewIsing(glass, 0.9, 0.3)),
		"potts": exact.Must(model.NewPotts(three, 3, 1.1, []float64{0.3, 0, -0.5})),
	}
}

// together returns the distribution of two independent states.
func together(pi []float64) []float64 {
	joint := make([]float64, 0, len(pi)*len(pi))
	for _, p := range pi {
		for _, q := range pi {
			joint = append(joint, p*q)
		}
	}
	return joint
}

// exchanges returns the matrix of an exchange, on pairs of states.
func exchanges(k *houdayer) *exact.Matrix {
	all := exact.States(k.sites, k.levels)
	n := len(all)
	return exact.NewMatrix(n*n, func(at int, dst []float64) {
		different := 0
		for i, l := range all[at/n] {
			if l != all[at%n][i] {
				different++
			}
		}
		if different == 0 {
			dst[at] = 1
		}
		for i := range k.sites {
			x := append([]int32(nil), all[at/n]...)
			copy(k.y, all[at%n])
			if x[i] == k.y[i] {
				continue
			}
			k.reach(0, int32(i), x, k.y)
			k.exchange(0, x, k.y)
			dst[exact.Index(x, k.levels)*n+exact.Index(k.y, k.levels)] += 1 / float64(different)
		}
	})
}

func newHoudayer(m energy.Model, base sampler.Method, chains int) *houdayer {
	return exact.Must(Houdayer{Base: base}.Kernel(context.Background(), m, chains)).(*houdayer)
}

func TestExchangesLeavePairsInvariant(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range glasses() {
		one, _ := exact.Law(m)
		pi := together(one)
		k := newHoudayer(m, still{}, 1)
		p := exchanges(k)
		assert.LessOrEqual(t, p.RowError(), 1e-12, space)
		assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12, space)
		assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12, space)

		// A twin that exchanges a site and not its cluster must be found out.
		k.start = make([]int32, k.sites+1)
		assert.Greater(t, exchanges(k).MaxDiff(pi), 1e-4, space)
	}
}

// still does not move.
type still struct{}

func (still) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	return &stillKernel{m: m, e: make([]float64, chains)}, nil
}

type stillKernel struct {
	sampler.Base
	m energy.Model
	e []float64
}

func (k *stillKernel) Reset(_ sampler.Control, x []int32) error {
	k.m.Energy(k.e, x)
	return sampler.CheckStart(k.e)
}

func (k *stillKernel) Step(_ sampler.Control, info []sampler.Info, _ []int32, _ []sampler.Stream) int {
	for s := range info {
		info[s] = sampler.Info{Energy: k.e[s], Accept: 1}
	}
	return 1
}

// What steps do is what the matrix says, and what they report is so.
func TestExchangesAreThoseOfTheMatrix(t *testing.T) {
	exact.SkipUnderRace(t)
	m := glasses()["potts"]
	const chains, draws = sampler.BlockSize, 64
	k := newHoudayer(m, still{}, chains)
	p := exchanges(newHoudayer(m, still{}, 1))
	all := exact.States(k.sites, k.levels)
	n := len(all)
	streams, info := make([]sampler.Stream, chains), make([]sampler.Info, chains)
	for s := range streams {
		streams[s] = *sampler.NewStream(7, uint64(s))
	}
	x, e, f := make([]int32, chains*k.sites), make([]float64, chains), make([]float64, chains)
	counts := make([][]int, n*n)
	for at := range counts {
		counts[at] = make([]int, n*n)
		for range draws / chains {
			for s := range chains {
				copy(k.state(x, s), all[at/n])
				copy(k.state(k.y, s), all[at%n])
			}
			k.started = true
			require.NoError(t, k.Reset(sampler.Control{}, x))
			k.Step(sampler.Control{}, info, x, streams)
			m.Energy(e, x)
			m.Energy(f, k.y)
			for s := range info {
				counts[at][exact.Index(k.state(x, s), k.levels)*n+exact.Index(k.state(k.y, s), k.levels)]++
				require.Equal(t, e[s], info[s].Energy)
				require.Equal(t, 2, info[s].Rungs.Len())
				beta, energy, y := info[s].Rungs.Rung(1)
				require.Equal(t, []any{1.0, f[s], k.state(k.y, s)}, []any{beta, energy, y})
				_, _, own := info[s].Rungs.Rung(0)
				require.Equal(t, k.state(x, s), own)
				moved := 0
				for i, l := range own {
					if l != all[at/n][i] {
						moved++
					}
				}
				require.Equal(t, moved, info[s].Moved)
			}
		}
	}
	exact.Transitions(t, counts, p, exact.Rate)
}

// Pairs that start from their distribution keep it, also within a language, out of
// which exchanges lead.
func TestPairsKeepTheirDistribution(t *testing.T) {
	exact.SkipUnderRace(t)
	m := glasses()["glass"]
	within := constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}
	for name, base := range map[string]sampler.Method{"gibbs": nil, "within": mcmc.DMALA{StepSize: 0.5, Within: within}} {
		t.Run(name, func(t *testing.T) {
			pi, _ := exact.Law(m)
			all := exact.States(5, 2)
			if name == "within" {
				for at, x := range all {
					up := 0
					for _, l := range x {
						up += int(l)
					}
					if up < 2 || up > 3 {
						pi[at] = 0
					}
				}
				total := exact.Sum(pi)
				for at := range pi {
					pi[at] /= total
				}
			}
			const chains, draws = sampler.BlockSize, 4800
			k := newHoudayer(m, base, chains)
			streams, info := make([]sampler.Stream, chains), make([]sampler.Info, chains)
			for s := range streams {
				streams[s] = *sampler.NewStream(5, uint64(s))
			}
			draw := func(x []int32, r *sampler.Stream) {
				u, at := r.Float64(), 0
				for u -= pi[0]; u >= 0; u -= pi[at] {
					at++
				}
				copy(x, all[at])
			}
			counts, second := make([]int, len(all)), make([]int, len(all))
			x := make([]int32, chains*5)
			for range draws / chains {
				for s := range chains {
					draw(k.state(x, s), &streams[s])
					draw(k.state(k.y, s), &streams[s])
				}
				k.started = true
				require.NoError(t, k.Reset(sampler.Control{}, x))
				for range 3 {
					k.Step(sampler.Control{}, info, x, streams)
				}
				exact.Tally(counts, x, 5, 2)
				exact.Tally(second, k.y, 5, 2)
			}
			exact.Counts(t, counts, pi, exact.Rate)
			exact.Counts(t, second, pi, exact.Rate)
		})
	}
}

func TestHoudayerResumes(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.4, 0.1))
	for name, method := range map[string]sampler.Method{"gibbs": Houdayer{}, "dmala": Houdayer{Base: mcmc.DMALA{}}, "tempering": mcmc.Tempering{Base: Houdayer{}, Rungs: 3},
		"exchanges of ladders": Houdayer{Base: mcmc.Tempering{Base: mcmc.Gibbs{}, Rungs: 3}, Exchanges: 3}, "exchanges of general ladders": Houdayer{Base: mcmc.Tempering{Rungs: 3}, Exchanges: 3},
		"two ladders": Houdayer{Base: mcmc.Tempering{Base: mcmc.Gibbs{}, Rungs: 3}}, "two ladders of dmala": Houdayer{Base: mcmc.Tempering{Rungs: 3}}} {
		run := func(n int, from []byte) ([]int32, []byte) {
			c := exact.Must(sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 5, Seed: 3, Warmup: 4}))
			if from != nil {
				require.NoError(t, c.Load(context.Background(), bytes.NewReader(from)))
			}
			require.NoError(t, c.Run(context.Background(), n))
			var b bytes.Buffer
			require.NoError(t, c.Save(&b))
			return c.States(), b.Bytes()
		}
		whole, _ := run(12, nil)
		for _, cut := range []int{0, 2, 7} {
			_, half := run(cut, nil)
			rest, _ := run(12-cut, half)
			require.Equal(t, whole, rest, "%s, saved after %d", name, cut)
		}
	}
}

func TestHoudayerAllocatesNothing(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.6, 0))
	for name, base := range map[string]sampler.Method{"gibbs": nil, "tempering": mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.7, 0.4}}, "tempering of dmala": mcmc.Tempering{Betas: []float64{1, 0.7}}} {
		k := newHoudayer(m, base, 2)
		k.exchanges = 2
		x, info := make([]int32, 72), make([]sampler.Info, 2)
		r := []sampler.Stream{*sampler.NewStream(1, 0), *sampler.NewStream(1, 1)}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		exact.Steady(t, name, func() { k.Step(sampler.Control{}, info, x, r) })
	}
}

// Of a Houdayer over Tempering, every rung exchanges clusters, or every other one by turns if a step
// makes several exchanges: the states of both ladders change, their energies are those of their states,
// and the sum over the two does not change. A tuned ladder is the same for both replicas, and both count
// round trips.
func TestLaddersExchangeClusters(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.3, 0))
	weights := rand.New(rand.NewPCG(3, 1))
	var complete []model.Edge
	for i := range 40 {
		for j := range i {
			complete = append(complete, model.Edge{I: j, J: i, W: weights.NormFloat64()})
		}
	}
	for _, c := range []struct {
		name string
		m    energy.Model
		base sampler.Method
	}{
		{"bits", m, mcmc.Gibbs{}},
		{"general", m, mcmc.DMALA{}},
		{"locals", exact.Must(energy.Clamp(glasses()["glass"], map[int]int32{0: 1})), mcmc.Gibbs{}},
		{"levels", glasses()["potts"], mcmc.Gibbs{}},
		{"dense", exact.Must(model.NewIsing(exact.Must(model.NewGraph(40, complete)), 0.1, 0.2)), mcmc.Gibbs{}},
		{"subgraphs", m, mcmc.Subgraph{Width: 1}},
	} {
		k := newHoudayer(c.m, mcmc.Tempering{Base: c.base, Betas: []float64{1, 0.6, 0.3}}, 3)
		k.exchanges = 2
		x, info := make([]int32, 3*k.sites), make([]sampler.Info, 3)
		if s, ok := energy.As[energy.Supported](c.m); ok {
			s.Repair(x)
		}
		r := []sampler.Stream{*sampler.NewStream(1, 0), *sampler.NewStream(1, 1), *sampler.NewStream(1, 2)}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		for range 5 {
			k.Step(sampler.Control{}, info, x, r)
		}
		calls := &couplings{houdayer: k, t: t, m: c.m}
		_, _, ok := k.base[0].(sweep.Laddered).CoupleRungs(k.base[1], x, k.y, r, 0, 1, calls)
		require.True(t, ok, c.name)
		require.Equal(t, 3, calls.pairs, c.name)
		require.Positive(t, calls.changed, c.name)
		calls.pairs = 0
		_, _, ok = k.base[0].(sweep.Laddered).CoupleRungs(k.base[1], x, k.y, r, 1, 2, calls)
		require.True(t, ok, c.name)
		require.Equal(t, 1, calls.pairs, c.name)
		e := make([]float64, 3)
		for i := range 5 { // the next moves begin with the exchanged states
			for j, states := range [2][]int32{x, k.y} {
				k.base[j].Step(sampler.Control{}, info, states, r)
				c.m.Energy(e, states)
				for s := range info {
					require.InDelta(t, e[s], info[s].Energy, 1e-9, c.name)
				}
			}
			k.base[0].(sweep.Laddered).CoupleRungs(k.base[1], x, k.y, r, i%2, 2, k)
		}
		for range 5 {
			k.Step(sampler.Control{}, info, x, r)
			for j, states := range [2][]int32{x, k.y} {
				c.m.Energy(e, states)
				for s := range info {
					require.InDelta(t, e[s], k.e[j][s], 1e-9, c.name)
					require.Equal(t, k.e[0][s], info[s].Energy, c.name)
				}
			}
		}
	}
	c := exact.Must(sampler.NewChains(context.Background(), m, Houdayer{Base: mcmc.Tempering{Base: mcmc.Gibbs{}, Rungs: 3}}, sampler.Config{Chains: 2, Seed: 3, Warmup: 64}))
	require.NoError(t, c.Run(context.Background(), 500))
	l := mcmc.Ladders(c)
	require.Len(t, l, 4) // two of each block
	for k := 0; k < 4; k += 2 {
		require.Equal(t, l[k].Betas, l[k+1].Betas)
		require.NotEqual(t, 0.5, l[k].Betas[1], "the ladder is tuned")
		require.Positive(t, l[k].RoundTrips)
		require.Positive(t, l[k+1].RoundTrips)
	}
	for exchanges, want := range map[int][][2]int{1: {{0, 1}}, 2: {{0, 2}, {1, 2}}, 3: {{0, 2}, {1, 2}, {0, 2}}} {
		k := newHoudayer(m, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.6, 0.3}}, 1)
		calls := &couplingLadder{Kernel: k.base[0], Laddered: k.base[0].(sweep.Laddered)}
		k.base[0], k.exchanges = calls, exchanges
		x := make([]int32, k.sites)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		k.Step(sampler.Control{}, make([]sampler.Info, 1), x, []sampler.Stream{*sampler.NewStream(1, 0)})
		require.Equal(t, want, calls.rungs, "%d exchanges", exchanges)
	}
	other := newHoudayer(m, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.5}}, 3)
	more := newHoudayer(m, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.4}}, 3)
	_, _, ok := other.base[0].(sweep.Laddered).CoupleRungs(more.base[1], nil, nil, nil, 0, 1, other)
	require.False(t, ok, "other temperatures")
}

// couplingLadder records at which rungs clusters are exchanged.
type couplingLadder struct {
	sampler.Kernel
	sweep.Laddered
	rungs [][2]int
}

func (l *couplingLadder) CoupleRungs(with sampler.Kernel, x, y []int32, r []sampler.Stream, from, by int, c sweep.Coupler) (e, f []float64, ok bool) {
	l.rungs = append(l.rungs, [2]int{from, by})
	return l.Laddered.CoupleRungs(with, x, y, r, from, by, c)
}

// couplings checks what an exchange leaves as it was.
type couplings struct {
	*houdayer
	t              *testing.T
	m              energy.Model
	pairs, changed int
}

func (c *couplings) Couple(pairs []sweep.Pair, r []sampler.Stream) {
	read := func(p sweep.Pair) (x []int32, e []float64) {
		show(p.A, p.X)
		show(p.B, p.Y)
		x = append(append([]int32(nil), p.X...), p.Y...)
		e = make([]float64, len(x)/c.sites)
		c.m.Energy(e, x)
		return x, e
	}
	before, sums := make([][]int32, len(pairs)), make([][]float64, len(pairs))
	for i, p := range pairs {
		before[i], sums[i] = read(p)
	}
	c.houdayer.Couple(pairs, r)
	for i, p := range pairs {
		after, e := read(p)
		for k, v := range after {
			if v != before[i][k] {
				c.changed++
			}
		}
		for s := range c.chains {
			require.InDelta(c.t, sums[i][s]+sums[i][s+c.chains], e[s]+e[s+c.chains], 1e-9)
		}
	}
	c.pairs += len(pairs)
}

// broken cannot go on: its first step fails, or it cannot start again.
type broken struct {
	stillKernel
	step, reset error
	resets      int
}

func (k *broken) Reset(ctl sampler.Control, x []int32) error {
	if k.resets++; k.resets > 1 {
		return k.reset
	}
	return k.stillKernel.Reset(ctl, x)
}

func (k *broken) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
	k.stillKernel.Step(ctl, info, x, r)
	for s := range info {
		info[s].Err = k.step
	}
	return 1
}

func (*broken) Warning() string                { return "broken" }
func (*broken) Adapt([]sampler.Info, int, int) {}

func TestHoudayerSaysWhatItsBaseSays(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.4, 0.1))
	x, info, r := make([]int32, 9), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(1, 0)}
	failure := errors.New("no way on")
	for name, base := range map[string]*broken{"step": {step: failure}, "reset": {reset: failure}} {
		k := newHoudayer(m, still{}, 1)
		base.m, base.e = m, make([]float64, 1)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		k.base[1] = base
		k.y[3] = 1
		base.resets = 1
		k.Step(sampler.Control{}, info, x, r)
		require.ErrorIs(t, info[0].Err, failure, name)
		require.Equal(t, "broken", k.Warning())
		k.Adapt(info, 0, 1)
	}
}

func TestHoudayerRefuses(t *testing.T) {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.2, 0))
	_, err := Houdayer{}.Kernel(ctx, energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 { return 0 }}, 1)
	require.ErrorContains(t, err, "want an energy.Graphical one")
	for _, base := range []sampler.Method{mcmc.Swap{}, &mcmc.Swap{}} {
		_, err = Houdayer{Base: base}.Kernel(ctx, ising, 1)
		require.ErrorContains(t, err, "mcmc.Swap, which keeps the numbers of levels")
	}
	_, err = Houdayer{}.Kernel(ctx, nil, 1)
	require.Error(t, err)
	_, err = Houdayer{Base: (*mcmc.DMALA)(nil)}.Kernel(ctx, ising, 1)
	require.ErrorContains(t, err, "Base")
	_, err = Houdayer{Base: mcmc.DMALA{StepSize: -1}}.Kernel(ctx, ising, 1)
	require.ErrorContains(t, err, "StepSize = -1")
	k := newHoudayer(ising, nil, 2)
	b := exact.Must(k.AppendBinary(nil))
	for n := range len(b) {
		require.Error(t, k.UnmarshalBinary(b[:n]))
	}
	bad := bytes.Clone(b)
	bad[8] = 9
	require.ErrorContains(t, k.UnmarshalBinary(bad), "token 0 = 9, want 0 … 1")
	require.NoError(t, k.UnmarshalBinary(b))
	require.NoError(t, k.Start(make([]int32, 16), sampler.NewStream(1, 1)))
}

// Several exchanges a step give more round trips for the same moves, also if kernels do not hold
// chains as bits.
func TestExchangesTravel(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.4, 0))
	for name, base := range map[string]sampler.Method{"bits": mcmc.Gibbs{}, "general": mcmc.DMALA{StepSize: 0.1}} {
		trips := map[int]int{}
		for _, n := range []int{1, 4} {
			c := exact.Must(sampler.NewChains(context.Background(), m, Houdayer{Base: mcmc.Tempering{Base: base, Betas: []float64{1, 0.6, 0.3}}, Exchanges: n}, sampler.Config{Chains: 4, Seed: 3, Warmup: -1}))
			require.NoError(t, c.Run(context.Background(), 300))
			for _, l := range mcmc.Ladders(c) {
				require.Equal(t, 300, l.Steps)
				trips[n] += l.RoundTrips
			}
		}
		require.Greater(t, 2*trips[4], 3*trips[1], name)
	}
}

// A second exchange without swaps of temperatures in between would often undo the first.
func TestExchangesAreRefused(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.2, 0))
	ladder := mcmc.Tempering{Base: mcmc.Gibbs{}, Rungs: 3}
	for want, h := range map[string]Houdayer{
		"-1, want 0 … 1024 (0 means 1)":   {Exchanges: -1, Base: ladder},
		"1025, want 0 … 1024 (0 means 1)": {Exchanges: 1025, Base: ladder},
		"3, want 1 unless Base is mcmc.Tempering, whose swaps of temperatures keep an exchange from undoing the one before": {Exchanges: 3},
	} {
		_, err := h.Kernel(context.Background(), m, 1)
		require.EqualError(t, err, "cluster: Houdayer: Exchanges = "+want)
	}
	for _, h := range []Houdayer{{Exchanges: 1}, {Exchanges: 1024, Base: ladder}} {
		_, err := h.Kernel(context.Background(), m, 1)
		require.NoError(t, err)
	}
}

// watch is a method that does not move. It counts the calls of Reset of its kernels.
type watch struct {
	kernels int
	resets  [2]int // of the kernels of each replica
	last    int    // the last successful Reset of the second replica
	failure error  // error of later ones
	workers map[int]int
}

const watchedRungs = 3

func (w *watch) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	w.kernels++
	return &watched{stillKernel{m: m, e: make([]float64, chains)}, w, (w.kernels - 1) / watchedRungs}, nil
}

type watched struct {
	stillKernel
	*watch
	replica int
}

func (k *watched) Reset(ctl sampler.Control, x []int32) error {
	k.workers[ctl.Workers]++
	if k.resets[k.replica]++; k.replica == 1 && k.resets[1] > k.last {
		return k.failure
	}
	return k.stillKernel.Reset(ctl, x)
}

// The swaps between two exchanges have the workers of the step. An error in them or in an exchange names
// the replica and ends the step.
func TestSwapsBetweenExchanges(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.4, 0))
	for _, c := range []struct {
		name string
		y    int32 // level of all sites of the second replica at β = 1; the others have 0
		last int
		want string
		// Swaps of equal energies are always made, and reset two rungs. An exchange resets one, where
		// y is 1: on rung 2, in the third exchange.
		resets [2]int
	}{
		{"no error", 0, 1 << 20, "", [2]int{6, 6}},
		{"swap", 0, 2, "second replica: rung 2, β = 0.3: no way on", [2]int{4, 4}},
		{"exchange", 1, 6, "second replica: no way on", [2]int{7, 7}},
	} {
		w := &watch{last: 1 << 20, failure: errors.New("no way on"), workers: map[int]int{}}
		h := Houdayer{Base: mcmc.Tempering{Base: w, Betas: []float64{1, 0.6, 0.3}}, Exchanges: 3}
		k := exact.Must(h.Kernel(context.Background(), m, 1)).(*houdayer)
		x, info, r := make([]int32, 9), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(1, 0)}
		ctl := sampler.Control{Workers: 5}
		require.NoError(t, k.Reset(ctl, x))
		for i := range k.y {
			k.y[i] = c.y
		}
		require.NoError(t, k.base[1].Reset(ctl, k.y))
		w.resets, w.last = [2]int{}, c.last
		k.Step(ctl, info, x, r)
		if c.want == "" {
			require.NoError(t, info[0].Err, c.name)
		} else {
			require.EqualError(t, info[0].Err, c.want, c.name)
		}
		require.Equal(t, c.resets, w.resets, c.name)
		require.Len(t, w.workers, 1, c.name)
		require.Positive(t, w.workers[5], c.name)
	}
}

// Every rung pays for its exchanges.
func TestCostOfExchanges(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.4, 0))
	cost := func(n int) float64 {
		h := Houdayer{Base: mcmc.Tempering{Base: mcmc.Gibbs{}, Rungs: 5}, Exchanges: n}
		k := exact.Must(h.Kernel(context.Background(), m, 2))
		return k.(sampler.Costed).Cost(make([]sampler.Info, 2))
	}
	require.InDelta(t, 2*(3+2+3-5)*36*rootCost, cost(3)-cost(1), 1e-6)
}

// A caller may give a kernel another slice with the same states: they move as in a single slice.
func TestHoudayerOfAnotherSlice(t *testing.T) {
	glass, complete := sweeptest.Glass(t, 20, 0.5, 0.3), sweeptest.Complete(t, 30, 0.05, 0.1)
	for name, c := range map[string]struct {
		m      energy.Model
		base   sampler.Method
		chains int
	}{
		"forests":         {glass, mcmc.Subgraph{Width: 1}, 1},
		"eight forests":   {glass, mcmc.Subgraph{Width: 1}, 9},
		"plans":           {glass, mcmc.Subgraph{Width: 2}, 1},
		"plans of three":  {glass, mcmc.Subgraph{Width: 2}, 3},
		"random sites":    {glass, mcmc.Gibbs{Scan: mcmc.Random}, 3},
		"counts":          {complete, mcmc.Gibbs{}, 3},
		"proposed counts": {complete, mcmc.Metropolis{Scan: mcmc.Systematic}, 3},
		"rows":            {complete, mcmc.Gibbs{}, 9},
	} {
		ladder := mcmc.Tempering{Base: c.base, Betas: []float64{1, 0.5}}
		for _, h := range []Houdayer{{Base: c.base}, {Base: ladder, Exchanges: 2}} {
			t.Run(fmt.Sprintf("%s: %T", name, h.Base), func(t *testing.T) { buffers(t, c.m, h, c.chains) })
		}
	}
}

// buffers requires the same states of chains in one slice and in two by turns.
func buffers(t *testing.T, m energy.Model, h Houdayer, chains int) {
	sites, _ := m.Shape()
	run := func(number int) (states []int32) {
		k := exact.Must(h.Kernel(t.Context(), m, chains))
		var each [][]int32
		for range number {
			each = append(each, make([]int32, chains*sites))
		}
		info, r := make([]sampler.Info, chains), sweeptest.Streams(chains)
		require.NoError(t, k.Reset(sampler.Control{}, each[0]))
		x, e := each[0], make([]float64, chains)
		for step := range 60 {
			next := each[step/3%number]
			copy(next, x)
			if x = next; step == 30 {
				require.NoError(t, k.Reset(sampler.Control{}, x))
			}
			require.Equal(t, 1, k.Step(sampler.Control{}, info, x, r))
			states = append(states, x...)
			m.Energy(e, x)
			for s := range info {
				require.InDelta(t, e[s], info[s].Energy, 1e-9, "step %d", step)
			}
		}
		return states
	}
	one := run(1)
	require.True(t, slices.Equal(one, run(2)))
	require.NotEqual(t, one[:chains*sites], one[len(one)-chains*sites:])
}
