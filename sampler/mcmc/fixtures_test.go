package mcmc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func must(k sampler.Kernel, err error) sampler.Kernel {
	if err != nil {
		panic(err)
	}
	return k
}

func streams(n int) []sampler.Stream {
	r := make([]sampler.Stream, n)
	for i := range r {
		r[i].Seed(5, uint64(i))
	}
	return r
}

// complete is an Ising model of all pairs of sites and of a tail of two.
func complete(t *testing.T, sites int, coupling, field float64) *model.Ising {
	t.Helper()
	var edges []model.Edge
	for i := range sites - 2 {
		for j := range i {
			edges = append(edges, model.Edge{I: i, J: j, W: 0.5})
		}
	}
	edges = append(edges, model.Edge{I: 0, J: sites - 2, W: 0.5}, model.Edge{I: sites - 2, J: sites - 1, W: 0.5})
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), coupling, field))
}

// glass is a complete graph of so many sites whose couplings are ±strength.
func glass(t *testing.T, sites int, strength, field float64) *model.Ising {
	t.Helper()
	r := rand.New(rand.NewPCG(5, uint64(sites)))
	var edges []model.Edge
	for i := range sites {
		for j := range i {
			edges = append(edges, model.Edge{I: i, J: j, W: float64(2*r.IntN(2) - 1)})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), strength, field))
}

// ring joins sites with those next to them, so many on either side, by couplings of turns.
func ring(t *testing.T, sites, near int, strength float64) *model.Ising {
	t.Helper()
	var edges []model.Edge
	for i := range sites {
		for k := 1; k <= near; k++ {
			edges = append(edges, model.Edge{I: i, J: (i + k) % sites, W: 1 - 2*float64(k%2)})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), strength, 0))
}

