package grammar

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Bounds for numbers with divisors: residues bounds the modulus up to which the allowed residues are
// listed, and alikes the modulus up to which residues that act alike are found, which takes up to
// some ten milliseconds.
const (
	residues = 1 << 17
	alikes   = 1 << 15
	// the largest number of automata that are united, for as many residues as are listed
	unions = 64
	// the largest number of constants for which an automaton is minimised: each state compares with all
	constants = 64
)

// united returns an automaton for the numbers that at least one of the automata accepts, with as
// few residues as are needed to distinguish these numbers. The automata differ at most in their
// divisors. It returns nil if there are too many residues, or once the context of the meter has
// ended.
func united(all []*numberAutomaton, m *poll.Meter) *numberAutomaton {
	spec := all[0].numberSpec
	spec.steps = nil
	has := map[step]bool{}
	modulus, places := int64(0), 0 // the least common multiple of all divisors, in units of 10^−places
	for _, a := range all {
		switch more := max(places, a.places); {
		case a.modulus > residues || m.Done(64*len(a.steps)):
			return nil
		case len(a.steps) == 0:
			continue
		case modulus == 0:
			modulus, places = a.modulus, a.places
		case more-min(places, a.places) > 5:
			return nil
		default:
			x, y := modulus*power(more-places), a.modulus*power(more-a.places)
			modulus, places = x/gcd(x, y)*y, more
		}
		if modulus > residues || modulus*int64(len(all)) > unions*residues {
			return nil
		}
		for _, x := range a.steps {
			if !has[x] {
				has[x] = true
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
			if r&1023 == 0 && m.Done(1024*len(a.steps)) {
				return nil
			}
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

// apartFromSteps returns a key that s and t share if they differ at most in their divisors.
func (s numberSpec) apartFromSteps() string {
	s.steps = nil
	return fmt.Sprintf("%v %t", s, s.among == nil)
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
// ones. The automata of numbers have at most as many states together as the limits allow; others remain
// as they are.
func (n *network) unite(ctx context.Context, limits constraint.Limits) error {
	n.groupNames()
	left := limits.States
	if left == 0 {
		left = defaultStates
	}
	known := map[string]*table{}
	specs := map[string]int32{}
	type number struct{ id, spec int32 }
	ids := map[*numberAutomaton]number{}
	type set struct{ to, spec int32 } // the node to which numbers lead, and what they have in common
	for at := range n.nodes {
		v := &n.nodes[at]
		if t, is := v.scalar.(*table); is {
			if a, is := t.automaton.(*stringAutomaton); is {
				t.automaton, t.direct = countedOf(a), true
			}
		}
		var sets []set
		var members map[set][]int32
		for _, from := range v.free {
			a := n.numberAt(from)
			if a == nil {
				continue
			}
			x, ok := ids[a]
			if !ok {
				k := a.apartFromSteps()
				if _, ok := specs[k]; !ok {
					specs[k] = int32(len(specs))
				}
				x = number{int32(len(ids)), specs[k]}
				ids[a] = x
			}
			if members == nil {
				members = map[set][]int32{}
			}
			k := set{n.nodes[from].free[0], x.spec}
			if members[k] == nil {
				sets = append(sets, k)
			}
			members[k] = append(members[k], from)
		}
		var drop map[int32]bool
		for _, k := range sets {
			nodes := members[k]
			var all []*numberAutomaton
			var key []int32
			for _, from := range nodes {
				a := n.numberAt(from)
				all, key = append(all, a), append(key, ids[a].id)
			}
			if err := n.check(64 * len(nodes)); err != nil {
				return err
			}
			t, ok := known[words(key)]
			if !ok && left > 0 {
				var err error
				if t, err = n.number(ctx, all, &left, limits); err != nil {
					return err
				}
				known[words(key)] = t
			}
			if t == nil {
				continue
			}
			n.nodes[nodes[0]].scalar = t
			for _, from := range nodes[1:] {
				if drop == nil {
					drop = map[int32]bool{}
				}
				drop[from] = true
			}
		}
		if drop != nil {
			v.free = keep(v.free, func(to int32) bool { return !drop[to] })
		}
	}
	return nil
}

// number returns a table of the numbers that at least one of the automata accepts, nil if it would be no
// smaller, or too large for the network. It subtracts the states that it makes from left, and charges those that it keeps.
func (n *network) number(ctx context.Context, all []*numberAutomaton, left *int, limits constraint.Limits) (*table, error) {
	u := united(all, n.meter)
	if u == nil {
		return nil, n.meter.Err()
	}
	limits.States = min(1<<14, *left)
	m, made, err := u.minimal(ctx, limits)
	if err != nil {
		return nil, err
	}
	*left -= made
	t, bytes := newTable(m), arcBytes*len(u.good) // and their classes
	t.all = true
	if d, is := m.(terminal); is {
		t.direct, bytes = true, nodeBytes*d.byteAutomaton.(*constraint.DFA).States()
	}
	if n.fits(bytes) != nil {
		return nil, n.meter.Err()
	}
	n.charge(bytes)
	return t, n.check(64 * made)
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

// minimal returns the minimal automaton of the numbers, or a itself, without the states that were made, if
// that is large or there are no numbers. The second result is the number of states that were made.
func (a *numberAutomaton) minimal(ctx context.Context, limits constraint.Limits) (automaton, int, error) {
	d, err := constraint.Compile(ctx, numberBytes{a}, 256, limits)
	made := len(a.Values)
	if err != nil {
		a.Numbering = algebra.Numbering[numberState]{}
		a.find(numberState{order: strings.Repeat("=", len(a.against))})
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else {
			err = nil // there are too many states
		}
		return a, made, err
	}
	return terminal{d}, made, nil
}

// numberBytes is a number automaton as a [constraint.Automaton].
type numberBytes struct{ a *numberAutomaton }

func (n numberBytes) States() int { return unbounded }

func (n numberBytes) Start() int { return int(n.a.start()) }

func (n numberBytes) Next(state int, b int32) int { return int(n.a.next(int32(state), byte(b))) }

func (n numberBytes) Accepting(state int) bool { return n.a.final(int32(state)) }

// Classes divides the bytes below levels into classes. All bytes of a class have the same effect in
// every number automaton. It implements [constraint.Classed].
func (n numberBytes) Classes(levels int) (of []int32, classes int) {
	of = make([]int32, levels)
	for b := range of {
		of[b] = int32(numberClasses.of[b])
	}
	return of, len(numberClasses.some)
}
