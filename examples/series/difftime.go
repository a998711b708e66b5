package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
)

// penalty stores in slope the gradient of f(x) = Σ_j max(0, g_j(x))² for the limits g_j of a set,
// and returns f(x).
func penalty(slope, x []float32, set *series.System) (f float64) {
	g := make([]float64, set.Len())
	set.Value(g, x)
	for j, v := range g {
		g[j] = 2 * max(v, 0)
		f += g[j] * g[j] / 4
	}
	clear(slope)
	set.Pull(slope, x, g)
	return f
}

// guide is a denoiser that guides another one as Guided-DiffTime does (Coletta et al. 2023). It
// adds ρ·√(1−ᾱ)·∇f to the predicted noise, where ∇f is the gradient of the penalty f(x̂_0) with
// respect to the noisy window x_t. With the Jacobian J = ∂x̂_0/∂x_t, the predicted window becomes
//
//	x̂_0 − ρ·(1−ᾱ)/√ᾱ·Jᵀ∇f(x̂_0).
//
// The matrix (1−ᾱ)/√ᾱ·J is the covariance of the window given x_t. Densities compute its product
// themselves, networks by a backward pass. For other models it is that of Gaussian windows.
type guide struct {
	energy.Denoiser[float32]
	set    *series.System
	weight float64 // ρ
	prior  *posterior
}

// Denoise stores the guided predictions in v; it implements [energy.Denoiser].
func (g guide) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if err := g.Denoiser.Denoise(ctx, v, q); err != nil {
		return err
	}
	slope := make([]float32, len(v))
	n, _ := g.Shape()
	for at := 0; at < len(v); at += n {
		penalty(slope[at:at+n], v[at:at+n], g.set)
	}
	move := make([]float32, len(v))
	if err := g.covariance(ctx, move, slope, q); err != nil {
		return err
	}
	for i, d := range move {
		v[i] -= float32(g.weight * float64(d))
	}
	return nil
}

// covariance stores in dst the products of the vectors in rows, one per state, with the posterior
// covariance of the window given the state.
func (g guide) covariance(ctx context.Context, dst, rows []float32, q energy.Noised[float32]) error {
	model := g.Denoiser
	n, _ := model.Shape()
	if d, ok := energy.As[denoise.Differentiable](model); ok {
		if err := d.Pullback(ctx, make([]float32, len(rows)), dst, rows, q); err != nil {
			return err
		}
		for i := range dst {
			a := q.Alpha[i/n]
			if !(a > 0) {
				return fmt.Errorf("guidance of a network at ᾱ = %v, want > 0: a window of pure noise has no gradient", a)
			}
			dst[i] *= float32((1 - a) / math.Sqrt(a))
		}
		return nil
	}
	d, ok := energy.As[twisted.Posterior](model)
	mean, product, row := make([]float64, n), make([]float64, n), make([]float64, n)
	for s, a := range q.Alpha {
		for i, v := range rows[s*n : (s+1)*n] {
			row[i] = float64(v)
		}
		if !ok {
			g.prior.apply(product, row, a)
		} else if _, err := d.Moments(mean, product, row, q.X[s*n:(s+1)*n], a); err != nil {
			return err
		}
		for i, v := range product {
			dst[s*n+i] = float32(v)
		}
	}
	return nil
}

// hints is the number of channels that tell a network of Loss-DiffTime about the limits of one
// channel of a window.
const hints = 5

// hint stores the features of a window that its limits fix in the channels that follow the n
// channels of the window, in rows of n·(1+hints) entries. For each channel they are the mean, the
// change from the first to the last row, 1 and −1 in the rows of the maximum and the minimum, and
// numbers that are given with 1 to mark them. Features that are not chosen are 0.
func (p *problem) hint(rows, x []float32, hidden []bool) {
	n, all := p.channels(), p.channels()*(1+hints)
	one := make([]float64, p.length)
	for c := range n {
		for t := range one {
			one[t] = float64(x[t*n+c])
		}
		at := func(t, k int) *float32 { return &rows[t*all+n+c*hints+k] }
		know := func(t int) { *at(t, 3), *at(t, 4) = float32(one[t]), 1 }
		for t := range one {
			if p.impute && !hidden[t*n+c] {
				know(t)
			}
		}
		if p.impute {
			continue
		}
		top, bottom := extreme(one, 1), extreme(one, -1)
		for _, name := range p.features {
			switch name {
			case "mean", "change":
				k, v := 0, mean(one)
				if name == "change" {
					k, v = 1, one[p.length-1]-one[0]
				}
				for t := range one {
					*at(t, k) = float32(v)
				}
			case "argmax":
				*at(top, 2) = 1
			case "argmin":
				*at(bottom, 2) = -1
			case "extremes":
				know(top)
				know(bottom)
			case "values":
				know(0)
				know(p.length / 2)
				know(p.length - 1)
			}
		}
	}
}

