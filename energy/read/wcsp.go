package read

import (
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
)

// WCSP reads a weighted constraint satisfaction problem in the format of toulbar2 and of the Cost
// Function Library:
//
//	name n d m top
//	k_0 … k_{n−1}
//	a i_1 … i_a default t           (m cost functions, each followed by t lines)
//	v_1 … v_a cost
//
// There are n variables, numbered from 0, and variable i has the values 0 … k_i − 1. The first line
// of a cost function has the number a of its variables, the variables, the default cost and the
// number t. The next t lines give the costs of t joint values; all others have the default cost.
// The energy in nats is the sum of the costs. A cost of at least top forbids the joint value. Costs
// are numbers ≥ 0. Lines may be broken anywhere; lines that start with # are comments. Global cost
// functions, for which a is −1, are an error.
//
// The model supports the same interfaces as a model from [UAI], which also describes errors and
// memory limits. A state whose costs reach top only when added up is allowed.
func WCSP(r io.Reader) (energy.Model, error) {
	w := newWords("WCSP", r)
	w.comment = "#"
	if _, err := w.next("a name"); err != nil {
		return nil, err
	}
	var head [3]int
	for k, name := range []string{"n", "d", "m"} {
		low := 1
		if k == 2 {
			low = 0
		}
		v, err := w.integer(name, low, math.MaxInt32-1)
		if err != nil {
			return nil, err
		}
		head[k] = v
	}
	top, err := w.real("top")
	if err != nil {
		return nil, err
	}
	if top <= 0 {
		return nil, w.errorf("top = %v, want > 0", top)
	}
	m := &network{}
	for range head[0] {
		k, err := w.integer("a number of values", 1, head[1])
		if err != nil {
			return nil, err
		}
		m.cards = append(m.cards, int32(k))
		m.levels = max(m.levels, k)
	}
	entries := 0
	for range head[2] {
		f, all, err := w.scope(m.cards)
		if err != nil {
			return nil, err
		}
		if entries += f.values; entries > freeSites && entries > 64*w.count {
			return nil, w.errorf("tables of %d values up to here in %d words, want ≤ %d or ≤ 64 per word", entries, w.count, freeSites)
		}
		if err := w.costs(&f, all, m.cards, top); err != nil {
			return nil, err
		}
		m.factors = append(m.factors, f)
	}
	if extra, err := w.next(""); err == nil {
		return nil, w.errorf("%s after the last cost function, want the end", brief(extra))
	} else if w.failed {
		return nil, err
	}
	if err := m.fits("WCSP", w.count); err != nil {
		return nil, err
	}
	m.link()
	return m, nil
}

// costs reads the default cost and the listed joint values of a cost function and stores in f their
// energies.
func (w *words) costs(f *factor, all, cards []int32, top float64) error {
	cost := func(name string) (float64, error) {
		c, err := w.real(name)
		if err == nil && c < 0 {
			err = w.errorf("%s = %v, want ≥ 0", name, c)
		}
		if c >= top {
			c = math.Inf(1)
		}
		return c, err
	}
	c, err := cost("a default cost")
	if err != nil {
		return err
	}
	f.energy = make([]float64, f.values)
	for k := range f.energy {
		f.energy[k] = c
	}
	count, err := w.integer("a number of tuples", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	set := make([]bool, f.values)
	for range count {
		at, k := 0, 0
		for _, i := range all {
			v, err := w.integer("a value", 0, int(cards[i])-1)
			if err != nil {
				return err
			}
			if cards[i] > 1 {
				at += v * f.strides[k]
				k++
			}
		}
		if set[at] {
			return w.errorf("the same values a second time in a cost function")
		}
		set[at] = true
		if f.energy[at], err = cost("a cost"); err != nil {
			return err
		}
	}
	for _, e := range f.energy {
		if !math.IsInf(e, 1) {
			return nil
		}
	}
	return w.errorf("a cost function forbids everything, want a state with probability")
}
