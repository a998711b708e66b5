package mcmc

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// jointMatrix returns the transition matrix of all replicas of one chain. A joint
// state has the index Σ_j index(x_j)·n^j.
func jointMatrix(t *testing.T, k *tempering, base sampler.Method, m energy.Model, swapProb func(j int, e, f float64) float64) *exact.Matrix {
	energies := exact.Energies(m)
	n := len(energies)
	rungs := len(k.betas)
	size := 1
	var moves []*exact.Matrix
	for _, beta := range k.betas {
		moves = append(moves, matrixOf(t, base, exact.Must(energy.Scale(m, beta))))
		size *= n
	}
	digit := func(x, j int) int {
		for range j {
			x /= n
		}
		return x % n
	}
	unit := func(j int) int {
		u := 1
		for range j {
			u *= n
		}
		return u
	}
	p := exact.NewMatrix(size, func(x int, dst []float64) {
		for y := range dst {
			dst[y] = 1
			for j, m := range moves {
				dst[y] *= m.At(digit(x, j), digit(y, j))
			}
		}
	})
	for j := k.odd; j+1 < rungs; j += 2 {
		p = p.Mul(exact.NewMatrix(size, func(x int, dst []float64) {
			a, b := digit(x, j), digit(x, j+1)
			y := x + (b-a)*unit(j) + (a-b)*unit(j+1)
			q := 0.0
			if !math.IsInf(energies[a], 1) && !math.IsInf(energies[b], 1) {
				q = swapProb(j, energies[a], energies[b])
			}
			dst[y] += q
			dst[x] += 1 - q
		}))
	}
	return p
}

// jointLaw returns ∏_j exp(−β_j E(x_j))/Z_j.
func jointLaw(t *testing.T, betas []float64, m energy.Model) []float64 {
	law := []float64{1}
	for _, beta := range betas {
		scaled, err := energy.Scale(m, beta)
		require.NoError(t, err)
		pi, _ := exact.Law(scaled)
		var next []float64
		for _, p := range pi {
			for _, q := range law {
				next = append(next, p*q)
			}
		}
		law = next
	}
	return law
}

// observedJoint steps all replicas from every joint state.
func observedJoint(t *testing.T, k *tempering, m energy.Model, odd, draws int) [][]int {
	sites, levels := m.Shape()
	all := exact.States(sites, levels)
	energies := exact.Energies(m)
	size := 1
	for range k.betas {
		size *= len(all)
	}
	counts := make([][]int, size)
	streams, info := make([]sampler.Stream, sampler.BlockSize), make([]sampler.Info, sampler.BlockSize)
	for s := range streams {
		streams[s] = *sampler.NewStream(11, uint64(s))
	}
	for x := range counts {
		alive := true
		for j, c := 0, x; j < len(k.betas); j, c = j+1, c/len(all) {
			alive = alive && !math.IsInf(energies[c%len(all)], 1)
		}
		if !alive {
			continue
		}
		counts[x] = make([]int, size)
		for range draws / sampler.BlockSize {
			for s := range sampler.BlockSize {
				for j, c := 0, x; j < len(k.betas); j, c = j+1, c/len(all) {
					copy(k.state(j, s), all[c%len(all)])
				}
			}
			k.started, k.odd = true, odd
			cold := append([]int32(nil), k.states(0)...)
			require.NoError(t, k.Reset(sampler.Control{}, cold))
			k.Step(sampler.Control{}, info, cold, streams)
			for s := range sampler.BlockSize {
				require.NoError(t, info[s].Err)
				y := 0
				for j := len(k.betas) - 1; j >= 0; j-- {
					y = y*len(all) + exact.Index(k.state(j, s), levels)
				}
				require.Equal(t, k.state(0, s), cold[s*sites:(s+1)*sites])
				require.InDelta(t, energies[exact.Index(k.state(0, s), levels)], info[s].Energy, 1e-12)
				counts[x][y]++
			}
		}
	}
	return counts
}

func temperingSpaces() map[string]energy.Model {
	return map[string]energy.Model{
		"binary":   exact.NewRugged(2, 2, 1, 0.5, 1),
		"3-levels": exact.NewRugged(1, 3, 1, 0.5, 2),
		"ordinal":  exact.Ordinal{Rugged: exact.NewRugged(1, 5, 1, 0.5, 3)},
		"holes":    exact.NewRugged(3, 2, 1, 0.5, 5).Holed(),
	}
}

