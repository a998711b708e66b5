package dual

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
)

// enumerated is the number of states evaluated at once.
const enumerated = 1 << 10

// states returns levels^sites, or −1 if that exceeds the limit.
func states(sites, levels, limit int) int {
	n := 1
	for range sites {
		if levels == 1 {
			break
		}
		if n > limit/levels {
			return -1
		}
		n *= levels
	}
	return n
}

// each calls f with f0 and g of every state, site 0 being the fastest digit. It
// returns an error of f, of the context, or for a NaN.
func (l *Lagrangian) each(ctx context.Context, f func(f0 float64, g []float64) error) error {
	n := states(l.sites, l.levels, math.MaxInt/2)
	m := len(l.lambda)
	x := make([]int32, enumerated*l.sites)
	e := make([]float64, enumerated)
	g := make([]float64, enumerated*m)
	for from := 0; from < n; from += enumerated {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(enumerated, n-from)
		for s := range k {
			for i, v := 0, from+s; i < l.sites; i, v = i+1, v/l.levels {
				x[s*l.sites+i] = int32(v % l.levels)
			}
		}
		l.parts[0].Energy(e[:k], x[:k*l.sites])
		l.Violation(g[:k*m], x[:k*l.sites])
		for s := range k {
			row := g[s*m : (s+1)*m]
			bad := math.IsNaN(e[s]) || math.IsInf(e[s], -1)
			for _, v := range row {
				bad = bad || math.IsNaN(v) || math.IsInf(v, 0) && !math.IsInf(e[s], 1)
			}
			if bad {
				return fmt.Errorf("dual: state %v has energy %v and violations %v, want finite numbers", x[s*l.sites:(s+1)*l.sites], e[s], row)
			}
			if err := f(e[s], row); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tabulate returns the probabilities of all states of a small model, site 0
// being the fastest digit, and log Z: the laws that [NewUnlearning] wants. It
// returns an error for more than 2²² states, an energy that is NaN or −Inf, or
// a model without support.
func Tabulate(ctx context.Context, m energy.Model) (p []float64, logZ float64, err error) {
	if err := checkBase("Tabulate", "m", m); err != nil {
		return nil, 0, err
	}
	w := newWeighted(m)
	n := states(w.sites, w.levels, maxStates)
	if n < 0 {
		return nil, 0, fmt.Errorf("dual: Tabulate: %d sites of %d levels have more than %d states", w.sites, w.levels, maxStates)
	}
	p = make([]float64, 0, n)
	top := math.Inf(-1)
	l := &Lagrangian{weighted: w, set: Bounds{}}
	err = l.each(ctx, func(f0 float64, _ []float64) error {
		p = append(p, -f0)
		top = max(top, -f0)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	if math.IsInf(top, -1) {
		return nil, 0, fmt.Errorf("dual: Tabulate: every state has energy +Inf")
	}
	return p, normalize(p), nil
}
