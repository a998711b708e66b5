package problem

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// checkUpTo is the largest number of joint states of a condition's variables that the search
// evaluates one by one to find the levels that are still possible.
const checkUpTo = 1 << 12

// errEffort reports that a search has used up its evaluations.
var errEffort = errors.New("the search has made as many evaluations as Config.Search allows")

// search enumerates the feasible states of a problem depth first. After every decision it removes
// levels that the required conditions rule out. It finds these levels by evaluation if a condition
// has few states left, and otherwise by the smallest and largest possible value of a sum.
// (Consistency of domains and of bounds; Rossi, van Beek and Walsh 2006, chapter 3.)
type search struct {
	p     *Problem
	meter poll.Meter
	left  int // number of evaluations that are left
	hard  []constrained
	soft  []constrained
	watch [][]int32 // for each variable, indices in hard of its required conditions
	alive [][]bool
	count []int32
	trail []site
	terms []group   // terms of the objective, grouped by their variables
	open  []int32   // indices in terms, then in soft, of the costs that are not constant
	fixed float64   // sum of the costs that are constant because fix fixed all of their variables
	order [][]int32 // for each variable, the order in which its levels are tried

	x       []int32
	queue   []int32
	queued  []bool
	support [][]bool

	// minimise returns the energy at or above which a subtree is pruned; nil means no pruning.
	minimise func() float64
	leaf     func(x []int32) (more bool)
}

type site struct{ v, level int32 }

type constrained struct {
	*statement
	constant float64
	// Functions of one variable each that a comparison sums; nil for other conditions.
	u [][]float64
}

// group holds the terms of the objective over one set of variables.
type group struct {
	scope []int
	terms []term
}

func (p *Problem) newSearch(ctx context.Context, effort int) *search {
	n := len(p.vars)
	s := &search{p: p, left: effort, watch: make([][]int32, n), alive: make([][]bool, n), count: make([]int32, n), x: make([]int32, n), order: make([][]int32, n)}
	s.meter.Watch(ctx)
	_ = s.meter.Poll() // run returns the error
	for v := range p.vars {
		k := len(p.vars[v].values)
		if s.meter.Done(k) {
			return s
		}
		s.alive[v], s.count[v], s.order[v] = make([]bool, k), int32(k), make([]int32, k)
		for l := range k {
			s.alive[v][l], s.order[v][l] = true, int32(l)
		}
	}
	for i := range p.required {
		if s.meter.Done(p.required[i].c.work()) {
			return s
		}
		s.hard = append(s.hard, constrain(&p.required[i]))
		for _, v := range p.required[i].c.scope {
			s.watch[v] = append(s.watch[v], int32(i))
		}
	}
	for i := range p.preferred {
		if s.meter.Done(p.preferred[i].c.work()) {
			return s
		}
		s.soft = append(s.soft, constrain(&p.preferred[i]))
	}
	s.queued = make([]bool, len(s.hard))
	return s
}

func constrain(s *statement) constrained {
	c := constrained{statement: s}
	if constant, u, ok := s.c.separable(); ok {
		c.constant, c.u = constant, u
	}
	return c
}

// bounded prepares a search for low energies. It groups the terms of the objective by their
// variables and sorts the levels of each variable by their mean energy.
func (s *search) bounded(minimise func() float64) {
	s.minimise = minimise
	index := map[string]int{}
	var key []byte
	mean := make([][]float64, len(s.p.vars))
	for v := range mean {
		mean[v] = make([]float64, len(s.p.vars[v].values))
	}
	for i := range s.p.objective {
		t := s.p.objective[i]
		if s.meter.Done(16 * len(t.f) * (len(t.f) + 1)) {
			return
		}
		key = key[:0]
		for j, f := range t.f {
			key = appendBits(key, uint64(f.v))
			w := t.c
			for k, g := range t.f {
				if k != j {
					w *= average(g.u)
				}
			}
			for l, u := range f.u {
				mean[f.v][l] += float64(w * u)
			}
		}
		k, met := index[string(key)]
		if !met {
			k = len(s.terms)
			index[string(key)] = k
			s.terms = append(s.terms, group{scope: scope(s.p.objective[i : i+1])})
		}
		s.terms[k].terms = append(s.terms[k].terms, t)
	}
	for i := range len(s.terms) + len(s.soft) {
		s.open = append(s.open, int32(i))
	}
	for v := range s.order {
		slices.SortStableFunc(s.order[v], func(a, b int32) int {
			switch d := mean[v][a] - mean[v][b]; {
			case d < 0:
				return -1
			case d > 0:
				return 1
			}
			return 0
		})
	}
}

