package projection

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/heap"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// program is a language compiled for a shape: either an automaton unrolled by package trellis,
// or a nested language.
type program interface {
	runner() runner
	Count(ctx context.Context, v []float32) (*big.Int, error)
	Accepts(x []int32) bool
	// Usable reports whether the language or its mask may allow token at site.
	Usable(site int, token int32) bool
	// classes returns the number of token classes.
	classes() int
	automaton() constraint.Automaton
}

// runner is the scratch of one call. Its methods are those of trellis.Runner.
type runner interface {
	// Watch makes later calls, except Draw, return the cause of ctx as an error once ctx has ended.
	// Unwatch ends this.
	Watch(ctx context.Context)
	Unwatch()
	Filter(v []float32) (logZ float64, err error)
	// FilterExact does the same as Filter, but computes all sums in float64. Do not call Draw after
	// it.
	FilterExact(v []float32) (logZ float64, err error)
	// FilterGiven does the same as Filter if some tokens are given: given[i] is the token of site
	// i, or −1. The row of v at a site with a given token counts as one-hot and may be overwritten.
	FilterGiven(v []float32, given []int32) (logZ float64, err error)
	Draw(x []int32, src rand.Source)
	MAP(x []int32, v []float32) (float64, error)
	// Marginals stores in dst (sites × levels) the log-probability of each token at each site.
	Marginals(dst []float64) error
	Descending(v []float32) (iter.Seq2[[]int32, float64], error)
	Ascending(cost []float64) (iter.Seq2[[]int32, float64], error)
	CheapestBy(x []int32, v []float32, p trellis.Pricer) (float64, error)
}

// unrolled is the program of a language with finitely many states.
type unrolled struct{ *trellis.Graph }

func (u unrolled) runner() runner { return trellis.NewRunner(u.Graph) }
func (u unrolled) classes() int   { n, _, _ := u.Size(); return n }

func (u unrolled) automaton() constraint.Automaton { return u.Graph }

// nested is the program of a nested language, perhaps with a mask.
type nested struct {
	language      constraint.Automaton
	graph         *pushdown.Graph
	sites, levels int
	allows        func(site int, token int32) bool // mask; nil allows everything
}

func (n *nested) runner() runner {
	return &nestedRunner{of: n, run: pushdown.NewRunner(n.graph, n.sites, n.levels)}
}
func (n *nested) classes() int { _, k, _ := n.graph.Size(); return k }

func (n *nested) automaton() constraint.Automaton { return n.language }

// Usable reports whether the mask allows token at site. It does not consult the language.
func (n *nested) Usable(site int, token int32) bool { return n.may(site, token) }

func (n *nested) may(site int, token int32) bool { return n.allows == nil || n.allows(site, token) }

func (n *nested) Count(ctx context.Context, v []float32) (*big.Int, error) {
	return n.graph.Count(ctx, n.sites, func(i int, t int32) bool {
		return n.may(i, t) && (v == nil || !math.IsInf(float64(v[i*n.levels+int(t)]), -1))
	})
}

func (n *nested) Accepts(x []int32) bool {
	for i, t := range x {
		if t < 0 || int(t) >= n.levels || !n.may(i, t) {
			return false
		}
	}
	return n.graph.Accepts(x)
}

// nestedRunner implements runner for a nested language by package pushdown.
type nestedRunner struct {
	of     *nested
	run    *pushdown.Runner
	ctx    context.Context // context given to Watch, passed on to the runners of Ascending
	masked []float32
	cost   []float64
}

func (r *nestedRunner) Watch(ctx context.Context) {
	r.ctx = ctx
	r.run.Watch(ctx)
}

// Unwatch ends the effect of Watch: later calls no longer look at the context.
func (r *nestedRunner) Unwatch() {
	r.ctx = nil
	r.run.Unwatch()
}

func (r *nestedRunner) Filter(v []float32) (float64, error) {
	n := r.of
	if n.allows != nil {
		r.masked = append(r.masked[:0], v...)
		for i := range n.sites {
			for t := range n.levels {
				if !n.allows(i, int32(t)) {
					r.masked[i*n.levels+t] = float32(math.Inf(-1))
				}
			}
		}
		v = r.masked
	}
	return r.run.Filter(v)
}

// FilterExact calls Filter, because the sums of a nested language are in float64 anyway.
func (r *nestedRunner) FilterExact(v []float32) (float64, error) { return r.Filter(v) }

func (r *nestedRunner) FilterGiven(v []float32, given []int32) (float64, error) {
	levels := r.of.levels
	for i, token := range given {
		if token < 0 {
			continue
		}
		row := v[i*levels : (i+1)*levels]
		for l := range row {
			row[l] = float32(math.Inf(-1))
		}
		row[token] = 0
	}
	return r.Filter(v)
}

func (r *nestedRunner) Draw(x []int32, src rand.Source) { r.run.Draw(x, src) }

