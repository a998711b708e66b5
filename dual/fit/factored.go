package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// factored is the phase of [Exact] for a model whose energy is a sum of tables, E = Σ_f t_f(x_f),
// over a graph of low width. Marginals of the tables determine the mean of ∂E/∂θ = Σ_f ∂t_f/∂θ,
// but a model shows only the sum. So the sum is taken apart by inclusion and exclusion about
// the state of zeros: with G_U(x) = ∂E/∂θ where the sites U have the levels of x and all others 0,
//
//	mean ∂E/∂θ = Σ_T Σ_{U⊆T} (−1)^(|T|−|U|) Σ_x p(x_T) [x_i ≠ 0 for i ∈ T] G_U(x)
//
// over all sets T of sites within a table. Every state in which the sites of such a set differ from 0
// gets one weight.
type factored struct {
	stateless
	data  *moments
	p     energy.Parametric
	model Factored
	sites int
	run   *elimination.Run

	subsets [][]subset // by table: those whose marginals are taken from it
	states  [][2]int32 // pairs of site and level, state by state
	from    []int      // those of state s are states[from[s]:from[s+1]]
	weight  []float64  // by state
	x       []int32    // a batch of states
}

// subset is a set T of sites of a table.
type subset struct {
	strides []int // of the sites of T in the table
	cards   []int
	rest    [][2]int // stride and card of the other sites of the table
	parts   []part   // by the bits of the mask of U in T
}

// part is a subset U of T: its states begin at a number, the last site running fastest.
type part struct {
	first int
	sign  float64
}

// newFactored returns nil if the model has no finite tables, hidden units, or too many states.
func newFactored(ctx context.Context, p energy.Parametric, data []int32) (*factored, error) {
	m, ok := energy.As[Factored](p)
	if !ok {
		return nil, nil
	}
	cards, scopes, tables, ok := m.Present().Factors()
	sites, _ := p.Shape()
	if !ok || len(cards) != sites {
		return nil, nil
	}
	for _, t := range tables {
		if slices.ContainsFunc(t, func(v float64) bool { return math.IsInf(v, 0) }) {
			return nil, nil
		}
	}
	f := &factored{p: p, model: m, sites: sites, subsets: make([][]subset, len(scopes)), from: []int{0}}
	numbers := map[string]int{} // first states of subsets
	if !f.list(nil, cards, numbers) {
		return nil, nil
	}
	for k, scope := range scopes {
		if len(scope) > mostScope || !f.share(k, scope, cards, numbers) {
			return nil, nil
		}
	}
	plan, err := elimination.New(ctx, cards, scopes, elimination.Options{})
	if err != nil {
		return nil, err
	}
	f.run, f.data = plan.NewRun(), newMoments(p, data)
	f.weight, f.x = make([]float64, len(f.from)-1), make([]int32, min(len(f.from)-1, enumeratedBatch)*sites)
	return f, nil
}

// mostScope bounds the sites of a table, of which there are 2^mostScope subsets.
const mostScope = 8

// key names a set of sites.
func key(set []int32) string { return fmt.Sprint(set) }

// list numbers the states in which exactly the sites of a set are not 0, or returns false if there
// are too many states.
func (f *factored) list(set, cards []int32, numbers map[string]int) bool {
	numbers[key(set)] = len(f.from) - 1
	n := 1
	for _, i := range set {
		n *= int(cards[i]) - 1
	}
	if n > mostStates-len(f.from) {
		return false
	}
	for s := range n {
		at := len(f.states)
		for k := len(set) - 1; k >= 0; k-- {
			c := int(cards[set[k]]) - 1
			f.states = append(f.states, [2]int32{set[k], int32(s%c) + 1})
			s /= c
		}
		slices.Reverse(f.states[at:])
		f.from = append(f.from, len(f.states))
	}
	return true
}

