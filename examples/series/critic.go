package main

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/gibbsite-go/gibbsite/projection/proximal"
)

// Settings of the critic.
const (
	criticReal   = 500 // maximum number of training windows that the critic compares with
	criticSmooth = 20  // mean distance over the entropic regularisation ε
	criticRounds = 200 // Sinkhorn iterations
	criticSteps  = 5   // projected steps of ascent
)

// critic is a Wasserstein critic of windows, the dual potential of the entropic optimal
// transport from samples to training windows y_j with the cost ‖x − y‖:
//
//	f(x) = −ε·log Σ_j exp((g_j − ‖x − y_j‖)/ε)
//
// is the cost of x, so that −f is largest where samples are rare. It has Lipschitz constant 1
// like the network of Coletta et al. 2023, which approximates the same function (ε = 0), and
// is found by Sinkhorn's iteration instead of training.
type critic struct {
	y     [][]float32
	g     []float64
	eps   float64
	apart float64 // mean cost of the transport
}

// newCritic fits the critic to samples x.
func newCritic(p *problem, x []float32) *critic {
	n := p.sites()
	c := &critic{}
	all := len(p.training) / n
	for k := range min(criticReal, all) {
		c.y = append(c.y, p.window(p.training, k*all/min(criticReal, all)))
	}
	count := len(x) / n
	cost := make([]float64, count*len(c.y))
	total := 0.0
	for i := range count {
		for j, y := range c.y {
			cost[i*len(c.y)+j] = apart(x[i*n:(i+1)*n], y)
			total += cost[i*len(c.y)+j]
		}
	}
	c.eps = max(total/float64(len(cost))/criticSmooth, 1e-9)
	c.g = make([]float64, len(c.y))
	f, row := make([]float64, count), make([]float64, len(c.y))
	column := make([]float64, count)
	for range criticRounds {
		for i := range f {
			for j := range row {
				row[j] = (c.g[j] - cost[i*len(row)+j]) / c.eps
			}
			f[i] = -c.eps * logMean(row)
		}
		for j := range c.g {
			for i := range column {
				column[i] = (f[i] - cost[i*len(row)+j]) / c.eps
			}
			c.g[j] = -c.eps * logMean(column)
		}
	}
	weights := make([]float64, len(c.y))
	for i := range count {
		c.weights(weights, cost[i*len(weights):(i+1)*len(weights)])
		for j, w := range weights {
			c.apart += w * cost[i*len(weights)+j] / float64(count)
		}
	}
	return c
}

// logMean returns log of the mean of exp(v).
func logMean(v []float64) float64 { return floats.LogSumExp(v) - math.Log(float64(len(v))) }

// apart returns ‖x − y‖.
func apart(x, y []float32) float64 {
	sum := 0.0
	for k, v := range x {
		d := float64(v) - float64(y[k])
		sum += d * d
	}
	return math.Sqrt(sum)
}

// weights stores the transport from a window whose distances to y are cost.
func (c *critic) weights(dst, cost []float64) {
	for j := range dst {
		dst[j] = (c.g[j] - cost[j]) / c.eps
	}
	z := floats.LogSumExp(dst)
	for j, v := range dst {
		dst[j] = math.Exp(v - z)
	}
}

// descend adds −step·∇f to z. The gradient is the mean of the directions from y_j to z.
func (c *critic) descend(z []float64, step float64) {
	x, cost := make([]float32, len(z)), make([]float64, len(c.y))
	for k, v := range z {
		x[k] = float32(v)
	}
	for j, y := range c.y {
		cost[j] = apart(x, y)
	}
	w := make([]float64, len(cost))
	c.weights(w, cost)
	for j, y := range c.y {
		if !(cost[j] > 0) {
			continue
		}
		for k := range z {
			z[k] += step * w[j] * (float64(y[k]) - float64(x[k])) / cost[j]
		}
	}
}

// criticise moves the samples of a method towards lower cost by the critic, and projects them
// after every step: projected gradient ascent on the critic's score, as in COP of Coletta et al.
// 2023. All steps together are as long as the mean cost of the transport, the distance between
// samples and training windows by the critic itself.
func (p *problem) criticise(ctx context.Context, out *outcome) error {
	c, n := newCritic(p, out.x), p.sites()
	v, z := make([]float64, n), make([]float64, n)
	for i, set := range p.sets {
		if err := ctx.Err(); err != nil {
			return err
		}
		solver, err := proximal.Projector{Set: set}.Compile(ctx, n)
		if err != nil {
			return err
		}
		for k := range out.samples {
			x := out.window(p, i, k)
			for j, w := range x {
				v[j] = float64(w)
			}
			for range criticSteps {
				c.descend(v, c.apart/criticSteps)
				if _, err := solver.Solve(z, v); err != nil {
					return err
				}
				copy(v, z)
			}
			for j, w := range v {
				x[j] = float32(w)
			}
		}
	}
	return nil
}