// informed is the objective of Loss-DiffTime (Coletta et al. 2023): flow matching given hints, with
// the penalty ρ·f(x̂_0) of the window's limits added to the squared error of an entry.
type informed struct {
	train.Flow
	n, all int              // channels of a window, and with the hints
	sets   []*series.System // limits of the training windows
	weight float64          // ρ
}

// String returns what a checkpoint stores.
func (o informed) String() string {
	return fmt.Sprintf("informed flow, %d of %d channels, weight %v", o.n, o.all, o.weight)
}

// Corrupt adds noise to the window but not to the hints; it implements [train.RealObjective].
func (o informed) Corrupt(x, target, clean []float32, u float64, r *rand.Rand) float64 {
	level := o.Flow.Corrupt(x, target, clean, u, r)
	for i := range x {
		if i%o.all >= o.n {
			x[i], target[i] = clean[i], 0
		}
	}
	return level
}

// Loss implements [train.RealLoss]. The outputs at hints do not count.
func (o informed) Loss(d, y, target, x []float32, level float64, row int) (loss float64) {
	s := level / 1000
	sites := float64(len(y) / o.all * o.n)
	var window []float32
	for i, v := range y {
		if i%o.all < o.n {
			window = append(window, float32(float64(x[i])-s*float64(v)))
		}
	}
	slope := make([]float32, len(window))
	loss = o.weight * penalty(slope, window, o.sets[row])
	for i, v := range y {
		d[i] = 0
		if i%o.all < o.n {
			e := float64(v) - float64(target[i])
			loss += e * e / sites
			d[i] = float32(2*e/sites - o.weight*s*float64(slope[i/o.all*o.n+i%o.all]))
		}
	}
	return loss
}

// lossDiffTime trains a network with the hints and the limits of the training windows. It returns a
// function from the number of a held-out window to the denoiser with the hints of that window.
func (p *problem) lossDiffTime(ctx context.Context, o options, l *lesson) (func(i int) energy.Denoiser[float32], error) {
	n, all := p.channels(), p.channels()*(1+hints)
	objective := informed{n: n, all: all, weight: o.weight}
	var data []float32
	r := rand.New(rand.NewPCG(o.seed, 44))
	for k := range len(p.training) / p.sites() {
		x := p.window(p.training, k)
		hidden := p.mask(o.hide, r)
		var channels [][]float64
		for c := range n {
			channels = append(channels, p.raw(x, c))
		}
		set, err := p.limitsOf(channels, hidden)
		if err != nil {
			return nil, fmt.Errorf("training window %d: %w", k, err)
		}
		objective.sets = append(objective.sets, set)
		data = append(data, p.hinted(x, hidden)...)
	}
	shape := neural.Config{Length: p.length, Channels: all, Width: width, Heads: heads, Blocks: blocks, Cond: width, Positions: true}
	net, err := p.fit(ctx, o, "train-loss-difftime", shape, objective, data, l)
	if err != nil {
		return nil, err
	}
	reals, err := neural.NewReals(net, neural.Options{})
	if err != nil {
		return nil, err
	}
	return func(i int) energy.Denoiser[float32] {
		return hinting{denoise.Velocity{Denoiser: reals}, n, all, p.hinted(p.window(p.held, i), p.hidden(i))}
	}, nil
}

// hinted returns a window with its hints.
func (p *problem) hinted(x []float32, hidden []bool) []float32 {
	n, all := p.channels(), p.channels()*(1+hints)
	rows := make([]float32, p.length*all)
	p.hint(rows, x, hidden)
	widen(rows, x, n, all)
	return rows
}

// widen copies rows of n entries to the beginnings of rows of all entries.
func widen(dst, x []float32, n, all int) {
	for t := range len(x) / n {
		copy(dst[t*all:], x[t*n:(t+1)*n])
	}
}

// gather is the inverse of widen.
func gather(dst, x []float32, n, all int) {
	for t := range len(dst) / n {
		copy(dst[t*n:(t+1)*n], x[t*all:])
	}
}

// hinting is a denoiser of windows by a network that also receives hints.
type hinting struct {
	net    energy.Denoiser[float32]
	n, all int
	rows   []float32 // a window with hints; noisy windows take the place of the window
}

// Shape returns the number of entries of a window, and 1.
func (d hinting) Shape() (sites, levels int) { return len(d.rows) / d.all * d.n, 1 }

// Denoise stores predictions of the clean windows in v; it implements [energy.Denoiser].
func (d hinting) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	sites, _ := d.Shape()
	wide := len(d.rows)
	count := q.States(sites)
	x, y, clean := make([]float32, count*wide), make([]float32, count*wide), make([]bool, count*wide)
	for i := range clean {
		clean[i] = i%d.all >= d.n || q.Clean != nil && q.Clean[i/d.all*d.n+i%d.all]
	}
	for s := range count {
		copy(x[s*wide:], d.rows)
	}
	widen(x, q.X, d.n, d.all)
	q.X, q.Clean = x, clean
	if err := d.net.Denoise(ctx, y, q); err != nil {
		return err
	}
	gather(v, y, d.n, d.all)
	return nil
}
