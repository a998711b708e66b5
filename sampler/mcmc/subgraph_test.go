package mcmc

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func TestSubgraphRefuses(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.3, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{4, 4}, 3, 0.3, nil))
	rbm := exact.Must(model.NewRBM(filled(12, 0.01), filled(4, 0.1), filled(3, -0.2)))
	opaque := energy.Func{Sites: 5, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }}
	alone := exact.Must(constraint.Avoids([]int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}))
	for _, c := range []struct {
		m    energy.Model
		g    Subgraph
		want string
	}{
		{ising, Subgraph{Width: -1}, "Width = -1, want 0 … 20 for 2 levels"},
		{potts, Subgraph{Width: 13}, "Width = 13, want 0 … 12 for 3 levels"},
		{opaque, Subgraph{}, "model = energy.Func, want an energy.Factored one"},
		{rbm, Subgraph{}, "4 hidden units, want none"},
		{ising, Subgraph{Within: constraint.Count{Levels: []int32{1}, Max: 7}}, "does not factorise"},
		{exact.Must(model.NewIsing(model.Lattice{16}, 0.3, 0.1)), Subgraph{Within: alone}, "does not factorise"},
	} {
		_, err := c.g.Kernel(t.Context(), c.m, 1)
		require.ErrorContains(t, err, c.want)
		require.True(t, strings.HasPrefix(err.Error(), "mcmc: Subgraph"), err)
	}
}

// Languages that factorise have as many tables as sites, which allow what the language does.
func TestSubgraphLanguages(t *testing.T) {
	const sites, levels = 5, 3
	cards := []int32{3, 3, 2, 3, 3} // level 2 of site 2 has no energy
	for _, a := range []constraint.Automaton{
		exact.Must(constraint.Avoids([]int32{1, 1})),
		exact.Must(constraint.Avoids([]int32{1, 0, 2}, []int32{2, 2})),
		exact.Must(constraint.NewMask(levels, [][]int32{{0, 2}, {0, 1, 2}, {0, 1, 2}, {2}})),
	} {
		s, err := newSupport(t.Context(), "test", a, sites, levels)
		require.NoError(t, err)
		scopes, tables, err := s.factors(cards)
		require.NoError(t, err)
		require.Len(t, scopes, sites)
		for _, x := range exact.States(sites, levels) {
			if x[2] == 2 {
				continue
			}
			e := 0.0
			for k, scope := range scopes {
				at := 0
				for _, i := range scope {
					at = at*int(cards[i]) + int(x[i])
				}
				e += tables[k][at]
			}
			require.Equal(t, constraint.Accepts(a, x), e == 0, "%v", x)
		}
	}
}

// Chains that move eight at a time have the bits of chains that move alone, also after a checkpoint.
func TestSubgraphEights(t *testing.T) {
	withForests(t)
	const chains, steps = 11, 30
	glass := sparse(300, 2.5, 1, false, 44)
	fixed := map[int]int32{7: 1, 200: 0}
	for _, m := range []energy.Model{glass, exact.Must(energy.Clamp(glass, fixed)), exact.Must(energy.Scale(glass, .3))} {
		sites, _ := m.Shape()
		start := make([]int32, chains*sites)
		for i := range start {
			start[i] = int32(i % 3 & 1)
			if v, ok := fixed[i%sites]; ok {
				start[i] = v
			}
		}
		stream := func(s int) sampler.Stream { return *sampler.NewStream(3, uint64(s)) }
		kernel := func(n int) sampler.Kernel { return exact.Must(Subgraph{Width: 1}.Kernel(t.Context(), m, n)) }
		all, x, info, r := kernel(chains), slices.Clone(start), make([]sampler.Info, chains), make([]sampler.Stream, chains)
		for s := range r {
			r[s] = stream(s)
		}
		require.Len(t, all.(*subgraphs).own, 2)
		require.NoError(t, all.Reset(sampler.Control{}, x))
		cost := func(k sampler.Kernel, n int) float64 { return k.(sampler.Costed).Cost(make([]sampler.Info, n)) }
		require.Less(t, cost(all, chains), 3*cost(kernel(1), 1), "of two groups")
		moved := make([]int, chains)
		for step := range steps {
			if step == steps/2 {
				saved := exact.Must(all.AppendBinary(nil))
				all = kernel(chains)
				require.NoError(t, all.UnmarshalBinary(saved))
			}
			require.Equal(t, 1, all.Step(sampler.Control{Unread: step%5 == 1}, info, x, r))
			for s := range info {
				moved[s] += info[s].Moved
			}
		}
		for s := range chains {
			one, y, own, q := kernel(1), slices.Clone(start[s*sites:(s+1)*sites]), make([]sampler.Info, 1), []sampler.Stream{stream(s)}
			require.NoError(t, one.Reset(sampler.Control{}, y))
			alone := 0
			for range steps {
				require.Equal(t, 1, one.Step(sampler.Control{}, own, y, q))
				alone += own[0].Moved
			}
			require.Equal(t, y, x[s*sites:(s+1)*sites])
			require.Equal(t, own[0], info[s])
			require.Equal(t, alone, moved[s])
			e := make([]float64, 1)
			m.Energy(e, y)
			require.InDelta(t, e[0], own[0].Energy, 1e-10)
		}
	}
}

// Chains that exchange states one by one have the bits of chains that exchange them eight at a time.
func TestSubgraphExchangesAlone(t *testing.T) {
	withForests(t)
	const chains, steps = 8, 40
	m := sparse(70, 2.5, 1, false, 44)
	run := func(eights int) (energies []float64, states []int32, moved []int) {
		k := exact.Must(Tempering{Base: Subgraph{}, Betas: []float64{1, .8, .4, 0}}.Kernel(t.Context(), m, chains))
		x, info, r := make([]int32, chains*70), make([]sampler.Info, chains), sweeptest.Streams(chains)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		for range steps {
			require.Equal(t, 1, k.Step(sampler.Control{}, info, x, r))
			states = append(states, x...)
			for s := range info {
				moved = append(moved, info[s].Moved)
				for j := range info[s].Rungs.Len() {
					_, e, y := info[s].Rungs.Rung(j)
					energies, states = append(energies, e), append(states, y...)
					own := make([]float64, 1)
					m.Energy(own, y)
					require.InDelta(t, own[0], e, 1e-10)
				}
			}
		}
		require.Len(t, k.(*tempering).packed[0].(*subgraphs).own, eights)
		return energies, states, moved
	}
	e, x, n := run(1)
	withoutBits(t)
	f, y, o := run(0)
	require.Equal(t, e, f)
	require.Equal(t, x, y)
	require.Equal(t, n, o)
}