func TestTemperingLeavesTheJointLawInvariant(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range temperingSpaces() {
		betas := []float64{1, 0.4, 0}
		for name, base := range map[string]sampler.Method{"DMALA": DMALA{StepSize: 0.6}, "Metropolis": Metropolis{Updates: 1}, "Gibbs": Gibbs{}} {
			t.Run(name+"/"+space, func(t *testing.T) {
				method := Tempering{Base: base, Betas: betas}
				law := jointLaw(t, betas, m)
				one := exact.Must(method.Kernel(context.Background(), m, 1)).(*tempering)
				block := exact.Must(method.Kernel(context.Background(), m, sampler.BlockSize)).(*tempering)
				for odd := range 2 {
					one.odd = odd
					p := jointMatrix(t, one, base, m, func(j int, e, f float64) float64 {
						a, ok := one.swapProb(j, e, f)
						require.True(t, ok)
						return a
					})
					assert.LessOrEqual(t, p.RowError(), 1e-12)
					assert.LessOrEqual(t, p.MaxDiff(law), 1e-12)
					if !testing.Short() && name != "Gibbs" {
						exact.Transitions(t, observedJoint(t, block, m, odd, 640), p, exact.Rate)
					}
				}
			})
		}
	}
}

// The twin swaps by the ratio of one replica only.
func TestTemperingBrokenTwin(t *testing.T) {
	m := exact.NewRugged(2, 2, 1, 0, 1)
	method := Tempering{Base: Metropolis{Updates: 1}, Betas: []float64{1, 0.4, 0}}
	k := exact.Must(method.Kernel(context.Background(), m, 1)).(*tempering)
	twin := jointMatrix(t, k, method.Base, m, func(j int, e, f float64) float64 {
		return math.Min(1, math.Exp(k.betas[j]*(e-f)))
	})
	assert.Greater(t, twin.MaxDiff(jointLaw(t, k.betas, m)), 1e-3)
	block := exact.Must(method.Kernel(context.Background(), m, sampler.BlockSize)).(*tempering)
	v, _ := exact.TransitionsPValue(observedJoint(t, block, m, 0, 640), twin)
	assert.Less(t, v, exact.Rate)
}

// Two wells that no base kernel crosses: the share of each must be right, and
// the ladder must have tuned itself.
func TestTemperingCrossesBarriers(t *testing.T) {
	exact.SkipUnderRace(t)
	const sites, depth = 12, 1.2
	m := energy.Func{Sites: sites, Levels: 2, E: func(x []int32) float64 {
		up := 0.0
		for _, l := range x {
			up += float64(l)
		}
		return -depth*math.Abs(2*up-sites) - 0.05*up
	}}
	pi, _ := exact.Law(m)
	want := 0.0
	for k, x := range exact.States(sites, 2) {
		if energy.Magnetization(x) > 0 {
			want += pi[k]
		}
	}
	upper := func(x []int32) float64 {
		if energy.Magnetization(x) > 0 {
			return 1
		}
		return 0
	}
	trace := diagnose.NewTrace(upper)
	c := runs.Run(t, m, Tempering{Base: Metropolis{}, Rungs: 5}, sampler.Config{Chains: 32, Seed: 1, Warmup: 400, Init: make([]int32, sites), Observe: trace.Observe}, 2000)
	row := trace.Summary().Rows[0]
	require.True(t, row.MCSE.Defined())
	// 4.9 standard errors: the stated rate of a normal tail, 1e-6.
	assert.InDelta(t, want, row.Mean.Value, 4.9*row.MCSE.Value)
	assert.Less(t, row.MCSE.Value, 0.01)
	ladders := Ladders(c)
	require.Len(t, ladders, 4, "blocks of 8 chains")
	for _, l := range ladders {
		assert.Equal(t, 2000, l.Steps)
		assert.Equal(t, 1.0, l.Betas[0])
		assert.Equal(t, 0.0, l.Betas[4])
		assert.NoError(t, checkLadder(l.Betas))
		for _, a := range l.Swap {
			assert.InDelta(t, 1-l.Barrier/4, a, 0.05, "swaps are equally likely: %+v", l)
		}
		assert.Greater(t, l.RoundTrips, 8*50)
	}
	assert.Nil(t, Ladders(runs.Run(t, m, Metropolis{}, sampler.Config{Warmup: -1}, 1)))
}

