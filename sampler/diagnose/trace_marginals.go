package diagnose

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Marginals holds the frequency of each level at every site. The frequencies estimate the
// probabilities p(x_i = l), not their logarithms.
type Marginals struct {
	Sites, Levels int
	Draws         int       // of all chains together
	P             []float64 // sites × levels: frequency of the level at the site

	// SE is the standard error of P, estimated from the variation between chains, √(Var_c(mean of
	// chain c)/chains), which is valid whatever the autocorrelation; nil for a single chain. If no
	// draw had a level, or every draw had it, its SE is 0, which proves nothing.
	SE []float64
}

// At returns the frequency of a level at a site and its standard error, NaN for a single chain. It
// panics if there is no such site or level.
func (m Marginals) At(site, level int) (p, se float64) {
	if site < 0 || site >= m.Sites || level < 0 || level >= m.Levels {
		panic(fmt.Sprintf("diagnose: Marginals: site = %d, level = %d, want < %d and < %d", site, level, m.Sites, m.Levels))
	}
	i := site*m.Levels + level
	check.Len("diagnose", "Marginals.P", len(m.P), m.Sites*m.Levels)
	if m.SE == nil {
		return m.P[i], math.NaN()
	}
	check.Len("diagnose", "Marginals.SE", len(m.SE), len(m.P))
	return m.P[i], m.SE[i]
}

// KeepMarginals makes t count the levels of every site, in 8 bytes per chain, site and level,
// streaming or not. Observe then panics on a level outside 0…levels−1. KeepMarginals returns t, and
// panics if levels < 1 or after the first draw.
func (t *Trace) KeepMarginals(levels int) *Trace {
	t.early("KeepMarginals")
	if levels < 1 {
		panic(fmt.Sprintf("diagnose: KeepMarginals: levels = %d, want ≥ 1", levels))
	}
	t.levels = levels
	return t
}

// Marginals returns the frequencies of levels so far. It is an error if the frequencies were not
// kept ([Trace.KeepMarginals]), there are no draws (ErrTooFew), or chains differ in their number of
// sites.
func (t *Trace) Marginals() (Marginals, error) {
	if t.levels == 0 {
		return Marginals{}, errNotKept("Marginals", "KeepMarginals")
	}
	records := t.records()
	if len(records) == 0 {
		return Marginals{}, fmt.Errorf("diagnose: Marginals: %w", ErrTooFew)
	}
	m := Marginals{Sites: records[0].sites, Levels: t.levels}
	size := m.Sites * m.Levels
	m.P = make([]float64, size)
	for c, r := range records {
		if r.sites != m.Sites {
			return Marginals{}, fmt.Errorf("diagnose: Marginals: chain %d has %d sites, want %d as the first", r.chain, r.sites, m.Sites)
		}
		m.Draws += r.draws
		for i, n := range r.counts {
			m.P[i] += (float64(n)/float64(r.draws) - m.P[i]) / float64(c+1)
		}
	}
	if len(records) == 1 {
		return m, nil
	}
	m.SE = make([]float64, size)
	n := float64(len(records))
	for i, mean := range m.P {
		sum := 0.0
		for _, r := range records {
			d := float64(r.counts[i])/float64(r.draws) - mean
			sum += d * d
		}
		m.SE[i] = math.Sqrt(sum / (n - 1) / n)
	}
	return m, nil
}
