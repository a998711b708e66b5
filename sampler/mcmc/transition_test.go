package mcmc

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// transition returns the matrix of one Step of a one-chain kernel, built from
// the numbers that the kernel itself draws and decides with.
func transition(t *testing.T, k sampler.Kernel, sites, levels int) *exact.Matrix {
	t.Helper()
	all := exact.States(sites, levels)
	switch k := k.(type) {
	case *hastings:
		if k.unadjusted {
			return exact.NewMatrix(len(all), func(x int, dst []float64) {
				require.NoError(t, k.Reset(sampler.Control{}, all[x]))
				for y := range dst {
					dst[y] = math.Exp(k.proposal.current(all[y], all[x], 0))
				}
			})
		}
		switch p := k.proposal.(type) {
		case *gwg:
			return gwgMatrix(t, k, p, all)
		case *paths:
			return pathsMatrix(t, k, p, all, scored(p))
		}
		return exact.NewMatrix(len(all), func(x int, dst []float64) {
			if sweeptest.Stuck(k, all[x], x, dst) {
				return
			}
			for y := range dst {
				if y == x {
					continue
				}
				load(k.proposal, k.next, all[y], all[x])
				forth := k.proposal.current(all[y], all[x], 0)
				back := k.proposal.logProb(all[x], all[y], 0)
				a, ok := sweep.Accept(k.e[0]-k.next[0], forth, back)
				require.True(t, ok)
				dst[y] = math.Exp(forth) * a
			}
			sweeptest.Stay(dst, x)
		})
	case *proximal:
		return proximalMatrix(k, all)
	case *cyclical:
		alpha, beta := k.stage()
		setStep(k.proposal, alpha, beta, all[0])
		return transition(t, k.hastings, sites, levels)
	case *blockGibbs:
		return blockMatrix(k, all)
	case *pairGibbs:
		return sweeptest.Power(pairMatrix(k, all), k.Updates)
	case *swap:
		return sweeptest.Power(swapMatrix(t, k, all), k.Updates)
	case *bipartite:
		return bipartiteMatrix(k, all)
	case *hammingBall:
		return sweeptest.Power(hammingBallMatrix(k, all), k.Updates)
	}
	t.Fatalf("no transition matrix for %T", k)
	return nil
}

func gwgMatrix(t *testing.T, k *hastings, p *gwg, all [][]int32) *exact.Matrix {
	n := p.sites * p.cols
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if sweeptest.Stuck(k, all[x], x, dst) {
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
				q *= float64(p.w.Now[p.list[j]]) / p.sum.Now[0]
			}
			copy(y, all[x])
			if q == 0 || !p.apply(y, all[x], p.list) {
				continue
			}
			load(p, k.next, y, nil)
			forth, back := p.current(y, all[x], 0), p.logProb(all[x], y, 0)
			require.InDelta(t, math.Log(q), forth, 1e-12)
			a, ok := sweep.Accept(k.e[0]-k.next[0], forth, back)
			require.True(t, ok)
			dst[exact.Index(y, p.levels)] += math.Exp(forth) * a
		}
		sweeptest.Stay(dst, x)
	})
}

func blockMatrix(k *blockGibbs, all [][]int32) *exact.Matrix {
	var p *exact.Matrix
	for b := range k.blocks {
		m := exact.NewMatrix(len(all), func(x int, dst []float64) {
			if sweeptest.Stuck(k, all[x], x, dst) {
				return
			}
			d, _ := k.weigh(all[x], k.blocks[b])
			for c, q := range sweeptest.Conditional(sweep.HeatBath, k.w, d) {
				dst[exact.Index(k.x[c*k.Sites:(c+1)*k.Sites], k.Levels)] += q
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

// setStep makes the current weights of p, at the states x, those of another step.
func setStep(p proposal, alpha, beta float64, x []int32) {
	p.tune(alpha, beta)
	sites := 0
	switch p := p.(type) {
	case *flips:
		sites = p.sites
	case *rows:
		sites = p.sites
	case *matches:
		sites = p.sites
	case *confined:
		sites = p.sites
	}
	p.rebuild(0, len(x)/sites, x, &sweep.Cursor{})
}

// matrixOf returns the matrix of one step of a method: for Gibbs in order and Metropolis at
// random, whose kernels are those of package sweep, by their definitions.
func matrixOf(t *testing.T, method sampler.Method, m energy.Model) *exact.Matrix {
	sites, levels := m.Shape()
	all, e := exact.States(sites, levels), exact.Energies(m)
	_, heat := method.(Gibbs)
	tries, metropolis := method.(Metropolis)
	if !heat && !metropolis {
		return transition(t, exact.Must(method.Kernel(context.Background(), m, 1)), sites, levels)
	}
	site := func(i int) *exact.Matrix {
		return exact.NewMatrix(len(all), func(x int, dst []float64) {
			if math.IsInf(e[x], 1) {
				dst[x] = 1
				return
			}
			y, total := slices.Clone(all[x]), 0.0
			var to []int
			for y[i] = 0; int(y[i]) < levels; y[i]++ {
				to = append(to, exact.Index(y, levels))
				total += math.Exp(e[x] - e[to[y[i]]])
			}
			for _, z := range to {
				if heat {
					dst[z] = math.Exp(e[x]-e[z]) / total
				} else if z != x {
					dst[z] = min(1, math.Exp(e[x]-e[z])) / float64(levels-1)
				}
			}
			if metropolis {
				sweeptest.Stay(dst, x)
			}
		})
	}
	mean := exact.NewMatrix(len(all), func(x int, dst []float64) {
		for i := range sites {
			for y, p := range site(i).Row(x) {
				dst[y] += p / float64(sites)
			}
		}
	})
	if metropolis {
		return sweeptest.Power(mean, tries.Updates)
	}
	p := site(0)
	for i := 1; i < sites; i++ {
		p = p.Mul(site(i))
	}
	return p
}

// load evaluates the model at the states y of all chains of p and weighs them.
func load(p proposal, e []float64, y, x []int32) {
	p.evaluate(0, len(e), e, y, x, &sweep.Cursor{})
	p.weigh(0, len(e), y, &sweep.Cursor{})
}
