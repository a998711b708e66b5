package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
)

// The grid has side² points on [−reach, reach]². The three Gaussians have the given deviation
// and centres. Their densities are above 1e-60 everywhere on the grid, so that nothing needs to
// be added to them. A lower bound of 1e-12 on the density would halve the cost of reverse KL,
// which depends on regions where the last Gaussian is smaller than that.
const (
	side      = 64  // grid points along each axis
	reach     = 4.0 // half the side length of the grid
	deviation = 0.5 // standard deviation of the Gaussians
)

var centres = [][2]float64{{-1.5, -1.5}, {1.5, -1.5}, {1.5, 1.5}}

// newGrid returns the problem of moving the mixture of three equal Gaussians away from the last
// one.
func newGrid() (*unlearn.Problem, error) {
	q := make([]float64, side*side)
	var last []float64
	for _, c := range centres {
		last = gaussian(c[0], c[1])
		for k, v := range last {
			q[k] += v / float64(len(centres))
		}
	}
	return unlearn.New(q, last)
}

func gaussian(cx, cy float64) []float64 {
	p := make([]float64, side*side)
	at := func(i int) float64 { return -reach + 2*reach*float64(i)/(side-1) }
	for k := range p {
		dx, dy := at(k%side)-cx, at(k/side)-cy
		p[k] = math.Exp(-(dx*dx + dy*dy) / (2 * deviation * deviation))
	}
	normalise(p)
	return p
}

func normalise(p []float64) {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for k := range p {
		p[k] /= sum
	}
}

// curve returns the trade-off of every formulation. The strings in limits describe the
// formulations that cannot reach all levels.
func curve(ctx context.Context, u *unlearn.Problem, levels []float64) (points []point, limits []string, err error) {
	for _, f := range formulations {
		some, err := u.TradeOff(ctx, levels, f)
		for _, p := range some {
			points = append(points, point{f.String(), p.Unlearned, p.KL, p.Lambda})
		}
		var out *unlearn.UnreachableError
		if errors.As(err, &out) {
			limits = append(limits, fmt.Sprintf("no distribution of %v leaves less than %.3f", f, out.Lowest))
		} else if err != nil {
			return nil, nil, err
		}
	}
	return points, limits, nil
}