// Where all swaps succeed, the even/odd schedule carries every state straight
// through: one round trip ends every other step, whatever the number of rungs.
func TestTemperingRoundTrips(t *testing.T) {
	flat := energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return 0 }}
	for _, rungs := range []int{2, 5, 9} {
		c := runs.Run(t, flat, Tempering{Base: Metropolis{}, Rungs: rungs}, sampler.Config{Chains: 3, Warmup: -1}, 400)
		trips := 0
		for _, l := range Ladders(c) {
			trips += l.RoundTrips
			assert.Zero(t, l.Barrier)
			assert.Equal(t, 400, l.Steps)
		}
		assert.InDelta(t, 3*400/2, trips, 3*2*float64(rungs))
	}
}

func TestRespace(t *testing.T) {
	w := newSwaps(4, 1)
	assert.Equal(t, []float64{1, .5, .2, 0}, w.respace([]float64{1, .5, .2, 0}), "nothing offered")
	for j, a := range []float64{0.9, 0.5, 0.6} { // rejections 0.1, 0.5, 0.4: a third is 1/3
		w.offer(j, a)
	}
	got := w.respace([]float64{1, .5, .2, 0})
	want := []float64{1, .5 - .3*(1.0/3-.1)/.5, .2 - .2*(2.0/3-.6)/.4, 0}
	for j := range want {
		assert.InDelta(t, want[j], got[j], 1e-15)
	}
	for j := range 3 {
		w.sum[j] = 1
	}
	assert.Equal(t, []float64{1, .5, .2, 0}, w.respace([]float64{1, .5, .2, 0}), "nothing rejected")
}

func TestTemperingReset(t *testing.T) {
	hard := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 {
			return math.Inf(1)
		}
		return 0
	}}
	k := exact.Must(Tempering{}.Kernel(context.Background(), hard, 1)).(*tempering)
	var start *sampler.StartError
	require.ErrorAs(t, k.Reset(sampler.Control{}, []int32{1, 0}), &start)
	require.NoError(t, k.Reset(sampler.Control{}, []int32{0, 1}))
	copy(k.state(3, 0), []int32{0, 0})
	copy(k.state(4, 0), []int32{1, 0})
	require.NoError(t, k.Reset(sampler.Control{}, []int32{0, 1}))
	assert.Equal(t, []int32{0, 0}, k.state(3, 0), "a replica keeps its state")
	assert.Equal(t, []int32{0, 1}, k.state(4, 0), "unless it has no probability")
}

func TestTemperingReportsFailures(t *testing.T) {
	m := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 && x[1] == 1 {
			return math.NaN()
		}
		return 0
	}}
	c, err := sampler.NewChains(context.Background(), m, Tempering{Base: Gibbs{}}, sampler.Config{Init: []int32{0, 0}})
	require.NoError(t, err)
	err = c.Run(context.Background(), 10)
	assert.ErrorIs(t, err, sampler.ErrNaN)
	assert.ErrorContains(t, err, "rung ")
}

func TestTemperingRefusesDamagedCheckpoints(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	k := exact.Must(Tempering{Rungs: 3}.Kernel(context.Background(), m, 2))
	require.NoError(t, k.Reset(sampler.Control{}, make([]int32, 6)))
	saved, err := k.AppendBinary(nil)
	require.NoError(t, err)
	fresh := func() sampler.Kernel { return exact.Must(Tempering{Rungs: 3}.Kernel(context.Background(), m, 2)) }
	require.NoError(t, fresh().UnmarshalBinary(saved))
	for n := range saved {
		require.Error(t, fresh().UnmarshalBinary(saved[:n]))
	}
	require.Error(t, fresh().UnmarshalBinary(append(saved[:len(saved):len(saved)], 0)))
	for _, at := range []int{0, 8, 3*8 + 4, 3*8 + 4 + 18*4 + 6*8} { // ladder, level, replica
		bad := append([]byte(nil), saved...)
		bad[at+3] = 0x7f
		bad[at+7] = 0x7f
		require.Error(t, fresh().UnmarshalBinary(bad), "damaged at %d", at)
	}
}

