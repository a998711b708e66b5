package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Markov is a Markov chain of order k: each token depends on the k tokens before it,
//
//	E(x) = −log p(x),  p(x) = start(x_0 … x_{k−1}) Π_{i≥k} trans(x_{i−k} … x_{i−1}; x_i).
//
// The model is normalised: Σ_x e^{−E(x)} = 1. It is [energy.Differentiable] with exact differences
// (rounded to float32), [energy.Conditional], [energy.Graphical] (sites at distance ≤ k interact),
// [energy.Factored], [energy.Learnable] and [energy.Supported]. A Markov is immutable and safe for
// concurrent use. After the first calls, its methods except Repair allocate nothing.
type Markov struct {
	sites, levels, order int
	start                []float64 // −log of the start probabilities
	trans                []float64 // −log of the transition probabilities
	pow                  []int     // powers levels^j, j = 0 … order
	from, adj            []int32   // neighbours of each site in compressed rows
}

// NewMarkov returns the chain with the given tables of probabilities. Its states have the given
// number of sites. The context of a token consists of the k = order ≥ 0 tokens before it, and the
// token depends only on its context. The context y_0 … y_{k−1} has the number
//
//	c = Σ_j y_j·levels^{k−1−j},
//
// so the most recent token varies fastest. The tables are
//
//	start[c] = p(x_0 … x_{k−1} = y),             levels^k entries,
//	trans[c·levels + l] = p(x_i = l | context c), levels^{k+1} entries.
//
// With order 1, start is the distribution of the first token, and trans is the usual row-stochastic
// matrix. With order 0, start is {1} or nil. If an entry is zero, states that use it have energy
// +Inf. The tables are copied and not normalised.
//
// NewMarkov returns an error in these cases:
//
//   - sites < max(1, order), levels < 1, order < 0, or a length does not fit;
//   - an entry is negative or NaN;
//   - start or a row of trans does not sum to 1 within 1e-6.
func NewMarkov(sites, levels, order int, start, trans []float64) (*Markov, error) {
	m, err := newMarkov("NewMarkov", sites, levels, order, len(trans))
	if err != nil {
		return nil, err
	}
	if order == 0 && start == nil {
		start = []float64{1}
	}
	if len(start) != m.pow[order] {
		return nil, fmt.Errorf("model: NewMarkov: len(start) = %d, want levels^order = %d", len(start), m.pow[order])
	}
	if len(trans) != m.pow[order]*levels {
		return nil, fmt.Errorf("model: NewMarkov: len(trans) = %d, want levels^(order+1) = %d", len(trans), m.pow[order]*levels)
	}
	if err := m.take(slices.Clone(start), slices.Clone(trans)); err != nil {
		return nil, err
	}
	return m, nil
}

// take converts start and trans to costs −log p in place and stores them in the chain. It returns
// an error if a row is not a probability distribution.
func (m *Markov) take(start, trans []float64) (err error) {
	if m.start, err = costs("start", start, len(start)); err == nil {
		m.trans, err = costs("trans", trans, m.levels)
	}
	return err
}

// newMarkov returns a chain without tables. It returns an error if its shape is invalid or
// levels^(order+1) exceeds most.
func newMarkov(caller string, sites, levels, order, most int) (*Markov, error) {
	switch {
	case levels < 1:
		return nil, fmt.Errorf("model: %s: levels = %d, want ≥ 1", caller, levels)
	case order < 0:
		return nil, fmt.Errorf("model: %s: order = %d, want ≥ 0", caller, order)
	case sites < max(1, order):
		return nil, fmt.Errorf("model: %s: sites = %d, want ≥ %d", caller, sites, max(1, order))
	}
	m := &Markov{sites: sites, levels: levels, order: order, pow: []int{1}}
	if err := check.Entries("model: "+caller, "sites", sites); err != nil {
		return nil, err
	}
	for j := range order + 1 {
		n := m.pow[j]
		if n > most/levels {
			return nil, fmt.Errorf("model: %s: a table of %d^%d entries, want ≤ %d", caller, levels, order+1, most)
		}
		if j < order {
			m.pow = append(m.pow, n*levels)
		}
	}
	if float64(sites)*2*float64(order) > math.MaxInt32 {
		return nil, fmt.Errorf("model: %s: sites·order = %d·%d, want ≤ %d", caller, sites, order, math.MaxInt32/2)
	}
	m.from = make([]int32, sites+1)
	m.adj = make([]int32, 0, 2*order*sites)
	for i := range sites {
		for j := max(0, i-order); j <= min(sites-1, i+order); j++ {
			if j != i {
				m.adj = append(m.adj, int32(j))
			}
		}
		m.from[i+1] = int32(len(m.adj))
	}
	return m, nil
}

