package dual

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// enumerated is the number of states evaluated in one batch.
const enumerated = 1 << 10

// maxStates is the largest number of states that are enumerated. Enumerating this many takes about
// a second. If states are stored, each takes 8·(1 + m) bytes for m rows.
const maxStates = 1 << 22

// countStates returns levels^sites, or −1 if that exceeds maxStates.
func countStates(sites, levels int) int {
	n := 1
	for range sites {
		if levels == 1 {
			break
		}
		if n > maxStates/levels {
			return -1
		}
		n *= levels
	}
	return n
}

// eachState calls f with every state of a base model, its energy and its violations. Site 0
// varies fastest. It returns an error if the context ends, a number is NaN, an energy is −Inf, or
// there are more than maxStates states.
func eachState(ctx context.Context, who string, base energy.Model, set constraint.Set, f func(x []int32, f0 float64, g []float64)) error {
	sites, levels := base.Shape()
	n := countStates(sites, levels)
	if n < 0 {
		return fmt.Errorf("dual: %s: %d sites of %d levels have more than %d states", who, sites, levels, maxStates)
	}
	m := set.Len()
	x := make([]int32, enumerated*sites)
	e := make([]float64, enumerated)
	g := make([]float64, enumerated*m)
	for from := 0; from < n; from += enumerated {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		k := min(enumerated, n-from)
		for s := range k {
			for i, v := 0, from+s; i < sites; i, v = i+1, v/levels {
				x[s*sites+i] = int32(v % levels)
			}
		}
		base.Energy(e[:k], x[:k*sites])
		set.Violation(g[:k*m], x[:k*sites])
		for s := range k {
			row := g[s*m : (s+1)*m]
			bad := math.IsNaN(e[s]) || math.IsInf(e[s], -1)
			for _, v := range row {
				bad = bad || math.IsNaN(v) || math.IsInf(v, 0) && !math.IsInf(e[s], 1)
			}
			if bad {
				return fmt.Errorf("dual: state %v has energy %v and violations %v, want finite numbers", x[s*sites:(s+1)*sites], e[s], row)
			}
			f(x[s*sites:(s+1)*sites], e[s], row)
		}
	}
	return nil
}

// Tabulate returns the probabilities p of all states of a small model, and the logarithm of the
// model's partition function Z. Site 0 varies fastest in the order of the states. The table can be
// the input of exact unlearning (package dual/unlearn). Tabulate returns an error for more than 2²²
// states, an energy that is NaN or −Inf, or a model whose states all have energy +Inf.
func Tabulate(ctx context.Context, m energy.Model) (p []float64, logZ float64, err error) {
	if _, _, err := check.Model("dual", "Tabulate", "m", m); err != nil {
		return nil, 0, err
	}
	p = make([]float64, 0, max(0, countStates(m.Shape())))
	top := math.Inf(-1)
	err = eachState(ctx, "Tabulate", m, joined{}, func(_ []int32, f0 float64, _ []float64) {
		p = append(p, -f0)
		top = max(top, -f0)
	})
	if err != nil {
		return nil, 0, err
	}
	if math.IsInf(top, -1) {
		return nil, 0, fmt.Errorf("dual: Tabulate: every state has energy +Inf")
	}
	return p, tilt.Normalize(p), nil
}
