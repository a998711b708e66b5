package grammar

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Bounds for numbers with divisors: residues bounds the modulus up to which the allowed residues are
// listed, and alikes the modulus up to which residues that act alike are found, which takes up to
// some ten milliseconds.
const (
	residues = 1 << 17
	alikes   = 1 << 15
	// the largest number of constants for which an automaton is minimised: each state compares with all
	constants = 64
)

// united returns an automaton for the numbers that at least one of the automata accepts, with as few
// residues as distinguish these numbers. It returns nil if the automata differ in more than their
// divisors, or if there are too many residues.
func united(all []*numberAutomaton) *numberAutomaton {
	spec := all[0].numberSpec
	spec.steps = nil
	for _, a := range all {
		if !a.alike(&spec) {
			return nil
		}
		for _, x := range a.steps {
			if !slices.Contains(spec.steps, x) {
				spec.steps = append(spec.steps, x)
			}
		}
	}
	u, err := numbersOf(spec)
	if err != nil || u.modulus > residues {
		return nil
	}
	u.beyond = false
	good := make([]bool, u.modulus)
	for _, a := range all {
		u.beyond = u.beyond || a.beyond
		scale := power(u.places - a.places)
		for r := range good {
			good[r] = good[r] || a.divides(int64(r), scale)
		}
	}
	good = good[:period(good)]
	u.modulus, u.good = int64(len(good)), good
	if len(good) <= alikes {
		u.class = alikeResidues(good)
	}
	return u
}

// alike reports whether s and t differ at most in their divisors.
func (s *numberSpec) alike(t *numberSpec) bool {
	return s.integer == t.integer && s.whole == t.whole && s.plain == t.plain && s.canonical == t.canonical &&
		slices.Equal(s.bounds, t.bounds) && (s.among == nil) == (t.among == nil) && slices.Equal(s.among, t.among) && slices.Equal(s.except, t.except)
}

// period returns the least divisor p of len(x) for which x[i] = x[i+p] for all i.
func period[E comparable](x []E) int {
	p := len(x)
	for q, left := 2, p; left > 1; q++ {
		if q*q > left {
			q = left
		}
		for ; left%q == 0; left /= q {
			if d := p / q; slices.Equal(x[:p-d], x[d:p]) {
				p = d
			}
		}
	}
	return p
}

// alikeResidues returns, for every residue, the first residue that acts alike: the same digits lead
// from both to a good residue. It refines a partition of the residues until the digit that follows
// keeps its classes.
func alikeResidues(good []bool) []int32 {
	n := len(good)
	class, next := make([]int32, n+9), make([]int32, n) // the first nine follow the last ones
	for r, is := range good {
		class[r] = int32(bit(is))
	}
	after := func(r int32) []int32 { return class[10*int(r)%n:][:10] } // classes after each digit
	slots := 4
	for slots < 2*n {
		slots *= 2
	}
	first := make([]int32, slots) // 1 + the first residue of each class, by hash
	for classes := 0; ; {
		for i := n; i < len(class); i++ {
			class[i] = class[i%n]
		}
		clear(first)
		found := 0
		for r := range int32(n) {
			w := after(r)
			h := uint64(class[r])
			for _, c := range w {
				h = (h ^ uint64(c)) * 0x9E3779B97F4A7C15
				h ^= h >> 29
			}
			i := h & uint64(slots-1)
			for ; first[i] > 0; i = (i + 1) & uint64(slots-1) {
				if f := first[i] - 1; class[f] == class[r] && slices.Equal(after(f), w) {
					break
				}
			}
			if first[i] == 0 {
				first[i] = r + 1
				found++
			}
			next[r] = first[i] - 1
		}
		copy(class, next)
		if found == classes {
			return next
		}
		classes = found
	}
}

// unite replaces the automata of scalars by ones that take less time to explore: those of numbers by
// minimal ones, several that run between the same two nodes by one, and those of strings by counted
// ones.
func (n *network) unite(ctx context.Context) error {
	n.groupNames()
	known := map[string]*table{}
	ids := map[*numberAutomaton]int32{}
	for at := range n.nodes {
		v := &n.nodes[at]
		if t, is := v.scalar.(*table); is {
			if a, is := t.automaton.(*stringAutomaton); is {
				t.automaton, t.direct = countedOf(a), true
			}
		}
		var drop []int32
		for i, from := range v.free {
			a := n.numberAt(from)
			if a == nil || slices.Contains(drop, from) {
				continue
			}
			all, nodes := []*numberAutomaton{a}, []int32(nil)
			for _, other := range v.free[i+1:] {
				if b := n.numberAt(other); b != nil && n.nodes[other].free[0] == n.nodes[from].free[0] {
					all, nodes = append(all, b), append(nodes, other)
				}
			}
			key := make([]int32, 0, len(all))
			for _, b := range all {
				if _, ok := ids[b]; !ok {
					ids[b] = int32(len(ids))
				}
				key = append(key, ids[b])
			}
			k := words(key)
			t, ok := known[k]
			if !ok {
				u := united(all)
				if u != nil {
					m, err := u.minimal(ctx)
					if err != nil {
						return err
					}
					t = newTable(m)
					_, t.direct = m.(terminal)
					t.all = true
				}
				known[k] = t
			}
			if t == nil {
				continue
			}
			n.nodes[from].scalar = t
			drop = append(drop, nodes...)
		}
		if drop != nil {
			v.free = keep(v.free, func(to int32) bool { return !slices.Contains(drop, to) })
		}
	}
	return nil
}

// numberAt returns the automaton of the restricted numbers that run at a node and lead to one other,
// nil if there is none.
func (n *network) numberAt(at int32) *numberAutomaton {
	v := &n.nodes[at]
	t, is := v.scalar.(*table)
	if !is || len(v.free) != 1 {
		return nil
	}
	a, is := t.automaton.(*numberAutomaton)
	if !is || a.good != nil || len(a.against) > constants || a.modulus == 1 && len(a.against) < 2 {
		return nil
	}
	return a
}

// minimal returns the minimal automaton of the numbers, or a itself if that is large or there are no
// numbers.
func (a *numberAutomaton) minimal(ctx context.Context) (automaton, error) {
	d, err := constraint.Compile(ctx, numberBytes{a}, 256, constraint.Limits{States: 1 << 14})
	if err != nil {
		return a, ctx.Err()
	}
	return terminal{d}, nil
}

// numberBytes is a number automaton as a [constraint.Automaton].
type numberBytes struct{ a *numberAutomaton }

func (n numberBytes) States() int { return unbounded }

func (n numberBytes) Start() int { return int(n.a.start()) }

func (n numberBytes) Next(state int, b int32) int { return int(n.a.next(int32(state), byte(b))) }

func (n numberBytes) Accepting(state int) bool { return n.a.final(int32(state)) }

// Classes returns the classes of bytes that numbers distinguish.
func (n numberBytes) Classes(levels int) (of []int32, classes int) {
	of = make([]int32, levels)
	for b := range of {
		of[b] = int32(numberClasses.of[b])
	}
	return of, len(numberClasses.some)
}