// costs replaces the probabilities p by −log p. It returns an error if a row of the given length is
// not a probability distribution.
func costs(name string, p []float64, length int) ([]float64, error) {
	if err := check.Probabilities("model", "NewMarkov", name, p, length); err != nil {
		return nil, err
	}
	for k, v := range p {
		p[k] = 0 - simd.Log(v) // subtracting from 0 avoids −0
	}
	return p, nil
}

// Shape returns the number of sites and of levels.
func (m *Markov) Shape() (sites, levels int) { return m.sites, m.levels }

// Order returns the order k of the chain: a token depends on the k tokens before it.
func (m *Markov) Order() int { return m.order }

// Probabilities returns copies of the tables of start and transition probabilities, in the layout
// of [NewMarkov]. The entries are computed from logarithms and so have rounding errors.
func (m *Markov) Probabilities() (start, trans []float64) {
	return expNeg(m.start), expNeg(m.trans)
}

// expNeg returns e^{−c} for each entry of c.
func expNeg(c []float64) []float64 {
	p := make([]float64, len(c))
	for i, v := range c {
		p[i] = simd.Exp(-v)
	}
	return p
}

// LogProb returns log p(x) of one state, or −Inf if it is impossible. It panics unless len(x) is
// the number of sites.
func (m *Markov) LogProb(x []int32) float64 {
	defer check.States("model", x, m.levels)
	check.Len("model", "x", len(x), m.sites)
	return 0 - m.cost(x)
}

// Energy stores in e the energy −log p(x) of every state; it implements [energy.Model].
func (m *Markov) Energy(e []float64, x []int32) {
	defer check.States("model", x, m.levels)
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), m.sites))
	for s := range e {
		e[s] = m.cost(x[s*m.sites : (s+1)*m.sites])
	}
}

// cost returns E(x) of one state.
func (m *Markov) cost(x []int32) float64 {
	c := 0
	for _, v := range x[:m.order] {
		c = c*m.levels + int(v)
	}
	e := m.start[c]
	for _, v := range x[m.order:] {
		f := c*m.levels + int(v)
		e += m.trans[f]
		c = f % m.pow[m.order]
	}
	return e
}

// Conditional stores in d the exact energy at each level of one site, minus the energy of the state
// x. It implements [energy.Conditional].
func (m *Markov) Conditional(d []float64, site int, x []int32) {
	check.Index("model", "site", site, len(x))
	defer check.States("model", x, m.levels)
	check.Len("model", "d", len(d), m.levels)
	check.Len("model", "x", len(x), m.sites)
	m.terms(d, site, x)
	e := d[x[site]]
	for l := range d {
		d[l] -= e
	}
	d[x[site]] = 0 // even if the difference was Inf − Inf = NaN
}

// Gradient stores the energies in e. The slice g receives the exact energy differences of all
// single-site changes. It implements [energy.Differentiable].
func (m *Markov) Gradient(e []float64, g []float32, x []int32) {
	defer check.States("model", x, m.levels)
	m.Energy(e, x)
	check.Len("model", "g", len(g), len(x)*m.levels)
	b := scratch.Float64s.Get(m.levels)
	defer scratch.Float64s.Put(b)
	for s := range e {
		state := x[s*m.sites : (s+1)*m.sites]
		for i := range state {
			m.Conditional(*b, i, state)
			for l, d := range *b {
				g[l] = float32(d)
			}
			g = g[m.levels:]
		}
	}
}