// scattered is a spin glass on a random graph of the given mean degree, some sites of which
// have many more neighbours.
func scattered(sites int, degree float64, weight func(r *rand.Rand) float64) energy.Model {
	r := rand.New(rand.NewPCG(6, 6))
	edges, seen := []model.Edge{}, map[[2]int]bool{}
	for len(edges) < int(degree*float64(sites)/2) {
		i, j := r.IntN(sites), r.IntN(sites)
		if i < j && !seen[[2]int{i, j}] {
			seen[[2]int{i, j}] = true
			edges = append(edges, model.Edge{I: i, J: j, W: weight(r)})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 0.4, 0.1))
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

func chequered(t *testing.T, rows, cols int) *model.Ising {
	m, err := model.NewIsing(model.Lattice{rows, cols}, 0.3, 0.1)
	require.NoError(t, err)
	return m
}

// observed steps the method from every state, draws times each, and counts
// where it went.
func observed(t *testing.T, m energy.Model, method sampler.Method, draws int, seed uint64) [][]int {
	t.Helper()
	k, err := method.Kernel(context.Background(), m, sampler.BlockSize)
	require.NoError(t, err)
	return observedKernel(t, m, k, func() {}, draws, seed)
}

// observedKernel is observed for a kernel of a whole block that before is called
// ahead of every step.
func observedKernel(t *testing.T, m energy.Model, k sampler.Kernel, before func(), draws int, seed uint64) [][]int {
	t.Helper()
	sites, levels := m.Shape()
	all := exact.States(sites, levels)
	counts := make([][]int, len(all))
	streams := make([]sampler.Stream, sampler.BlockSize)
	for i := range streams {
		streams[i] = *sampler.NewStream(seed, uint64(i))
	}
	info := make([]sampler.Info, sampler.BlockSize)
	block := make([]int32, sampler.BlockSize*sites)
	for x := range all {
		for s := range sampler.BlockSize {
			copy(block[s*sites:], all[x])
		}
		if k.Reset(sampler.Control{}, block) != nil {
			continue // a nil row says nothing
		}
		counts[x] = make([]int, len(all))
		for range (draws + sampler.BlockSize - 1) / sampler.BlockSize {
			for s := range sampler.BlockSize {
				copy(block[s*sites:], all[x])
			}
			require.NoError(t, k.Reset(sampler.Control{}, block))
			before()
			k.Step(sampler.Control{}, info, block, streams)
			exact.Tally(counts[x], block, sites, levels)
			for s := range info {
				require.NoError(t, info[s].Err)
			}
		}
	}
	return counts
}

// many returns draws, and many more of them with -long.
func many(draws int) int {
	if exact.Long() {
		draws *= 5
	}
	return draws
}

// stuck resets the kernel to state x. If the state has no probability it writes
// a row that stays there and returns true.
func stuck(k sampler.Kernel, state []int32, x int, dst []float64) bool {
	if k.Reset(sampler.Control{}, state) == nil {
		return false
	}
	dst[x] = 1
	return true
}

// stay puts what the other entries of the row leave on the diagonal. Some ulps
// too much are rounding; more is for Matrix.RowError to find.
func stay(dst []float64, x int) {
	dst[x] = 0
	dst[x] = max(0, 1-exact.Sum(dst))
}

func power(m *exact.Matrix, n int) *exact.Matrix {
	p := m
	for range n - 1 {
		p = p.Mul(m)
	}
	return p
}

// conditional returns the probabilities with which heatBath picks levels, read
// off the function itself: it is monotone in u, so bisection finds its steps.
func conditional(w, d []float64) []float64 {
	p := make([]float64, len(d))
	levels := len(d)
	order := make([]int, 0, levels)
	for l := range levels {
		order = append(order, l)
	}
	if levels == 2 {
		order[0], order[1] = 1, 0 // u below σ picks level 1
	}
	below := 0.0
	for n, l := range order {
		const grid = 1 << 53
		after := order[n+1:]
		lo, edge := int64(0), int64(grid)
		picks := func(u int64) bool {
			got := sweep.HeatBath(w, d, float64(u)/grid)
			for _, a := range after {
				if got == a {
					return true
				}
			}
			return false
		}
		for lo < edge { // sort.Search with 64 bits on every machine
			if mid := lo + (edge-lo)/2; picks(mid) {
				edge = mid
			} else {
				lo = mid + 1
			}
		}
		p[l] = float64(edge)/grid - below
		below = float64(edge) / grid
	}
	return p
}

// withoutBits lets the chains of a block move one by one for the rest of a test.
func withoutBits(t *testing.T) {
	bits, rows := sweep.FewestBits, sweep.FewestRows
	sweep.FewestBits, sweep.FewestRows = sampler.BlockSize+1, sampler.BlockSize+1
	t.Cleanup(func() { sweep.FewestBits, sweep.FewestRows = bits, rows })
}

// lawOf returns the sites that are free in a model, and the probabilities of their states by
// enumeration.
func lawOf(m energy.Model) (free []int, p []float64) {
	sites, levels := m.Shape()
	x := make([]int32, sites)
	fixed := slices.Repeat([]int32{-1}, sites)
	if c, ok := energy.As[energy.Clamped](m); ok {
		_, fixed = c.Unclamped()
	}
	if v, ok := energy.As[energy.Varying](m); ok {
		if c, ok := energy.As[energy.Clamped](v.Now()); ok {
			_, fixed = c.Unclamped()
		}
	}
	for i, l := range fixed {
		if x[i] = max(l, 0); l < 0 {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		return nil, []float64{1}
	}
	e := make([]float64, 1)
	for _, y := range exact.States(len(free), levels) {
		for at, i := range free {
			x[i] = y[at]
		}
		m.Energy(e, x)
		p = append(p, -e[0])
	}
	exact.Normalize(p)
	return free, p
}

// pinned fixes the sites of which keep is false, at levels by turns.
func pinned(m energy.Model, keep func(i int) bool) energy.Model {
	sites, levels := m.Shape()
	fixed := map[int]int32{}
	for i := range sites {
		if !keep(i) {
			fixed[i] = int32(i / 2 % levels)
		}
	}
	return exact.Must(energy.Clamp(m, fixed))
}

// engineOf names the kernel that does the work.
func engineOf(k sampler.Kernel) string {
	for w, ok := k.(sampler.Wrapper[int32]); ok; w, ok = k.(sampler.Wrapper[int32]) {
		k = w.Unwrap()
	}
	name := fmt.Sprintf("%T", k)
	return name[strings.LastIndexByte(name, '.')+1:]
}