func (r *nestedRunner) Marginals(dst []float64) error { return r.run.Marginals(dst) }

func (r *nestedRunner) MAP(x []int32, v []float32) (float64, error) {
	return r.run.Best(x, func(i int, t int32) float64 {
		if !r.of.may(i, t) {
			return math.Inf(-1)
		}
		return float64(v[i*r.of.levels+int(t)])
	})
}

// CheapestBy stores in x the sequence of least total cost and returns that cost. The argument p
// gives the cost of each token. CheapestBy computes all costs first, because it visits sites out of
// order.
func (r *nestedRunner) CheapestBy(x []int32, v []float32, p trellis.Pricer) (float64, error) {
	n := r.of
	if r.cost == nil {
		r.cost = make([]float64, n.sites*n.levels)
	}
	for i := range n.sites {
		if err := p.Site(i); err != nil {
			return 0, err
		}
		for t := range n.levels {
			c := math.Inf(1)
			if t < n.graph.Tokens() && (n.graph.Spells(int32(t)) || slices.Contains(n.graph.Vocabulary().Pad, int32(t))) && n.may(i, int32(t)) {
				c = p.Price(int32(t))
			}
			r.cost[i*n.levels+t] = c
		}
	}
	top, err := r.run.Best(x, func(i int, t int32) float64 { return -r.cost[i*n.levels+int(t)] })
	return -top, err
}

func (r *nestedRunner) Descending(v []float32) (iter.Seq2[[]int32, float64], error) {
	cost := make([]float64, len(v))
	for i, w := range v {
		cost[i] = -float64(w)
	}
	seq, err := r.Ascending(cost)
	if err != nil {
		return nil, err
	}
	return func(yield func([]int32, float64) bool) {
		for x, c := range seq {
			if !yield(x, -c) {
				return
			}
		}
	}, nil
}

// branch is the best sequence among those that agree with x in the first fixed tokens and whose
// next token is not in barred.
type branch struct {
	x      []int32
	cost   float64
	fixed  int
	barred []int32
}

// before orders branches by cost, and branches of equal cost by their sequences.
func (b branch) before(o branch) bool {
	if b.cost != o.cost {
		return b.cost < o.cost
	}
	return slices.Compare(b.x, o.x) < 0
}

// Ascending yields all sequences in ascending order of cost. It partitions the remaining sequences
// by the site at which they first differ from the sequences already found (Lawler 1972). Each part
// of this partition fixes a prefix. A step solves one best-sequence problem for every later site.
func (r *nestedRunner) Ascending(cost []float64) (iter.Seq2[[]int32, float64], error) {
	n := r.of
	check.Len("projection", "cost", len(cost), n.sites*n.levels)
	run := pushdown.NewRunner(n.graph, n.sites, n.levels)
	run.Watch(r.ctx)
	solve := func(prefix, barred []int32) (branch, error) {
		b := branch{x: make([]int32, n.sites), fixed: len(prefix), barred: barred}
		top, err := run.Best(b.x, func(i int, t int32) float64 {
			switch {
			case !n.may(i, t), i < len(prefix) && t != prefix[i], i == len(prefix) && slices.Contains(barred, t):
				return math.Inf(-1)
			}
			return -cost[i*n.levels+int(t)]
		})
		b.cost = -top
		return b, err
	}
	first, err := solve(nil, nil)
	if err != nil {
		return nil, err
	}
	return func(yield func([]int32, float64) bool) {
		open := []branch{first}
		for len(open) > 0 {
			var b branch
			open, b = heap.Pop(open, branch.before)
			x := slices.Clone(b.x)
			if !yield(x, b.cost) {
				return
			}
			for i := b.fixed; i < n.sites; i++ {
				barred := []int32{b.x[i]}
				if i == b.fixed {
					barred = append(barred, b.barred...)
				}
				next, err := solve(b.x[:i], barred)
				var dead *algebra.DeadError
				switch {
				case err == nil:
					open = heap.Push(open, next, branch.before)
				case !errors.As(err, &dead):
					return // the context has ended: what comes next is not known
				}
			}
		}
	}, nil
}

// Nested is a language with unbounded nesting, such as brackets or JSON. A pushdown automaton
// recognises it. As a [constraint.Automaton], it has one state for every pair of a control state
// and a stack, numbered when it is first reached.
//
// [Path] uses the pushdown automaton to sum over all sequences. The cost grows with the cube of the
// length. It is linear if no part of the language may contain itself and there are few pairs of a
// control state and a stack.
//
// The languages of package constraint/grammar implement Nested, as does a type that embeds one.
type Nested interface {
	constraint.Automaton

	// Pushdown returns the pushdown automaton that recognises the language. The automaton must have
	// been compiled by package constraint/grammar; [Path] rejects any other.
	Pushdown() constraint.Pushdown
}