// Graph returns the neighbours of each site. These are the sites at distance ≤ k, where k is the
// order of the chain. Graph implements [energy.Graphical].
func (m *Markov) Graph() (start, adj []int32) { return m.from, m.adj }

// Factors returns the table of −log p(x_0 … x_{k−1}) for the first k sites, where k is the order of
// the chain. For each later site, it returns the table of −log p(x_i | the k tokens before it). It
// implements [energy.Factored].
func (m *Markov) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	all := make([]int32, m.sites)
	for i := range all {
		all[i] = int32(i)
	}
	scopes, tables = append(scopes, all[:m.order]), append(tables, m.start)
	for i := m.order; i < m.sites; i++ {
		scopes, tables = append(scopes, all[i-m.order:i+1]), append(tables, m.trans)
	}
	return slices.Repeat([]int32{int32(m.levels)}, m.sites), scopes, tables, true
}

// terms stores in d[l] the sum of those terms of E(x with x_site = l) that depend on x_site.
func (m *Markov) terms(d []float64, site int, x []int32) {
	clear(d)
	// Indices are computed with level 0 at the site; its digit is then stepped through the levels
	// l.
	digit := func(i int) int {
		if i == site {
			return 0
		}
		return int(x[i])
	}
	first, c := max(site, m.order), 0
	for i := first - m.order; i < first; i++ {
		c = c*m.levels + digit(i)
	}
	if site < m.order {
		stride := m.pow[m.order-1-site]
		for l := range d {
			d[l] += m.start[c+l*stride]
		}
	}
	for i := first; i <= min(site+m.order, m.sites-1); i++ {
		f := c*m.levels + digit(i)
		stride := m.pow[i-site]
		for l := range d {
			d[l] += m.trans[f+l*stride]
		}
		c = f % m.pow[m.order]
	}
}

// maxFit is the largest number of entries of an estimated table: 1 GiB of float64.
const maxFit = 1 << 27

// maxSmoothing is the largest smoothing. Beyond it, adding 1 does not change a float64, so counts
// would be lost.
const maxSmoothing = 1 << 53

// FitMarkov estimates a chain of the given order k by counting tokens in the given sequences. A
// context is a string of k tokens. Let N(c, l) be the number of times that token l follows the
// context c. The estimate is
//
//	trans(c; l) = (N(c, l) + a) / Σ_l' (N(c, l') + a),  a = smoothing.
//
// The distribution start is estimated in the same way from the first k tokens of each sequence.
// With a = 0 the result is the maximum-likelihood estimate. A context that does not occur has a
// uniform row.
//
// States of the returned chain have the given number of sites; sequences may have other lengths.
// Sequences with fewer than k tokens are ignored.
//
// FitMarkov returns an error in these cases:
//
//   - sites < max(1, order), levels < 1 or order < 0, or the table would have more than 2²⁷
//     entries;
//   - a token is out of range, or smoothing lies outside [0, 2⁵³];
//   - smoothing is 0 and every sequence has fewer than k tokens.
func FitMarkov(sites, levels, order int, sequences [][]int32, smoothing float64) (*Markov, error) {
	m, err := newMarkov("FitMarkov", sites, levels, order, maxFit)
	if err != nil {
		return nil, err
	}
	if !(smoothing >= 0 && smoothing <= maxSmoothing) {
		return nil, fmt.Errorf("model: FitMarkov: smoothing = %v, want 0 … 2^53", smoothing)
	}
	contexts := m.pow[order]
	start, trans := make([]float64, contexts), make([]float64, contexts*levels)
	starts := 0
	for s, seq := range sequences {
		for i, v := range seq {
			if v < 0 || int(v) >= levels {
				return nil, fmt.Errorf("model: FitMarkov: sequences[%d][%d] = %d, want 0 … %d", s, i, v, levels-1)
			}
		}
		if len(seq) < order {
			continue
		}
		starts++
		count(start, trans, seq, order, levels)
	}
	if starts == 0 && smoothing == 0 {
		return nil, fmt.Errorf("model: FitMarkov: no sequence of ≥ %d tokens among %d, want one or smoothing > 0", order, len(sequences))
	}
	share(start, smoothing)
	for r := 0; r < len(trans); r += levels {
		share(trans[r:r+levels], smoothing)
	}
	if err := m.take(start, trans); err != nil {
		return nil, err
	}
	return m, nil
}