// fix restricts all variables that are not free to their levels in x, until undo(0) is called.
func (s *search) fix(x []int32, free []bool) {
	for v := range s.alive {
		for l, ok := range s.alive[v] {
			if ok && !free[v] && int32(l) != x[v] {
				s.remove(int32(v), int32(l))
			}
		}
	}
	s.open, s.fixed = s.open[:0], 0
	copy(s.x, x)
	decided := func(scope []int) bool {
		return !slices.ContainsFunc(scope, func(v int) bool { return free[v] })
	}
	for i := range s.terms {
		if g := &s.terms[i]; decided(g.scope) {
			s.fixed += sum(g.terms, s.x)
		} else {
			s.open = append(s.open, int32(i))
		}
	}
	for i := range s.soft {
		if c := &s.soft[i]; decided(c.c.scope) {
			s.fixed += c.cost(s.x)
		} else {
			s.open = append(s.open, int32(len(s.terms)+i))
		}
	}
}

func average(u []float64) float64 {
	s := 0.0
	for _, w := range u {
		s += w
	}
	return s / float64(len(u))
}

// run calls leaf with every feasible state, except those that minimise prunes, until leaf returns
// false. It returns errEffort if the evaluations are used up, and the cause of the context's end.
func (s *search) run(leaf func(x []int32) (more bool)) error {
	s.leaf = leaf
	if err := s.meter.Err(); err != nil {
		return err
	}
	for i := range s.hard {
		s.enqueue(int32(i))
	}
	_, err := s.visit()
	return err
}

func (s *search) enqueue(c int32) {
	if !s.queued[c] {
		s.queued[c] = true
		s.queue = append(s.queue, c)
	}
}

// remove removes a level of a variable. It returns false if the variable has no level left.
func (s *search) remove(v, level int32) bool {
	s.alive[v][level] = false
	s.count[v]--
	s.trail = append(s.trail, site{v, level})
	for _, c := range s.watch[v] {
		s.enqueue(c)
	}
	return s.count[v] > 0
}

func (s *search) undo(mark int) {
	for _, t := range s.trail[mark:] {
		s.alive[t.v][t.level] = true
		s.count[t.v]++
	}
	s.trail = s.trail[:mark]
}

