package dual

import (
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Margin returns min_x uᵀg(x), where u_j ≥ 0 for inequalities. If the inequalities are sums
// over sites, the result is a lower bound: the minimum over the support of the base, or
// over the language of [Lagrangian.Within]. Otherwise, if the base has at most 2²² states,
// it is the minimum over states in both. Otherwise ok is false. A positive margin proves
// that no distribution satisfies the constraints.
//
// It returns an error if an evaluation gives NaN or the context ends.
func (l *Lagrangian) Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error) {
	check.Len("dual", "u", len(u), len(l.lambda))
	if low, total, ok := l.separable(u); ok {
		margin, err = l.cheapest(low, total)
		return margin, err == nil && check.Finite(margin), err
	}
	if countStates(l.sites, l.levels) < 0 {
		return 0, false, nil
	}
	margin = math.Inf(1)
	err = l.each(ctx, "Margin", func(_ float64, g []float64) { margin = min(margin, weighted.Dot(u, g)) })
	return margin, err == nil, err
}

// separable writes uᵀg as low + Σ_i total[i, x_i] if no model couples sites.
func (l *Lagrangian) separable(u []float64) (low float64, total []float64, ok bool) {
	total = make([]float64, l.sites*l.levels)
	for j, w := range u {
		if w == 0 {
			continue
		}
		if len(l.part[j]) == 0 {
			return 0, nil, false
		}
		low += float64(w * l.bounds[j].offset)
		for k, m := range l.bounds[j].models {
			t, ok := tableOf(m)
			if !ok {
				return 0, nil, false
			}
			scale := w * l.bounds[j].coef[k]
			low += float64(scale * t[0])
			weighted.Add(total, t[1:], scale)
		}
	}
	return low, total, true
}

// cheapest returns low plus the least sum of one entry per site, in the language
// if there is one.
func (l *Lagrangian) cheapest(low float64, total []float64) (float64, error) {
	if l.language != nil {
		least, err := trellis.NewRunner(l.language).Cheapest(make([]int32, l.sites), total)
		return low + least, err
	}
	for i := range l.sites {
		low += slices.Min(total[i*l.levels : (i+1)*l.levels])
	}
	return low, nil
}