// exchanged are models of which the kernels of Gibbs hold states in each of their forms.
func exchanged(t *testing.T) map[string]sized {
	large := exact.Must(model.NewIsing(model.Lattice{16, 18}, 0.3, 0.1))
	return map[string]sized{
		"words":       {exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.3, 0.1)), Gibbs{}},
		"torus":       {exact.Must(model.NewIsing(model.Lattice{40, 38}, 0.4, 0)), Gibbs{}},
		"flips":       {large, Metropolis{Scan: Chromatic}},
		"proposals":   {large, DMALA{StepSize: 0.4}},
		"rows":        {sweeptest.Complete(t, 24, 0.03, 0.1), Gibbs{}},
		"glass":       {sweeptest.Glass(t, 20, 0.1, 0.2), Gibbs{}},
		"table":       {exact.Must(model.NewPotts(model.Lattice{6, 7}, 3, 0.4, []float64{0, 0.1, -0.1})), Gibbs{}},
		"flat table":  {exact.Must(model.NewPotts(model.Lattice{6, 7}, 3, 0.4, nil)), Gibbs{}},
		"memo":        {sweeptest.Scattered(60, 4, sweeptest.Normal), Gibbs{}},
		"counts":      {sweeptest.Complete(t, 40, 0.02, 0.1), Metropolis{Scan: Systematic}},
		"fields":      {sweeptest.Scattered(1500, 4, sweeptest.Normal), Gibbs{}},
		"differences": {exact.NewQuadratic(9, 1), Gibbs{Scan: Random}},
		"proposed":    {exact.NewQuadratic(9, 1), Metropolis{}},
		"forests":     {sparse(70, 2.5, 1, false, 44), Subgraph{}},
		"clamped":     {clampedPath(30), Subgraph{Width: 1}},
		"opaque":      {energy.Func{Sites: 6, Levels: 3, E: func(x []int32) float64 { return float64(x[0]*x[1]) - 0.5*float64(x[2]+x[5]) }}, Gibbs{}},
	}
}

// clampedPath is a path with couplings of both signs, a field at every site, and three fixed sites.
func clampedPath(sites int) energy.Model {
	var edges []model.Edge
	fields := make([]float64, sites)
	for i := range fields {
		fields[i] = float64(i%5)/3 - 0.5
		if i > 0 {
			edges = append(edges, model.Edge{I: i - 1, J: i, W: float64(i%3) - 0.8})
		}
	}
	m := exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 1, 0))
	return exact.Must(energy.Clamp(exact.Must(m.WithFields(fields)), map[int]int32{2: 1, sites / 2: 0, sites - 1: 1}))
}

// plainKernels hides that kernels exchange states.
type plainKernels struct{ sampler.Method }

type plainKernel struct{ sampler.Kernel }

func (p plainKernels) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, err := p.Method.Kernel(ctx, m, chains)
	return plainKernel{k}, err
}

// coldExchange is a method of whose kernels, made again and again for ladders of some length,
// the first can exchange states and the others cannot.
type coldExchange struct {
	sampler.Method
	rungs int
	made  *int
}

func (c coldExchange) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, err := c.Method.Kernel(ctx, m, chains)
	if *c.made++; *c.made%c.rungs == 1 {
		return k, err
	}
	return plainKernel{k}, err
}

// Kernels that exchange states, all of them or that of β = 1 alone, make the steps of those
// that are Reset to swapped ones: the same states on all rungs, read or not, resumed or not,
// and energies that are theirs.
func TestTemperingExchanges(t *testing.T) {
	exact.SkipRepeated(t)
	withForests(t)
	for name, c := range exchanged(t) {
		t.Run(name, func(t *testing.T) { exchange(t, c.m, c.method, c.method) })
		t.Run(name+", β = 1 alone", func(t *testing.T) { exchange(t, c.m, coldExchange{c.method, 5, new(int)}, c.method) })
	}
}