// count adds the contexts and transitions of the sequence seq to the counts in start and trans.
func count(start, trans []float64, seq []int32, order, levels int) {
	c := 0
	for _, v := range seq[:order] {
		c = c*levels + int(v)
	}
	start[c]++
	for _, v := range seq[order:] {
		f := c*levels + int(v)
		trans[f]++
		c = f % len(start)
	}
}

// share replaces each count by its share of all counts, after adding a to each count.
func share(counts []float64, a float64) {
	total := 0.0
	for _, n := range counts {
		total += n
	}
	if total+a == 0 {
		a = 1 // the limit of small a
	}
	all := total + float64(float64(len(counts))*a)
	for l, k := range counts {
		counts[l] = (k + a) / all
	}
}

// Repair changes as few tokens as possible so that each state has positive probability. Ties are
// broken from left to right in favour of smaller tokens. States of positive probability are not
// changed. For each other state, Repair takes time proportional to sites·levels^(order+1). It
// implements [energy.Supported].
func (m *Markov) Repair(x []int32) {
	defer check.States("model", x, m.levels)
	check.Rows("model", "x", len(x), m.sites)
	var least []int32
	for ; len(x) > 0; x = x[m.sites:] {
		state := x[:m.sites]
		if !math.IsInf(m.cost(state), 1) {
			continue
		}
		if least == nil {
			least = make([]int32, (m.sites-m.order+1)*m.pow[m.order])
		}
		m.changes(least, state)
		m.follow(least, state)
	}
}

// changes computes the table least for Repair. For every context of site order+r, row r holds the
// smallest number of tokens that must change from that site on.
func (m *Markov) changes(least []int32, x []int32) {
	contexts := m.pow[m.order]
	clear(least[(m.sites-m.order)*contexts:])
	for i := m.sites - 1; i >= m.order; i-- {
		now := least[(i-m.order)*contexts:]
		for c := range contexts {
			now[c], _ = m.best(least, x, i, c)
		}
	}
}

// best returns the smallest number of changes needed from site i on after context c, and the token
// at i that achieves it. There always is one, because the row of every context sums to 1.
func (m *Markov) best(least, x []int32, i, c int) (changes, token int32) {
	contexts := m.pow[m.order]
	after := least[(i+1-m.order)*contexts : (i+2-m.order)*contexts]
	changes = math.MaxInt32
	for l := range m.levels {
		f := c*m.levels + l
		if math.IsInf(m.trans[f], 1) {
			continue
		}
		n := after[f%contexts]
		if int32(l) != x[i] {
			n++
		}
		if n < changes {
			changes, token = n, int32(l)
		}
	}
	return changes, token
}

// follow replaces x by a possible state with the fewest changes, using the table least.
func (m *Markov) follow(least, x []int32) {
	at, fewest := 0, int32(math.MaxInt32)
	for c, cost := range m.start {
		if math.IsInf(cost, 1) {
			continue
		}
		n := least[c]
		for j, v := range x[:m.order] {
			if m.digit(c, j) != v {
				n++
			}
		}
		if n < fewest {
			at, fewest = c, n
		}
	}
	for j := range x[:m.order] {
		x[j] = m.digit(at, j)
	}
	for i := m.order; i < m.sites; i++ {
		_, token := m.best(least, x, i, at)
		x[i] = token
		at = (at*m.levels + int(token)) % m.pow[m.order]
	}
}

// digit returns token j of the context c.
func (m *Markov) digit(c, j int) int32 { return int32(c / m.pow[m.order-1-j] % m.levels) }
