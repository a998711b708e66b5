package read

import (
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// UAI reads a graphical model in the format of the UAI inference competitions:
//
//	MARKOV
//	n
//	k_0 … k_{n−1}
//	m
//	s i_1 … i_s                     (m scopes)
//	t φ(0,…,0) φ(0,…,1) …           (m tables of t = k_{i_1}⋯k_{i_s} values)
//
// There are n variables, numbered from 0, and variable i has k_i values. Each of the m scopes lists
// the s variables of a table φ of t values; the last variable varies fastest. The energy is minus
// the logarithm of the product of the tables,
//
//	E(x) = −Σ_c log φ_c(x_c),
//
// where x_c holds the values of the variables in scope c. A table entry of 0 forbids x_c. A scope
// may be empty. A file whose first line is "BAYES" is read in the same way. Evidence is in separate
// files (see [Evidence]). Lines may be broken anywhere; lines that start with c, # or % are
// comments.
//
// All sites of the model have the levels 0 … max k − 1. Levels that a variable does not have get
// energy +Inf, and the model's Repair replaces them. Repair does not change states that only tables
// forbid. If there are such states, pass allowed initial states as Config.Init. The model is
// [energy.Conditional], [energy.Graphical], [energy.Factored] and [energy.Supported]. It is
// immutable and safe for concurrent use.
//
// Errors name the line, the column and what was expected. If n·max k, the number of levels of all
// sites, exceeds 2²⁰, the text must have at least one word for every 64 levels.
func UAI(r io.Reader) (energy.Model, error) {
	w := newWords("UAI", r)
	kind, err := w.next("MARKOV or BAYES")
	if err != nil {
		return nil, err
	}
	if kind != "MARKOV" && kind != "BAYES" {
		return nil, w.errorf("%s, want MARKOV or BAYES", brief(kind))
	}
	n, err := w.integer("n", 1, math.MaxInt32-1)
	if err != nil {
		return nil, err
	}
	m := &network{}
	for range n {
		k, err := w.integer("a number of values", 1, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		m.cards = append(m.cards, int32(k))
		m.levels = max(m.levels, k)
	}
	count, err := w.integer("m", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	for range count {
		f, _, err := w.scope(m.cards)
		if err != nil {
			return nil, err
		}
		m.factors = append(m.factors, f)
	}
	for k := range m.factors {
		if err := w.table(&m.factors[k], k); err != nil {
			return nil, err
		}
	}
	if extra, err := w.next(""); err == nil {
		return nil, w.errorf("%s after the last table, want the end", brief(extra))
	} else if w.failed {
		return nil, err
	}
	if err := m.fits("UAI", w.count); err != nil {
		return nil, err
	}
	m.link()
	return m, nil
}

// fits returns an error if a file with the given number of words would need much more memory than
// its length justifies.
func (m *network) fits(caller string, words int) error {
	n := len(m.cards)
	if cells := float64(n) * float64(m.levels); cells > freeSites && cells > 64*float64(words) {
		return fmt.Errorf("read: %s: %d sites of %d levels in a file of %d words, want n·levels ≤ %d or ≤ 64 per word", caller, n, m.levels, words, freeSites)
	}
	return nil
}

// scope reads the variables of a factor. all lists them; the sites of f are those with more than
// one value.
func (w *words) scope(cards []int32) (f factor, all []int32, err error) {
	size, err := w.integer("the size of a scope", 0, len(cards))
	if err != nil {
		return factor{}, nil, err
	}
	seen := map[int32]bool{}
	for range size {
		i, err := w.integer("a variable", 0, len(cards)-1)
		if err != nil {
			return f, nil, err
		}
		if seen[int32(i)] {
			return f, nil, w.errorf("variable %d a second time in a scope", i)
		}
		seen[int32(i)] = true
		all = append(all, int32(i))
	}
	f, ok := newFactor(cards, all)
	if !ok {
		return f, nil, w.errorf("a table of more than %d values", math.MaxInt32)
	}
	return f, all, nil
}

// newFactor returns a factor over variables, without energies. ok is false if its table would be
// too large.
func newFactor(cards, variables []int32) (f factor, ok bool) {
	f.values = 1
	for _, i := range variables {
		if cards[i] == 1 {
			// A variable with one value does not affect the table; a table of one value may have
			// any number of them.
			continue
		}
		f.sites = append(f.sites, i)
		if f.values > math.MaxInt32/int(cards[i]) {
			return f, false
		}
		f.values *= int(cards[i])
	}
	f.strides = make([]int, len(f.sites))
	stride := 1
	for k := len(f.sites) - 1; k >= 0; k-- {
		f.strides[k] = stride
		stride *= int(cards[f.sites[k]])
	}
	return f, true
}

// table reads the values of factor k and stores in f their energies.
func (w *words) table(f *factor, k int) error {
	size, err := w.integer("the size of a table", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	if size != f.values {
		return w.errorf("%d values in table %d, want %d, the product over its scope", size, k, f.values)
	}
	possible := false
	for range size { // appending bounds memory by the length of the text instead of the stated size
		phi, err := w.real("φ")
		if err != nil {
			return err
		}
		if phi < 0 {
			return w.errorf("φ = %v, want ≥ 0", phi)
		}
		possible = possible || phi > 0
		e := math.Inf(1)
		if phi > 0 {
			e = -simd.Log(phi)
		}
		f.energy = append(f.energy, e)
	}
	if !possible {
		return w.errorf("table %d is 0 throughout, want a state with probability", k)
	}
	return nil
}
