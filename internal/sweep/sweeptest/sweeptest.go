// Package sweeptest holds models and measurements that the tests of packages sweep and mcmc
// share.
package sweeptest

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
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Streams returns a random stream for each of n chains. All streams have the seed 5.
func Streams(n int) []sampler.Stream {
	r := make([]sampler.Stream, n)
	for i := range r {
		r[i].Seed(5, uint64(i))
	}
	return r
}

// Complete returns an Ising model on a complete graph of sites−2 sites, to which a path of two
// more sites is attached.
func Complete(t *testing.T, sites int, coupling, field float64) *model.Ising {
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

// Glass returns an Ising model on a complete graph with random couplings ±strength.
func Glass(t *testing.T, sites int, strength, field float64) *model.Ising {
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

// Ring returns an Ising model on a ring. The neighbours of a site are all sites at a distance of at
// most radius. The sign of a coupling alternates with the distance.
func Ring(t *testing.T, sites, radius int, strength float64) *model.Ising {
	t.Helper()
	var edges []model.Edge
	for i := range sites {
		for k := 1; k <= radius; k++ {
			edges = append(edges, model.Edge{I: i, J: (i + k) % sites, W: 1 - 2*float64(k%2)})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), strength, 0))
}

// Scattered returns a spin glass on a random graph of the given mean degree. Some sites have many
// more neighbours than others. The function weight draws a coupling.
func Scattered(sites int, degree float64, weight func(r *rand.Rand) float64) energy.Model {
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

// Normal returns a standard normal number drawn from r.
func Normal(r *rand.Rand) float64 { return r.NormFloat64() }

// Chequered returns an Ising model on a torus with the given numbers of rows and columns.
func Chequered(t *testing.T, rows, cols int) *model.Ising {
	m, err := model.NewIsing(model.Lattice{rows, cols}, 0.3, 0.1)
	require.NoError(t, err)
	return m
}

// Observed counts the transitions of a method. Entry [x][y] of the result is the number of steps
// from state x to state y. The method makes at least the given number of steps from each state, in
// whole blocks.
func Observed(t *testing.T, m energy.Model, method sampler.Method, steps int, seed uint64) [][]int {
	t.Helper()
	k, err := method.Kernel(context.Background(), m, sampler.BlockSize)
	require.NoError(t, err)
	return ObservedKernel(t, m, k, func() {}, steps, seed)
}

// ObservedKernel is like [Observed], but for a kernel that moves a whole block of chains. It calls
// hook() before every step.
func ObservedKernel(t *testing.T, m energy.Model, k sampler.Kernel, hook func(), steps int, seed uint64) [][]int {
	t.Helper()
	sites, levels := m.Shape()
	all := exact.States(sites, levels)
	counts := make([][]int, len(all))
	r := make([]sampler.Stream, sampler.BlockSize)
	for i := range r {
		r[i] = *sampler.NewStream(seed, uint64(i))
	}
	info := make([]sampler.Info, sampler.BlockSize)
	block := make([]int32, sampler.BlockSize*sites)
	for x := range all {
		for s := range sampler.BlockSize {
			copy(block[s*sites:], all[x])
		}
		if k.Reset(sampler.Control{}, block) != nil {
			continue // a nil row means that no step was made from x
		}
		counts[x] = make([]int, len(all))
		for range (steps + sampler.BlockSize - 1) / sampler.BlockSize {
			for s := range sampler.BlockSize {
				copy(block[s*sites:], all[x])
			}
			require.NoError(t, k.Reset(sampler.Control{}, block))
			hook()
			k.Step(sampler.Control{}, info, block, r)
			exact.Tally(counts[x], block, sites, levels)
			for s := range info {
				require.NoError(t, info[s].Err)
			}
		}
	}
	return counts
}

// Many returns the given number of draws, or five times this number if the flag -long is set.
func Many(draws int) int {
	if exact.Long() {
		draws *= 5
	}
	return draws
}

// Stuck resets the kernel to the state with number x. It returns true if the kernel rejects this
// state because the state has probability zero. In that case it stores in dst the row of the
// transition matrix for a chain that stays at x.
func Stuck(k sampler.Kernel, state []int32, x int, dst []float64) bool {
	if k.Reset(sampler.Control{}, state) == nil {
		return false
	}
	dst[x] = 1
	return true
}

// Stay sets the probability dst[x] of staying at x to 1 minus the sum of the other entries. If that
// sum exceeds 1 by rounding, Stay sets dst[x] to 0. Larger excesses are left for Matrix.RowError to
// find.
func Stay(dst []float64, x int) {
	dst[x] = 0
	dst[x] = max(0, 1-exact.Sum(dst))
}

// Power returns the matrix power mⁿ, for n ≥ 1.
func Power(m *exact.Matrix, n int) *exact.Matrix {
	p := m
	for range n - 1 {
		p = p.Mul(m)
	}
	return p
}

// Conditional returns the probabilities with which the function heatBath selects each level,
// given energies d. The result of heatBath is monotone in u, so bisection finds the values of u
// at which it changes.
func Conditional(heatBath func(w, d []float64, u float64) int, w, d []float64) []float64 {
	p := make([]float64, len(d))
	levels := len(d)
	order := make([]int, 0, levels)
	for l := range levels {
		order = append(order, l)
	}
	if levels == 2 {
		order[0], order[1] = 1, 0 // a u below the probability of level 1 selects level 1
	}
	below := 0.0
	for n, l := range order {
		const grid = 1 << 53
		after := order[n+1:]
		lo, edge := int64(0), int64(grid)
		picks := func(u int64) bool {
			got := heatBath(w, d, float64(u)/grid)
			for _, a := range after {
				if got == a {
					return true
				}
			}
			return false
		}
		for lo < edge { // sort.Search, but with 64 bits on every machine
			if mid := lo + (edge-lo)/2; picks(mid) {
				edge = mid
			} else {
				lo = mid + 1
			}
		}
		upTo := float64(float64(edge) / grid)
		p[l], below = upTo-below, upTo
	}
	return p
}

// Distribution returns the free sites of a model and the probabilities of their states, computed
// by enumeration.
func Distribution(m energy.Model) (free []int, p []float64) {
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

// Pinned returns a version of m in which the sites i with free(i) = false are fixed. A fixed site i
// has level ⌊i/2⌋ modulo the number of levels.
func Pinned(m energy.Model, free func(i int) bool) energy.Model {
	sites, levels := m.Shape()
	fixed := map[int]int32{}
	for i := range sites {
		if !free(i) {
			fixed[i] = int32(i / 2 % levels)
		}
	}
	return exact.Must(energy.Clamp(m, fixed))
}

// EngineOf returns the type name of the kernel that does the work of k. If k wraps other kernels,
// this is the innermost one.
func EngineOf(k sampler.Kernel) string {
	for w, ok := k.(sampler.Wrapper[int32]); ok; w, ok = k.(sampler.Wrapper[int32]) {
		k = w.Unwrap()
	}
	name := fmt.Sprintf("%T", k)
	return name[strings.LastIndexByte(name, '.')+1:]
}
