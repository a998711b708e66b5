package constraint

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Mask restricts the levels of the first sites of a sequence: x_i ∈ allowed_i for every site i that
// the mask covers. Later sites are unrestricted. A sequence may be shorter than the mask.
//
// As an [Automaton], a Mask counts sites: its state is the number of tokens read. Code that holds a
// weight for every pair of site and level should instead separate the mask from the language with
// [Split] and use [Mask.Apply].
type Mask struct {
	sites, levels int
	words         int      // number of 64-bit words per site
	bits          []uint64 // bit l of row i is set if level l is allowed at site i
}

// Masked is implemented by languages that can be split into a mask, which lists the levels allowed
// at each site, and a remaining language. [Mask] and [Intersection] are examples.
//
// Splitting makes dynamic programs faster. Code with a weight for every pair of site and level can
// apply the mask by setting weights to −Inf. The remaining language often has fewer token classes,
// and the cost grows with the number of classes.
type Masked interface {
	Automaton

	// Split returns the mask of the language and the rest of the language. A sequence is in the
	// language if and only if it is in the rest and the mask allows each of its tokens. The mask is
	// nil if the language has none.
	Split() (rest Automaton, mask *Mask)
}

// Split separates a language into a mask, which lists the levels allowed at each site, and the
// rest. It calls the method Split of a [Masked] language. For any other language, it returns the
// language itself and a nil mask.
func Split(a Automaton) (rest Automaton, mask *Mask) {
	check.Must("constraint: Split", "a", a)
	if m, ok := a.(Masked); ok {
		return m.Split()
	}
	return a, nil
}

// NewMask returns the mask that allows only the levels allowed[i] at site i. If allowed[i] is nil,
// site i may take any token 0…levels−1. The slices are not kept. If the arguments are invalid, the
// error is an [*ArgumentError]. If a list of levels is empty but not nil, it wraps [ErrInfeasible].
func NewMask(levels int, allowed [][]int32) (*Mask, error) {
	if levels < 1 {
		return nil, &ArgumentError{"NewMask", "levels", levels, "≥ 1"}
	}
	if levels > math.MaxInt32 {
		return nil, &ArgumentError{"NewMask", "levels", levels, "< 2³¹"}
	}
	m := &Mask{sites: len(allowed), levels: levels, words: (levels + 63) / 64}
	m.bits = make([]uint64, m.sites*m.words)
	for i, row := range allowed {
		if row == nil {
			for l := range levels {
				m.allow(i, l)
			}
			continue
		}
		if len(row) == 0 {
			return nil, infeasible("NewMask: site %d is allowed no level", i)
		}
		for _, l := range row {
			if l < 0 || int(l) >= levels {
				return nil, &ArgumentError{"NewMask", fmt.Sprintf("a level of site %d", i), l, fmt.Sprintf("0…%d", levels-1)}
			}
			m.allow(i, int(l))
		}
	}
	return m, nil
}

func (m *Mask) allow(site, level int) { m.bits[site*m.words+level/64] |= 1 << (level % 64) }

// Shape returns the number of sites that the mask covers and the number of levels.
func (m *Mask) Shape() (sites, levels int) { return m.sites, m.levels }

// Allows reports whether the mask allows token at site.
func (m *Mask) Allows(site int, token int32) bool {
	if site >= m.sites {
		return true
	}
	if site < 0 {
		panic(fmt.Sprintf("constraint: Mask.Allows: site = %d, want ≥ 0", site))
	}
	if uint(token) >= uint(m.levels) {
		return false
	}
	return m.bits[site*m.words+int(token)/64]>>(uint(token)%64)&1 != 0
}

// Apply stores −Inf in the log-weights w[i·levels + l] of every level l that the mask forbids at
// site i, and does not change the others. It panics unless len(w) is a multiple of levels.
func (m *Mask) Apply(w []float32) {
	if len(w)%m.levels != 0 {
		panic(fmt.Sprintf("constraint: len(w) = %d, want a multiple of %d", len(w), m.levels))
	}
	never := float32(math.Inf(-1))
	for i := range min(m.sites, len(w)/m.levels) {
		row := w[i*m.levels : (i+1)*m.levels]
		for l := range row {
			if m.bits[i*m.words+l/64]>>(uint(l)%64)&1 == 0 {
				row[l] = never
			}
		}
	}
}

// Split returns m as the mask and [Any] as the rest, because m has no further constraints. It
// implements [Masked].
func (m *Mask) Split() (rest Automaton, mask *Mask) { return Any{}, m }

// States returns one more than the number of sites that the mask covers.
func (m *Mask) States() int { return m.sites + 1 }

// Start returns 0, which is the index of the first site.
func (m *Mask) Start() int { return 0 }

// Next returns the index of the next site. The argument state is the index of the current site.
// Next returns −1 (dead) if the mask does not allow token at the current site. Sites beyond the
// mask share one state.
func (m *Mask) Next(state int, token int32) int {
	if !m.Allows(state, token) {
		return -1
	}
	return min(state+1, m.sites)
}

// Accepting returns true: a mask does not restrict the length.
func (m *Mask) Accepting(int) bool { return true }

// Classes puts levels that are allowed at the same sites into one class. It implements [Classed].
func (m *Mask) Classes(levels int) (of []int32, n int) {
	column := make([]byte, m.sites)
	return automata.ClassesBy(levels, func(t int32) string {
		for i := range column {
			column[i] = 0
			if m.Allows(i, t) {
				column[i] = 1
			}
		}
		return string(column)
	})
}

// and returns the mask that allows a level only if both m and o allow it. A nil mask allows
// everything.
func (m *Mask) and(o *Mask) *Mask {
	if m == nil {
		return o
	}
	if o == nil {
		return m
	}
	r := &Mask{sites: max(m.sites, o.sites), levels: max(m.levels, o.levels)}
	r.words = (r.levels + 63) / 64
	r.bits = make([]uint64, r.sites*r.words)
	for i := range r.sites {
		for l := range r.levels {
			if m.Allows(i, int32(l)) && o.Allows(i, int32(l)) {
				r.allow(i, l)
			}
		}
	}
	return r
}
