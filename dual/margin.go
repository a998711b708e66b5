package dual

import (
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Margin returns min_x uᵀg(x) for u ≥ 0: a lower bound on it over the support
// of the base if the inequalities are sums over sites, and the minimum over the
// support if the base has at most 2²² states. Otherwise ok is false. A positive
// margin proves that no distribution meets the constraints.
//
// Errors: those of an evaluation that gives NaN, and of the context.
func (l *Lagrangian) Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error) {
	check.Len("dual", "u", len(u), len(l.lambda))
	if margin, ok = l.separable(u); ok {
		return margin, true, nil
	}
	if countStates(l.sites, l.levels, maxStates) < 0 {
		return 0, false, nil
	}
	margin = math.Inf(1)
	err = eachState(ctx, l.Base(), l.set, func(f0 float64, g []float64) error {
		if !math.IsInf(f0, 1) {
			margin = min(margin, weighted.Dot(u, g))
		}
		return nil
	})
	return margin, err == nil, err
}

// separable minimises uᵀg site by site if no model couples sites.
func (l *Lagrangian) separable(u []float64) (float64, bool) {
	low := 0.0
	total := make([]float64, l.sites*l.levels)
	d := make([]float64, l.levels)
	e := make([]float64, 1)
	x := make([]int32, l.sites)
	for j, w := range u {
		if w == 0 {
			continue
		}
		if len(l.part[j]) == 0 {
			return 0, false
		}
		low += float64(w * l.bounds[j].Offset)
		for k, m := range l.bounds[j].Models {
			g, graphical := energy.As[energy.Graphical](m)
			c, conditional := energy.As[energy.Conditional](m)
			if !graphical || !conditional {
				return 0, false
			}
			if _, adj := g.Graph(); len(adj) > 0 {
				return 0, false
			}
			scale := w * l.bounds[j].coef(k)
			m.Energy(e, x)
			low += float64(scale * e[0])
			for i := range x {
				c.Conditional(d, i, x)
				weighted.Add(total[i*l.levels:(i+1)*l.levels], d, scale)
			}
		}
	}
	for i := range x {
		low += slices.Min(total[i*l.levels : (i+1)*l.levels])
	}
	return low, check.Finite(low)
}
