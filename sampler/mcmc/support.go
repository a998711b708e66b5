package mcmc

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// support is a language C to which a kernel is confined, unrolled for a number of sites and
// levels. A nil support allows all states. It is immutable and may be shared.
type support struct {
	graph         *trellis.Graph
	name          string
	sites, levels int
	// the language as a count, checked without following a path in graph; nil if it is not one
	count *counted
}

// newSupport unrolls the Within of a method. It returns nil if a is nil.
func newSupport(ctx context.Context, method string, a constraint.Automaton, sites, levels int) (*support, error) {
	if a == nil {
		return nil, nil
	}
	g, err := trellis.Unroll(ctx, "mcmc: "+method+": Within", a, sites, levels)
	if err != nil {
		return nil, err
	}
	return &support{graph: g, name: automata.Name(a), sites: sites, levels: levels, count: newCounted(a, levels)}, nil
}

// holds reports whether the state x is in the language.
func (t *support) holds(x []int32) bool { return t == nil || t.graph.Accepts(x) }

// check returns a *StartError for the first of the states lo … hi−1 of x that is not in the
// language.
func (t *support) check(lo, hi int, x []int32) error {
	if t == nil {
		return nil
	}
	for s := lo; s < hi; s++ {
		if !t.holds(x[s*t.sites : (s+1)*t.sites]) {
			return &sampler.StartError{Chain: s, Constraint: t.name}
		}
	}
	return nil
}

// inLanguage is the base of kernels that move one chain after the other. It confines them to a
// language if within is not nil.
type inLanguage struct {
	*sweep.Locals
	within *support // language; nil allows all states
}

// Reset computes the energies of the states x and caches them. It returns a *sampler.StartError for
// a state outside the language. It implements [sampler.Transition].
func (k *inLanguage) Reset(ctl sampler.Control, x []int32) error {
	k.Age, k.X = 0, nil
	return k.At.Renew(ctl.Stop, 2, k.Sites*k.Levels, func(stage, lo, hi int) (bool, error) {
		if stage == 0 {
			return true, k.within.check(lo, hi, x)
		}
		return true, k.Compute(lo, hi, x)
	})
}

// Start replaces x by a state drawn from the language, the set of allowed states. It implements
// [sampler.Starter].
func (k *inLanguage) Start(x []int32, r *sampler.Stream) error { return k.within.start(k.Model, x, r) }

// Allows reports whether x is in the language, the set of allowed states. It implements
// [sampler.Confined].
func (k *inLanguage) Allows(x []int32) bool { return k.within.holds(x) }

// startTrials is the maximum number of draws of an initial state until one has positive
// probability. If one state in a hundred of the language has positive probability, 1000 draws miss
// all such states with probability 5e-5.
const startTrials = 1000

// start replaces the state x by a uniform draw from the language. If possible, it uses only
// levels that have positive probability at x. It draws again while the state has probability
// zero. If it finds no state of the language, it returns an error that wraps
// constraint.ErrInfeasible.
func (t *support) start(m energy.Model, x []int32, r *sampler.Stream) error {
	if t == nil {
		return nil
	}
	e, v := make([]float64, 1), make([]float32, len(x)*t.levels)
	energy.Differences(m).Gradient(e, v, x)
	known := sampler.CheckStart(e) == nil
	for i, d := range v {
		v[i] = 0
		if known && math.IsInf(float64(d), 1) {
			v[i] = float32(math.Inf(-1))
		}
	}
	run := trellis.NewRunner(t.graph)
	_, dead := run.Filter(v)
	if dead != nil {
		clear(v)
		if _, err := run.Filter(v); err != nil {
			return err
		}
	}
	for range startTrials {
		run.Draw(x, r)
		if m.Energy(e, x); sampler.CheckStart(e) == nil {
			return nil
		}
	}
	if dead != nil {
		return fmt.Errorf("mcmc: Within = %s: found no state with positive probability: %w: loosen it, or soften the model", t.name, constraint.ErrInfeasible)
	}
	return nil // Reset reports the fault of x
}