// visit applies the queued conditions and then enumerates the remaining states.
func (s *search) visit() (more bool, err error) {
	possible, err := s.propagate()
	if err != nil || !possible {
		return true, err
	}
	if s.minimise != nil {
		bound, err := s.bound()
		if err != nil || bound >= s.minimise() {
			return true, err
		}
	}
	v := int32(-1)
	for i, n := range s.count {
		if n > 1 && (v < 0 || n < s.count[v] || n == s.count[v] && len(s.watch[i]) > len(s.watch[v])) {
			v = int32(i)
		}
	}
	if err := s.spend(len(s.count)); err != nil {
		return false, err
	}
	if v < 0 {
		for i := range s.x {
			s.x[i] = int32(slices.Index(s.alive[i], true))
		}
		s.meter.Done(len(s.p.objective)) // that leaf sums
		return s.leaf(s.x), s.meter.Err()
	}
	for _, level := range s.order[v] {
		if !s.alive[v][level] {
			continue
		}
		mark := len(s.trail)
		for l := range s.alive[v] {
			if s.alive[v][l] && int32(l) != level {
				s.remove(v, int32(l))
			}
		}
		more, err := s.visit()
		s.undo(mark)
		if err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// spend subtracts n from the evaluations that are left. It returns an error if none are left or the
// context has ended.
func (s *search) spend(n int) error {
	if s.meter.Done(n) {
		return s.meter.Err()
	}
	if s.left -= n; s.left < 0 {
		return errEffort
	}
	return nil
}

// propagate applies the queued conditions until none of them removes a level. It returns false if
// no state is left. The queue is empty afterwards.
func (s *search) propagate() (possible bool, err error) {
	for possible = true; len(s.queue) > 0; {
		c := s.queue[0]
		s.queue = s.queue[1:]
		s.queued[c] = false
		if possible && err == nil {
			possible, err = s.apply(&s.hard[c])
		}
	}
	s.queue = s.queue[:0]
	return possible, err
}

func (s *search) apply(c *constrained) (possible bool, err error) {
	size := 1
	for _, v := range c.c.scope {
		if size *= int(s.count[v]); size > checkUpTo {
			break
		}
	}
	if c.u != nil && (size > checkUpTo || len(c.c.scope) > 4) {
		return s.applySum(c)
	}
	if size > checkUpTo {
		return true, nil
	}
	if err := s.spend(size * (len(c.c.scope) + 1)); err != nil {
		return false, err
	}
	for len(s.support) < len(c.c.scope) {
		s.support = append(s.support, nil)
	}
	for i, v := range c.c.scope {
		n := len(s.alive[v])
		s.support[i] = slices.Grow(s.support[i][:0], n)[:n]
		clear(s.support[i])
	}
	s.each(c.c.scope, func() {
		if c.c.violation(s.x) > 0 {
			return
		}
		for i, v := range c.c.scope {
			s.support[i][s.x[v]] = true
		}
	})
	possible = len(c.c.scope) > 0 || c.c.violation(s.x) == 0
	for i, v := range c.c.scope {
		for l, ok := range s.support[i] {
			if s.alive[v][l] && !ok && !s.remove(int32(v), int32(l)) {
				return false, nil
			}
		}
	}
	return possible, nil
}

// each stores every possible joint state of the variables in scope in s.x and calls f after each.
func (s *search) each(scope []int, f func()) {
	for _, v := range scope {
		s.x[v] = int32(slices.Index(s.alive[v], true))
	}
	for {
		f()
		i := len(scope) - 1
		for ; i >= 0; i-- {
			v := scope[i]
			next := slices.Index(s.alive[v][s.x[v]+1:], true)
			if next >= 0 {
				s.x[v] += int32(next) + 1
				break
			}
			s.x[v] = int32(slices.Index(s.alive[v], true))
		}
		if i < 0 {
			return
		}
	}
}

// spread returns the smallest and largest value of u over the levels of variable v that are still
// possible.
func (s *search) spread(v int, u []float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for l, ok := range s.alive[v] {
		if ok {
			least, most = min(least, u[l]), max(most, u[l])
		}
	}
	return least, most
}

// applySum removes the levels with which the sum of a comparison cannot satisfy its bounds. It
// returns false if no state is left.
func (s *search) applySum(c *constrained) (possible bool, err error) {
	for {
		least, most := c.constant, c.constant
		for i, v := range c.c.scope {
			a, b := s.spread(v, c.u[i])
			least, most = least+a, most+b
			if err := s.spend(len(s.alive[v])); err != nil {
				return false, err
			}
		}
		tol := c.c.tol + float64((math.Abs(least)+math.Abs(most))*roundingOf(c.c.tol))
		if least > c.c.hi+tol || most < c.c.lo-tol {
			return false, nil
		}
		removed := false
		for i, v := range c.c.scope {
			if s.count[v] == 1 {
				continue
			}
			a, b := s.spread(v, c.u[i])
			for l, ok := range s.alive[v] {
				if ok && (least-a+c.u[i][l] > c.c.hi+tol || most-b+c.u[i][l] < c.c.lo-tol) {
					if !s.remove(int32(v), int32(l)) {
						return false, nil
					}
					removed = true
				}
			}
		}
		if !removed {
			break
		}
	}
	for _, v := range c.c.scope {
		if s.count[v] != 1 {
			return true, nil
		}
		s.x[v] = int32(slices.Index(s.alive[v], true))
	}
	return c.c.violation(s.x) == 0, nil
}

// roundingOf returns the relative error of running sums: 0 for sums of integers, for which tol is
// 0.
func roundingOf(tol float64) float64 {
	if tol == 0 {
		return 0
	}
	return 1.0 / (1 << 40)
}

// bound returns a lower bound on the energy of the remaining states.
func (s *search) bound() (float64, error) {
	total := s.fixed
	if err := s.meter.Err(); err != nil {
		return 0, err
	}
	for _, i := range s.open {
		if int(i) >= len(s.terms) {
			c := &s.soft[int(i)-len(s.terms)]
			total += s.leastCost(c)
			if err := s.spend(len(c.c.scope) + 1); err != nil {
				return 0, err
			}
			continue
		}
		g := &s.terms[i]
		size := 1
		for _, v := range g.scope {
			if size *= int(s.count[v]); size > 64 {
				break
			}
		}
		least := math.Inf(1)
		if size <= 64 {
			s.meter.Done(size * len(g.terms))
			s.each(g.scope, func() { least = min(least, sum(g.terms, s.x)) })
		} else {
			least = 0
			s.meter.Done(4 * len(g.terms))
			for j := range g.terms {
				lo, hi := g.terms[j].c, g.terms[j].c
				for _, f := range g.terms[j].f {
					a, b := s.spread(f.v, f.u)
					lo, hi = min(lo*a, lo*b, hi*a, hi*b), max(lo*a, lo*b, hi*a, hi*b)
				}
				least += lo
			}
		}
		total += least
		if err := s.spend(min(size, 64) + len(g.scope)); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// leastCost returns a lower bound on the cost of a preferred condition in the remaining states.
func (s *search) leastCost(c *constrained) float64 {
	decided := true
	least, most := c.constant, c.constant
	for i, v := range c.c.scope {
		decided = decided && s.count[v] == 1
		s.x[v] = int32(slices.Index(s.alive[v], true))
		if c.u != nil {
			a, b := s.spread(v, c.u[i])
			least, most = least+a, most+b
		}
	}
	switch {
	case decided:
		return c.cost(s.x)
	case c.u == nil:
		return 0
	}
	d := max(0, least-c.c.hi-c.c.tol, c.c.lo-c.c.tol-most)
	if c.squared {
		d *= d
	}
	return float64(c.weight * d)
}