// share gives table k the subsets of its sites that no earlier table has.
func (f *factored) share(k int, scope, cards []int32, numbers map[string]int) bool {
	sorted := slices.Sorted(slices.Values(scope))
	for mask := 1; mask < 1<<len(scope); mask++ {
		set := chosen(sorted, mask)
		if _, had := numbers[key(set)]; had {
			continue
		}
		if !f.list(set, cards, numbers) {
			return false
		}
		t := subset{parts: make([]part, 1<<len(set))}
		for _, i := range set {
			t.strides, t.cards = append(t.strides, stride(scope, cards, i)), append(t.cards, int(cards[i]))
		}
		for _, i := range scope {
			if !slices.Contains(set, i) {
				t.rest = append(t.rest, [2]int{stride(scope, cards, i), int(cards[i])})
			}
		}
		for u := range t.parts { // a subset of a set within the table has a smaller mask
			own := chosen(set, u)
			t.parts[u] = part{numbers[key(own)], float64(1 - 2*((len(set)-len(own))&1))}
		}
		f.subsets[k] = append(f.subsets[k], t)
	}
	return true
}

// chosen returns the sites of a set that a mask has.
func chosen(set []int32, mask int) (some []int32) {
	for k, i := range set {
		if mask>>k&1 != 0 {
			some = append(some, i)
		}
	}
	return some
}

// stride returns how far apart the levels of a site are in a table.
func stride(scope, cards []int32, site int32) int {
	step := 1
	for _, i := range slices.Backward(scope) {
		if i == site {
			break
		}
		step *= int(cards[i])
	}
	return step
}

// weigh adds the marginals p of a table to the weights of states.
func (f *factored) weigh(t *subset, p []float64) {
	level := make([]int, len(t.cards))
	for k := range level {
		level[k] = 1
		if t.cards[k] == 1 {
			return
		}
	}
	for {
		at := 0
		for k, l := range level {
			at += l * t.strides[k]
		}
		q := summed(p[at:], t.rest)
		for u, part := range t.parts {
			s := 0
			for k, l := range level {
				if u>>k&1 != 0 {
					s = s*(t.cards[k]-1) + l - 1
				}
			}
			f.weight[part.first+s] += float64(part.sign * q)
		}
		k := len(level) - 1
		for ; k >= 0; k-- {
			if level[k]++; level[k] < t.cards[k] {
				break
			}
			level[k] = 1
		}
		if k < 0 {
			return
		}
	}
}

// summed sums probabilities over the levels of some sites.
func summed(p []float64, sites [][2]int) float64 {
	if len(sites) == 0 {
		return p[0]
	}
	sum := 0.0
	for l := range sites[0][1] {
		sum += summed(p[l*sites[0][0]:], sites[1:])
	}
	return sum
}

// UnmarshalBinary restores the state kept between steps; it implements [Phase].
func (*factored) UnmarshalBinary(b []byte) error { return wire.ReadEnd(b) }

// Gradient adds to g the gradient of the mean loss of the rows. It implements [Phase].
func (f *factored) Gradient(ctx context.Context, g []float64, rows []int32, _ int, _ uint64) error {
	_, _, tables, _ := f.model.Present().Factors()
	clear(f.weight)
	f.weight[0] = 1
	if _, err := f.run.Marginals(ctx, tables, func(k int, p []float64) {
		for i := range f.subsets[k] {
			f.weigh(&f.subsets[k][i], p)
		}
	}, nil); err != nil {
		return fmt.Errorf("fit: Exact: %w", err)
	}
	for s := range f.weight {
		f.weight[s] = -f.weight[s]
	}
	for at := 0; at < len(f.weight); at += enumeratedBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(at+enumeratedBatch, len(f.weight))
		x := f.x[:(end-at)*f.sites]
		clear(x)
		for s := at; s < end; s++ {
			for _, v := range f.states[f.from[s]:f.from[s+1]] {
				x[(s-at)*f.sites+int(v[0])] = v[1]
			}
		}
		f.p.ParamGradient(g, x, f.weight[at:end])
	}
	f.data.add(g, rows)
	return nil
}