func exchange(t *testing.T, m energy.Model, method, plain sampler.Method) {
	const chains, steps = 11, 40 // eight, and three in a group of eight
	betas := []float64{1, 0.9, 0.8, 0.4, 0}
	sites, levels := m.Shape()
	e := make([]float64, 1)
	type run struct {
		k    *tempering
		x    []int32
		r    []sampler.Stream
		info []sampler.Info
	}
	begin := func(base sampler.Method) run {
		k := exact.Must(Tempering{Base: base, Betas: betas}.Kernel(context.Background(), m, chains)).(*tempering)
		r := run{k, make([]int32, chains*sites), sweeptest.Streams(chains), make([]sampler.Info, chains)}
		for i := range r.x {
			r.x[i] = int32(i * i % 11 % levels)
		}
		if s, ok := energy.As[energy.Supported](m); ok {
			s.Repair(r.x)
		}
		require.NoError(t, k.Reset(sampler.Control{}, r.x))
		return r
	}
	fast, unread, slow := begin(method), begin(method), begin(plainKernels{plain})
	_, alone := method.(coldExchange)
	for j, ex := range fast.k.packed {
		require.Equal(t, alone && j > 0, ex == nil, "rung %d", j)
	}
	require.Nil(t, slow.k.packed[0])
	swaps := 0
	for step := range steps {
		before := slices.Clone(fast.x)
		fast.k.Step(sampler.Control{}, fast.info, fast.x, fast.r)
		slow.k.Step(sampler.Control{}, slow.info, slow.x, slow.r)
		unread.k.Step(sampler.Control{Unread: step%3 > 0}, unread.info, unread.x, unread.r)
		require.Equal(t, slow.x, fast.x)
		if step%3 == 0 {
			require.Equal(t, slow.x, unread.x)
		}
		for s := range chains {
			own := fast.x[s*sites : (s+1)*sites]
			moved := sweep.Changed(before[s*sites:(s+1)*sites], own)
			require.GreaterOrEqual(t, fast.info[s].Moved, moved)
			require.Equal(t, fast.info[s].Moved, unread.info[s].Moved)
			for j := range betas {
				_, f, y := fast.info[s].Rungs.Rung(j)
				_, g, z := slow.info[s].Rungs.Rung(j)
				require.Equal(t, z, y, "rung %d", j)
				require.InDelta(t, g, f, 1e-9*(1+math.Abs(g)))
				m.Energy(e, y)
				require.InDelta(t, e[0], f, 1e-9*(1+math.Abs(f)))
			}
			if fast.k.swaps.replica[s] != 0 {
				swaps++
			}
		}
		if step == 20 {
			saved := exact.Must(fast.k.AppendBinary(nil))
			fast.k = begin(method).k
			require.NoError(t, fast.k.UnmarshalBinary(saved))
			require.Equal(t, saved, exact.Must(fast.k.AppendBinary(nil)))
			require.NoError(t, slow.k.Reset(sampler.Control{}, slow.x), "changes nothing")
		}
	}
	require.Positive(t, swaps)
	unread.k.Show(unread.x)
	require.Equal(t, fast.x, unread.x)
	require.Zero(t, testing.AllocsPerRun(20, func() { fast.k.Step(sampler.Control{}, fast.info, fast.x, fast.r) }))
}

// Kernels of other forms, of other graphs and of other numbers of chains do not exchange
// states.
func TestExchangesAreRefused(t *testing.T) {
	all := exchanged(t)
	kernel := func(name string, chains int) sampler.Exchanger {
		k, ok := exact.Must(all[name].method.Kernel(context.Background(), all[name].m, chains)).(sampler.Exchanger)
		require.True(t, ok, name)
		return k
	}
	for a := range all {
		assert.True(t, kernel(a, 8).Exchanges(kernel(a, 8), 1), a)
		assert.False(t, kernel(a, 8).Exchanges(kernel(a, 9), 1), a)
		for b := range all {
			if a != b && !(a == "differences" && b == "proposed" || a == "proposed" && b == "differences") {
				assert.False(t, kernel(a, 8).Exchanges(kernel(b, 8), 1), "%s with %s", a, b)
			}
		}
	}
}

// Models go to the engines that the table names.
func TestEnginesOfGibbs(t *testing.T) {
	want := map[string]string{
		"words": "wordGibbs", "torus": "torusGibbs", "rows": "rowGibbs", "glass": "rowGibbs", "table": "sparseGibbs", "flat table": "sparseGibbs",
		"memo": "memoGibbs", "fields": "fieldGibbs", "differences": "gibbs", "opaque": "gibbs",
	}
	for name, c := range exchanged(t) {
		if g, ok := c.method.(Gibbs); ok {
			assert.Equal(t, want[name], sweeptest.EngineOf(exact.Must(g.Kernel(context.Background(), c.m, 8))), name)
		}
	}
	assert.Equal(t, "denseGibbs", sweeptest.EngineOf(exact.Must(Gibbs{Scan: Systematic}.Kernel(context.Background(), sweeptest.Complete(t, 30, 0.1, 0), 1))))
}