// follow stores in node the trellis nodes along a state x of the language: node[i] is the node
// before site i. If the language is a count, node[0] is the count of x instead.
func (t *support) follow(node []int, x []int32) {
	if t.count != nil {
		node[0] = t.count.of(x)
		return
	}
	node[0] = t.graph.Start()
	for i, l := range x {
		node[i+1] = t.graph.NextAt(i, node[i], l)
	}
}

// refollow updates node after sites i < j of x changed. The previous levels were a at site i and b
// at site j.
func (t *support) refollow(node []int, i, j int, a, b int32, x []int32) {
	if t.count != nil {
		node[0] += t.count.in[x[i]] - t.count.in[a] + t.count.in[x[j]] - t.count.in[b]
		return
	}
	for ; i < len(x); i++ {
		at := t.graph.NextAt(i, node[i], x[i])
		switch {
		case at != node[i+1]:
			node[i+1] = at
		case i >= j:
			return // the paths coincide from here on
		default:
			i = j - 1 // the paths coincide up to site j
		}
	}
}

// completes reports whether x with x_j = b is accepted. The first argument is a result of through
// for the same j, and node holds the path of x.
func (t *support) completes(at, j int, b int32, node []int, x []int32) bool {
	if at < 0 {
		return false
	}
	if t.count != nil {
		return t.count.within(at, j, b)
	}
	at = t.graph.NextAt(j, at, b)
	i := j + 1
	for ; at >= 0 && i < len(x); i++ {
		if at == node[i] {
			return true
		}
		at = t.graph.NextAt(i, at, x[i])
	}
	return at >= 0
}

// through returns the trellis node before site j of x with x_i = a, where i < j. If the language
// is a count, it returns the count of that state without site j. It returns −1 if no state of the
// language begins like this.
func (t *support) through(i, j int, a int32, node []int, x []int32) int {
	if t.count != nil {
		return t.count.without(node[0], i, j, a, x)
	}
	at := t.graph.NextAt(i, node[i], a)
	for i++; i < j && at >= 0; i++ {
		if at == node[i] {
			return node[j] // the paths have met
		}
		at = t.graph.NextAt(i, at, x[i])
	}
	return at
}

// counted is a language defined by a count and an optional mask. The effect of changing a few sites
// can be determined without reading the other sites.
type counted struct {
	in       []int // per level: 1 if the level counts, else 0
	min, max int
	mask     *constraint.Mask // allowed levels per site; nil allows every level
}

// newCounted returns the language a as a value of type counted, or nil if a is not a count with an
// optional mask.
func newCounted(a constraint.Automaton, levels int) *counted {
	rest, mask := constraint.Split(a)
	c, ok := rest.(constraint.Counting)
	if !ok {
		return nil
	}
	in, least, most := c.Counts()
	t := &counted{in: make([]int, levels), min: least, max: most, mask: mask}
	for _, l := range in {
		if l >= 0 && int(l) < levels {
			t.in[l] = 1
		}
	}
	return t
}

// of returns the count of x: the number of sites whose level counts.
func (c *counted) of(x []int32) int {
	n := 0
	for _, l := range x {
		n += c.in[l]
	}
	return n
}

// without returns the count of x after x_i becomes a and site j is removed, where n is the count
// of x. It returns −1 if the mask forbids level a at site i.
func (c *counted) without(n, i, j int, a int32, x []int32) int {
	if c.mask != nil && !c.mask.Allows(i, a) {
		return -1
	}
	return n - c.in[x[i]] - c.in[x[j]] + c.in[a]
}

// within reports whether site j may have level b if the count of the other sites is n.
func (c *counted) within(n, j int, b int32) bool {
	if c.mask != nil && !c.mask.Allows(j, b) {
		return false
	}
	n += c.in[b]
	return n >= c.min && n <= c.max
}
