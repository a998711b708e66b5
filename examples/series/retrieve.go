package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// nearCandidates is the number of training windows with the smallest violations that are
// projected to find the one that moves least.
const nearCandidates = 20

// fromTraining stores training windows as samples for held-out window i, for the baselines
// without a model. For retrieval, all samples are the projected window that moves least. For cop
// (Coletta et al. 2023), windows are drawn and projected. For real, they are drawn.
func (p *problem) fromTraining(ctx context.Context, o options, m method, i int, x []float32) error {
	solver, err := proximal.Projector{Set: p.sets[i]}.Compile(ctx, p.sites())
	if err != nil {
		return err
	}
	n := p.sites()
	move := func(dst []float32, window int) (float64, error) {
		v, z := make([]float64, n), make([]float64, n)
		for k, w := range p.training[window*n : (window+1)*n] {
			v[k] = float64(w)
		}
		if _, err := solver.Solve(z, v); err != nil {
			return 0, err
		}
		far := 0.0
		for k := range z {
			dst[k] = float32(z[k])
			far += (z[k] - v[k]) * (z[k] - v[k])
		}
		return far, nil
	}
	if m.from != nearest {
		r := rand.New(rand.NewPCG(o.seed, uint64(i)))
		for at := 0; at < len(x); at += n {
			window := r.IntN(len(p.training) / n)
			if m.from == asItIs {
				copy(x[at:at+n], p.training[window*n:])
			} else if _, err := move(x[at:at+n], window); err != nil {
				return err
			}
		}
		return nil
	}
	best, try := math.Inf(1), make([]float32, n)
	for _, window := range p.likeliest(i) {
		if err := ctx.Err(); err != nil {
			return err
		}
		far, err := move(try, window)
		if err != nil {
			return err
		}
		if far < best {
			best = far
			copy(x, try)
		}
	}
	for at := n; at < len(x); at += n {
		copy(x[at:at+n], x[:n])
	}
	return nil
}

// likeliest returns the training windows that violate the limits of held-out window i least.
func (p *problem) likeliest(i int) []int {
	n := p.sites()
	total := make([]float64, len(p.training)/n)
	order := make([]int, len(total))
	for k := range order {
		order[k] = k
		total[k], _ = distance.Violation(p.sets[i], p.training[k*n:(k+1)*n], n)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case total[a] < total[b]:
			return -1
		case total[a] > total[b]:
			return 1
		}
		return 0
	})
	return order[:min(nearCandidates, len(order))]
}
