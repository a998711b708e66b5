package problem

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/heap"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// leaders collects the states of lowest energy among those offered, without duplicates.
type leaders struct {
	most int
	heap []leader // states, ordered as a heap with the highest energy first
	in   map[string]bool
}

type leader struct {
	x []int32
	e float64
}

func newLeaders(most int) *leaders { return &leaders{most: most, in: map[string]bool{}} }

func (l leader) key() string {
	var b []byte
	for _, v := range l.x {
		b = appendBits(b, uint64(v))
	}
	return string(b)
}

func higher(a, b leader) bool { return a.e > b.e }

// limit returns the energy below which a new state is accepted.
func (l *leaders) limit() float64 {
	if len(l.heap) < l.most {
		return math.Inf(1)
	}
	return l.heap[0].e
}

func (l *leaders) offer(x []int32, e float64) {
	s := leader{x, e}
	if len(l.heap) == l.most && e >= l.heap[0].e || l.in[s.key()] {
		return
	}
	if len(l.heap) == l.most {
		var last leader
		l.heap, last = heap.Pop(l.heap, higher)
		delete(l.in, last.key())
	}
	s.x = slices.Clone(x)
	l.heap, l.in[s.key()] = heap.Push(l.heap, s, higher), true
}

// rows replaces the rows of s by the collected states, sorted by energy.
func (l *leaders) rows(s *SampleSet) {
	s.Rows = nil
	for _, b := range l.heap {
		s.add(b.x, 1)
	}
	s.sort()
}

const (
	// firstFree is the number of variables that the first neighbourhood frees. The number grows
	// after a neighbourhood that was searched completely, and shrinks after one that was not.
	firstFree = 16

	// perNeighbourhood is the fraction of Config.Search that limits the evaluations in one
	// neighbourhood.
	perNeighbourhood = 1.0 / 64
)

// neighbourhoods improves the rows of s by large neighbourhood search (Shaw 1998). It repeatedly
// takes one of the best states, frees some variables, and searches the states of the free variables
// while all others keep their levels. At least one row of s must be feasible.
func (p *Problem) neighbourhoods(ctx context.Context, c *Config, s *SampleSet) error {
	best := newLeaders(c.Rows)
	for _, r := range s.Rows {
		if r.feasible {
			best.offer(r.Levels, r.Energy)
		}
	}
	search := p.newSearch(ctx, math.MaxInt)
	search.bounded(best.limit)
	least, err := search.bound() // lower bound on the energy of any state
	if err != nil {
		return err
	}
	near := newLinks(p)
	r := rand.New(sampler.NewStream(c.Seed, math.MaxUint64)) // a stream that no chain uses
	free := float64(firstFree)
	for left := c.Search; left > 0; {
		if s.Exact = best.limit() <= least; s.Exact {
			s.Method += ", proven by the least value of each term"
			break
		}
		from := slices.MinFunc(best.heap, func(a, b leader) int { return cmp.Compare(a.e, b.e) })
		if r.IntN(4) == 0 {
			from = best.heap[r.IntN(len(best.heap))]
		}
		effort := min(left, int(perNeighbourhood*float64(c.Search))+1)
		search.left = effort
		search.fix(from.x, near.some(r, min(int(free), len(p.vars))))
		err := search.run(func(x []int32) bool {
			best.offer(x, p.energy(x))
			return true
		})
		search.undo(0)
		left -= max(1, effort-max(search.left, 0))
		switch {
		case errors.Is(err, errEffort):
			free = max(2, free*0.8)
		case err != nil:
			return err
		default:
			free = min(free*1.05, float64(len(p.vars)))
		}
	}
	best.rows(s)
	return nil
}

// links lists the sets of variables that share a term, a preferred condition or a required
// condition.
type links struct {
	scopes     [][]int
	terms      [][]int // for each variable, indices in scopes of its terms and preferred conditions
	conditions [][]int
}

func newLinks(p *Problem) *links {
	n := len(p.vars)
	l := &links{terms: make([][]int, n), conditions: make([][]int, n)}
	add := func(of [][]int, scope []int) {
		for _, v := range scope {
			of[v] = append(of[v], len(l.scopes))
		}
		l.scopes = append(l.scopes, scope)
	}
	for i := range p.objective {
		add(l.terms, scope(p.objective[i:i+1]))
	}
	for i := range p.preferred {
		add(l.terms, p.preferred[i].c.scope)
	}
	for i := range p.required {
		add(l.conditions, p.required[i].c.scope)
	}
	return l
}

// some selects n variables at random, most of which share terms or conditions with each other. The
// result tells for every variable whether it is selected.
func (l *links) some(r *rand.Rand, n int) []bool {
	in := make([]bool, len(l.terms))
	var chosen []int
	add := func(v int) {
		if !in[v] && len(chosen) < n {
			in[v] = true
			chosen = append(chosen, v)
		}
	}
	for len(chosen) < n {
		before := len(chosen)
		if before == 0 || r.IntN(8) == 0 {
			add(r.IntN(len(in)))
		}
		v := chosen[r.IntN(len(chosen))]
		of := l.terms[v]
		if len(of) == 0 || len(l.conditions[v]) > 0 && r.IntN(2) == 0 {
			of = l.conditions[v]
		}
		if len(of) > 0 {
			scope := l.scopes[of[r.IntN(len(of))]]
			for k, at := 0, r.IntN(len(scope)); k < len(scope); k++ {
				add(scope[(at+k)%len(scope)])
			}
		}
		if len(chosen) == before {
			add(r.IntN(len(in)))
		}
	}
	return in
}
