package mcmc

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// transition returns the matrix of one Step of a one-chain kernel, built from
// the numbers that the kernel itself draws and decides with.
func transition(t *testing.T, k sampler.Kernel, sites, levels int) *exact.Matrix {
	t.Helper()
	all := exact.States(sites, levels)
	switch k := k.(type) {
	case *dula:
		return exact.NewMatrix(len(all), func(x int, dst []float64) {
			require.NoError(t, k.Reset(sampler.Control{}, all[x]))
			for y := range dst {
				dst[y] = math.Exp(k.proposal.current(all[y], all[x], 0))
			}
		})
	case *hastings:
		switch p := k.proposal.(type) {
		case *gwg:
			return gwgMatrix(t, k, p, all)
		case *paths:
			return pathsMatrix(t, k, p, all, scored(p))
		}
		return exact.NewMatrix(len(all), func(x int, dst []float64) {
			if stuck(k, all[x], x, dst) {
				return
			}
			for y := range dst {
				if y == x {
					continue
				}
				load(k.proposal, k.next, all[y], all[x])
				forth := k.proposal.current(all[y], all[x], 0)
				back := k.proposal.logProb(all[x], all[y], 0)
				a, ok := accept(k.e[0]-k.next[0], forth, back)
				require.True(t, ok)
				dst[y] = math.Exp(forth) * a
			}
			stay(dst, x)
		})
	case *proximal:
		return proximalMatrix(k, all)
	case *cyclical:
		alpha, beta := k.stage()
		setStep(k.proposal, alpha, beta, all[0])
		return transition(t, k.hastings, sites, levels)
	case *metropolis:
		return power(metropolisMatrix(k, all), k.updates)
	case *gibbs:
		return gibbsMatrix(k, all)
	case *sparseGibbs:
		return sparseMatrix(k, all)
	case *memoGibbs:
		return memoMatrix(k, all)
	case *blockGibbs:
		return blockMatrix(k, all)
	case *pairGibbs:
		return power(pairMatrix(k, all), k.updates)
	case *swap:
		return power(swapMatrix(t, k, all), k.updates)
	case *bipartite:
		return bipartiteMatrix(k, all)
	case *hammingBall:
		return power(hammingBallMatrix(k, all), k.updates)
	}
	t.Fatalf("no transition matrix for %T", k)
	return nil
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

func gwgMatrix(t *testing.T, k *hastings, p *gwg, all [][]int32) *exact.Matrix {
	n := p.sites * p.cols
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if stuck(k, all[x], x, dst) {
			return
		}
		y := make([]int32, p.sites)
		lists := 1
		for range p.flips {
			lists *= n
		}
		for code := range lists {
			require.NoError(t, k.Reset(sampler.Control{}, all[x]))
			q := 1.0
			for j, c := 0, code; j < p.flips; j, c = j+1, c/n {
				p.list[j] = c % n
				q *= float64(p.w[p.list[j]]) / p.sum[0]
			}
			copy(y, all[x])
			if q == 0 || !p.apply(y, all[x], p.list) {
				continue
			}
			load(p, k.next, y, nil)
			forth, back := p.current(y, all[x], 0), p.logProb(all[x], y, 0)
			require.InDelta(t, math.Log(q), forth, 1e-12)
			a, ok := accept(k.e[0]-k.next[0], forth, back)
			require.True(t, ok)
			dst[exact.Index(y, p.levels)] += math.Exp(forth) * a
		}
		stay(dst, x)
	})
}

func metropolisMatrix(k *metropolis, all [][]int32) *exact.Matrix {
	q := 1 / float64(k.sites*(k.levels-1))
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if stuck(k, all[x], x, dst) {
			return
		}
		y := append([]int32(nil), all[x]...)
		for i, at := range all[x] {
			for l := range int32(k.levels) {
				if l == at {
					continue
				}
				row := k.row(0, i, all[x])
				a, _ := accept(row[at]-row[l], 0, 0)
				y[i] = l
				dst[exact.Index(y, k.levels)] += q * a
				y[i] = at
			}
		}
		stay(dst, x)
	})
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
			got := heatBath(w, d, float64(u)/grid)
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

func gibbsMatrix(k *gibbs, all [][]int32) *exact.Matrix {
	site := func(i int) *exact.Matrix {
		return exact.NewMatrix(len(all), func(x int, dst []float64) {
			if stuck(k, all[x], x, dst) {
				return
			}
			y := append([]int32(nil), all[x]...)
			for l, p := range conditional(k.w, k.row(0, i, all[x])) {
				y[i] = int32(l)
				dst[exact.Index(y, k.levels)] = p
			}
		})
	}
	if k.order == nil {
		var each []*exact.Matrix
		for i := range k.sites {
			each = append(each, site(i))
		}
		mean := exact.NewMatrix(len(all), func(x int, dst []float64) {
			for _, m := range each {
				for y, p := range m.Row(x) {
					dst[y] += p / float64(k.sites)
				}
			}
		})
		return power(mean, k.sites)
	}
	var p *exact.Matrix
	for _, i := range k.order {
		if p == nil {
			p = site(int(i))
			continue
		}
		p = p.Mul(site(int(i)))
	}
	return p
}

func blockMatrix(k *blockGibbs, all [][]int32) *exact.Matrix {
	var p *exact.Matrix
	for b := range k.blocks {
		m := exact.NewMatrix(len(all), func(x int, dst []float64) {
			if stuck(k, all[x], x, dst) {
				return
			}
			d, _ := k.weigh(all[x], k.blocks[b])
			for c, q := range conditional(k.w, d) {
				dst[exact.Index(k.x[c*k.sites:(c+1)*k.sites], k.levels)] += q
			}
		})
		if p == nil {
			p = m
			continue
		}
		p = p.Mul(m)
	}
	return p
}

func bipartiteMatrix(k *bipartite, all [][]int32) *exact.Matrix {
	hidden := exact.States(k.hidden, 2)
	layer := func(to []int32, n int, f []float32) float64 {
		t, zero := make([]int32, n), make([]int32, n)
		simd.FlipThresholds(t, f, zero, fromUp, noCost)
		return math.Exp(simd.FlipLogProb(zero, to, t))
	}
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		up, down := make([]float32, k.hidden), make([]float32, k.sites)
		k.model.HiddenField(up, all[x])
		for _, h := range hidden {
			p := layer(h, k.hidden, up)
			k.model.VisibleField(down, h)
			for y := range dst {
				dst[y] += p * layer(all[y], k.sites, down)
			}
		}
	})
}

// many returns draws, and many more of them with -long.
func many(draws int) int {
	if exact.Long() {
		draws *= 5
	}
	return draws
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

// setStep makes the current weights of p, at the states x, those of another step.
func setStep(p proposal, alpha, beta float64, x []int32) {
	p.tune(alpha, beta)
	sites := 0
	switch p := p.(type) {
	case *flips:
		sites = p.sites
	case *rows:
		sites = p.sites
	case *confined:
		sites = p.sites
	}
	p.rebuild(0, len(x)/sites, x, &cursor{})
}
