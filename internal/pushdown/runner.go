package pushdown

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Runner computes sums, draws, marginals and best sequences over the sequences of a fixed length
// that a [Graph] accepts. A Runner holds the workspace of one goroutine. The weight of a sequence
// is given by log-weights v of the tokens at every site, a row-major table of sites × levels.
type Runner struct {
	g       *Graph
	sites   int
	levels  int
	v       []float32
	meter   poll.Meter // meter of the context given to Watch
	sum     *filter[algebra.Number, algebra.Sums]
	best    *filter[float64, algebra.Best]
	class   [][]algebra.Number // sum of weights by site and class
	top     [][]float64        // greatest log-weight by site and class
	terms   [block]float64
	scratch tokenBuffer // tokens of a block
	logZ    float64

	spans *spans
	tile  int         // number of sites in a tile of spans
	least int         // minimum number of calls for which spans precomputes several sites
	exact bool        // true if the last Filter used numbers of type algebra.Number
	block [][]float64 // sums by site and block of tokens, divided by e^shift
	sums  [][]float64 // sums by site and class, divided by e^shift
	shift []float64   // shift of the log-weights of each site
	down  []float64   // log of the factor by which the relative weights of each site were divided
	most  [1]int32
	walk  spanWalk

	random rand.Rand // random numbers of the current draw

	outer   adjoints
	classes []float64 // scratch: logs of adjoints
	nested  []float64
	back    *backward
	parts   []algebra.Number // scratch of a draw: weights of the classes of an edge
	numbers walk[algebra.Number, algebra.Sums]
	logs    walk[float64, algebra.Best]
}

// adjoints computes the derivatives of the last sum of spans by its weights. The result bound is
// log₂ of the smallest probability inside a nested level for which the derivatives are accurate.
type adjoints interface {
	run() (bound float64, ok bool)
	of(site, w int) (nested float64, whole algebra.Number)
}

// NewRunner returns a runner for sequences with the given number of sites. The argument levels, the
// number of log-weights per site, must be ≥ g.Tokens(). Levels that are not tokens of g have
// probability zero.
func NewRunner(g *Graph, sites, levels int) *Runner {
	return &Runner{g: g, sites: sites, levels: levels, tile: tileSites, least: aheadLeast}
}

// Watch makes later calls, except Draw, fail with the cause of ctx once ctx has ended. After such a
// failure, the results of the last Filter are lost.
func (r *Runner) Watch(ctx context.Context) { r.meter.Watch(ctx) }

// Unwatch ends the effect of [Runner.Watch]: later calls ignore the context.
func (r *Runner) Unwatch() { r.meter.Unwatch() }

// Filter prepares draws and marginals for the log-weights v. It returns
//
//	log Z = log Σ_x exp(Σ_i v[i,x_i]),
//
// where x runs over the sequences of the language. The error is a [*algebra.DeadError] or a
// [*algebra.WeightError]. The runner keeps a reference to v until the next Filter.
func (r *Runner) Filter(v []float32) (logZ float64, err error) {
	check.Len("pushdown", "v", len(v), r.sites*r.levels)
	r.v, r.exact = nil, false
	logZ, ok, err := r.filterSpans(v)
	if err != nil {
		return 0, err
	}
	if err := r.meter.Err(); err != nil {
		return 0, err
	}
	if !ok {
		if logZ, err = r.filterNumbers(v); err != nil {
			return 0, err
		}
	} else if math.IsInf(logZ, -1) {
		return 0, r.dead(r.spans.far)
	}
	r.v, r.logZ = v, logZ
	return logZ, nil
}

// filterSpans is Filter in float64. It returns ok = false if the range of float64 is not
// sufficient.
func (r *Runner) filterSpans(v []float32) (logZ float64, ok bool, err error) {
	if r.spans == nil {
		b := &r.g.blocks
		r.spans = newSpans(r.g, r.sites, r.tile, r.least)
		r.spans.meter = &r.meter
		r.block, r.sums, r.shift = grid[float64](r.sites, b.count()), grid[float64](r.sites, b.classes()), make([]float64, r.sites)
		r.down = make([]float64, r.sites)
	}
	s, n := r.spans, r.levels
	s.dropped, s.faint = false, false
	shift := 0.0
	for i := range r.sites {
		row := v[i*n : (i+1)*n]
		if r.meter.Done(n) {
			return 0, false, r.meter.Err()
		}
		total, err := r.rowSums(i, row)
		if err != nil {
			return 0, false, err
		}
		if total == 0 {
			clear(s.weight[i])
			s.total[i+1] = s.total[i]
			continue
		}
		r.down[i] = r.shift[i] + s.relative(i, r.sums[i], total)
		shift += r.down[i]
	}
	logZ, ok = s.inside()
	return logZ + shift, ok, nil
}

// rowSums computes the sums of the blocks and classes of site i, divided by e^shift for a suitable
// shift. It returns the total of the classes.
func (r *Runner) rowSums(i int, row []float32) (total float64, err error) {
	b, sums := &r.g.blocks, r.sums[i]
	shift := b.sample(row)
	total, ok := r.weigh(i, row, shift)
	if !ok { // a few weights tower above the sample
		shift = math.NaN()
		if simd.ArgMax(r.most[:], row[:r.g.Tokens()], r.g.Tokens()); r.most[0] >= 0 {
			shift = float64(row[r.most[0]])
		}
		total, ok = r.weigh(i, row, shift)
	}
	if !ok {
		// Something is not finite, or the greatest weight belongs to a token
		// that is dead everywhere.
		switch shift = r.g.greatest(row); {
		case math.IsInf(shift, -1):
			return 0, nil
		case shift != shift || math.IsInf(shift, 1):
			return 0, r.rowTops(i, row)
		}
		total, _ = r.weigh(i, row, shift)
	}
	r.shift[i] = shift
	for k := range sums {
		x := 0.0
		for _, y := range r.block[i][b.class[k]:b.class[k+1]] {
			x += y
		}
		if x == 0 && !r.spans.faint && r.g.alive(k, row) {
			r.spans.faint = true
		}
		sums[k] = x
	}
	return total, nil
}

// weigh computes the sums of the blocks of site i, divided by e^shift. The result ok reports
// whether the total is well within the range of a float64.
func (r *Runner) weigh(i int, row []float32, shift float64) (total float64, ok bool) {
	if !(math.Abs(shift) <= math.MaxFloat32) {
		return 0, false
	}
	total = r.g.blocks.sum(r.block[i], row, shift, &r.terms)
	return total, total >= 1/greatestSum && total <= greatestSum
}

// filterNumbers is Filter with numbers of type algebra.Number, which have an unbounded range.
func (r *Runner) filterNumbers(v []float32) (logZ float64, err error) {
	if r.sum == nil {
		r.sum = newFilter[algebra.Number, algebra.Sums](r.g, r.sites)
		r.sum.meter = &r.meter
	}
	r.makeTops()
	if r.class == nil {
		r.class = grid[algebra.Number](r.sites, r.g.blocks.classes())
	}
	n := r.levels
	for i := range r.sites {
		row := v[i*n : (i+1)*n]
		if r.meter.Done(n) {
			return 0, r.meter.Err()
		}
		if err := r.rowTops(i, row); err != nil {
			return 0, err
		}
		for k, top := range r.top[i] {
			r.class[i][k] = r.classSum(row, r.g.members(k), top)
		}
		r.sum.weigh(i, r.class[i])
	}
	z := r.sum.inside()
	if err := r.meter.Err(); err != nil {
		return 0, err
	}
	if z.M == 0 {
		return 0, r.dead(r.sum.far)
	}
	r.exact = true
	return z.Log(), nil
}

func (r *Runner) makeTops() {
	if r.top == nil {
		r.top = grid[float64](r.sites, r.g.blocks.classes())
	}
}

func (r *Runner) dead(far int) error { return &algebra.DeadError{Site: max(0, min(far, r.sites-1))} }

// tops stores the greatest log-weight of every class at site i. The function weight returns the
// log-weight of a token.
func (r *Runner) tops(i int, weight func(t int32) float64) error {
	for k := range r.top[i] {
		m := math.Inf(-1)
		for _, t := range r.g.members(k) {
			w := weight(t)
			if w != w || w > math.MaxFloat64 {
				return &algebra.WeightError{Site: i, Level: int(t), Weight: w}
			}
			m = max(m, w)
		}
		r.top[i][k] = m
	}
	return nil
}

// rowTops is tops with the log-weights of a row.
func (r *Runner) rowTops(i int, row []float32) error {
	r.makeTops()
	for k := range r.top[i] {
		m := float32(math.Inf(-1))
		for _, t := range r.g.members(k) {
			if w := row[t]; w > m {
				m = w
			} else if w != w {
				return &algebra.WeightError{Site: i, Level: int(t), Weight: float64(w)}
			}
		}
		if float64(m) > math.MaxFloat64 {
			return r.tops(i, func(t int32) float64 { return float64(row[t]) })
		}
		r.top[i][k] = float64(m)
	}
	return nil
}

// classSum returns Σ exp(row[t]) over the given tokens t. The argument top is the greatest
// log-weight of these tokens.
func (r *Runner) classSum(row []float32, tokens []int32, top float64) algebra.Number {
	if math.IsInf(top, -1) {
		return algebra.Number{}
	}
	s := 0.0
	for len(tokens) > 0 {
		n := min(len(tokens), block)
		simd.ExpGather(r.terms[:n], row, tokens[:n], top)
		for _, p := range r.terms[:n] {
			s += p
		}
		tokens = tokens[n:]
	}
	return algebra.Exp(top).Times(algebra.Number{M: s})
}

// Best stores in x the sequence of the language with the greatest sum Σ_i weight(i, x_i) and
// returns the sum. Among sequences with equal sums, it chooses the first in the order in which the
// automaton stores its edges and tokens. Best calls weight for every token at every site, and may
// repeat calls.
func (r *Runner) Best(x []int32, weight func(site int, token int32) float64) (float64, error) {
	check.Len("pushdown", "x", len(x), r.sites)
	if r.best == nil {
		r.best = newFilter[float64, algebra.Best](r.g, r.sites)
		r.best.meter = &r.meter
	}
	r.makeTops()
	for i := range r.sites {
		if r.meter.Done(r.levels) {
			return 0, r.meter.Err()
		}
		if err := r.tops(i, func(t int32) float64 { return weight(i, t) }); err != nil {
			return 0, err
		}
		r.best.weigh(i, r.top[i])
	}
	total := r.best.inside()
	if err := r.meter.Err(); err != nil {
		return 0, err
	}
	if math.IsInf(total, -1) {
		return 0, r.dead(r.best.far)
	}
	r.logs.trace(r.best, nil, func(site int, w int32) {
		at := -1
		for _, k := range r.g.weights.of(w) {
			if at < 0 || r.top[site][k] > r.top[site][at] {
				at = int(k)
			}
		}
		for _, t := range r.g.members(at) {
			if weight(site, t) == r.top[site][at] {
				x[site] = t
				return
			}
		}
	})
	return total, nil
}

// Draw stores in x an exact draw from the distribution of the last Filter. It panics if there
// was no successful Filter.
func (r *Runner) Draw(x []int32, src rand.Source) {
	check.Len("pushdown", "x", len(x), r.sites)
	r.mustFilter()
	r.random = *rand.New(src)
	random := &r.random
	if !r.exact {
		r.drawSpans(x, random)
		return
	}
	n, terms := r.levels, r.parts
	r.numbers.trace(r.sum, random, func(site int, w int32) {
		classes := r.g.weights.of(w)
		terms = terms[:0]
		for _, k := range classes {
			terms = append(terms, r.class[site][k])
		}
		k := classes[algebra.Sums{}.Choose(terms, random)]
		row, top, tokens := r.v[site*n:(site+1)*n], r.top[site][k], r.g.members(int(k))
		total := r.class[site][k].Over(algebra.Exp(top))
		u := float64(random.Float64() * total.Ratio(algebra.Number{M: 1}))
		for _, t := range tokens {
			if p := simd.Exp(float64(row[t]) - top); p > 0 {
				x[site] = t
				if u < p {
					return
				}
				u -= p
			}
		}
	})
	r.parts = terms
}

// drawSpans is Draw after Filter in float64. For every site, it draws an edge, then a class, a
// block and a token.
func (r *Runner) drawSpans(x []int32, random *rand.Rand) {
	b, n := &r.g.blocks, r.levels
	r.walk.s = r.spans
	r.walk.draw(random, func(site int, w int32) {
		d := &r.walk
		for _, k := range r.g.weights.of(w) {
			d.put(r.sums[site][k], step{from: k})
		}
		k := d.pick().from
		first := int(b.class[k])
		i := first + d.among(r.block[site][first:b.class[k+1]], r.sums[site][k])
		tokens := b.tokens(int32(i), &r.scratch)
		terms := r.terms[:len(tokens)]
		simd.ExpGather(terms, r.v[site*n:(site+1)*n], tokens, r.shift[site])
		total := 0.0
		for _, p := range terms {
			total += p
		}
		x[site] = tokens[d.among(terms, total)]
	})
}

func (r *Runner) mustFilter() {
	if r.v == nil {
		panic("pushdown: no successful Filter before")
	}
}

// Marginals stores in dst (sites × levels) the log-probabilities log P(x_i = t) under the last
// Filter. They are −Inf for tokens that cannot occur. It returns an error only if a watched context
// ends.
func (r *Runner) Marginals(dst []float64) error {
	check.Len("pushdown", "dst", len(dst), r.sites*r.levels)
	r.mustFilter()
	if !r.exact && r.marginalsOfSpans(dst) {
		return nil
	}
	if err := r.meter.Err(); err != nil {
		return err
	}
	return r.marginalsOfNumbers(dst)
}

// marginalsOfSpans is Marginals in float64 by vector kernels. It returns false if probabilities
// in nested levels are too small for this.
func (r *Runner) marginalsOfSpans(dst []float64) bool {
	if r.outer == nil {
		r.outer = newOutside(r.spans)
	}
	bound, ok := r.outer.run()
	if !ok {
		return false
	}
	least := algebra.Power(int32(math.Ceil(min(max(bound, -990), 0))))
	n := r.levels
	r.classes, r.nested = resize(r.classes, r.g.blocks.classes()), resize(r.nested, r.g.blocks.classes())
	sum := make([]algebra.Number, r.g.blocks.classes())
	for i := range r.sites {
		class, nested, share := r.classes, r.nested, simd.Exp(r.shift[i]-r.down[i])
		clear(nested)
		clear(sum)
		for w := range r.g.weights.count() {
			y, z := r.outer.of(i, w)
			if y == 0 && z.M == 0 || r.spans.weight[i][w] == 0 {
				continue
			}
			if y != 0 {
				z = z.Plus(algebra.Scaled(y, 0))
			}
			for _, k := range r.g.weights.of(int32(w)) {
				nested[k] += y
				sum[k] = sum[k].Plus(z)
			}
		}
		for k, z := range sum {
			if nested[k] > 0 && z.Ratio(algebra.Number{M: 1})*r.sums[i][k]*share < least {
				return false
			}
			class[k] = z.Log() - r.down[i]
		}
		r.tokens(i, dst[i*n:(i+1)*n], class)
	}
	return true
}

// tokens stores in out the log-probabilities of the tokens at site i. For each class, the slice
// class holds the log of the adjoint of the class sum.
func (r *Runner) tokens(i int, out, class []float64) {
	of, row := r.g.classes(), r.v[i*r.levels:(i+1)*r.levels]
	row, dst := row[:len(of)], out[:len(of)]
	for t, k := range of {
		if uint(k) < uint(len(class)) {
			dst[t] = float64(row[t]) + class[k]
		} else {
			dst[t] = math.Inf(-1) // dead
		}
	}
	for t := len(of); t < len(out); t++ {
		out[t] = math.Inf(-1)
	}
}

// marginalsOfNumbers is Marginals with numbers of type algebra.Number, which have an unbounded
// range.
func (r *Runner) marginalsOfNumbers(dst []float64) error {
	if !r.exact {
		if _, err := r.filterNumbers(r.v); err != nil {
			if ended := r.meter.Err(); ended != nil {
				return ended
			}
			panic(err) // Filter found a sequence
		}
		r.exact = false // draws are the same before and after
	}
	f := r.sum
	if r.back == nil {
		r.back = newBackward(r.g, r.sites)
		r.back.whole = grid[[][]algebra.Number](r.sites, len(r.g.starts))
	}
	b := r.back
	for c := range r.sites {
		clear(b.weight[c])
		for _, s := range r.g.order {
			if f.need[c][s] {
				f.leaving(b.whole, c, s)
			}
		}
	}
	b.outer(f, algebra.Exp(-r.logZ))
	// A span is called before it begins, or at its own site by a start with
	// more calls before it: those come first.
	for c := range r.sites {
		for i := len(r.g.order) - 1; i >= 0; i-- {
			s := r.g.order[i]
			if !f.need[c][s] {
				continue
			}
			lv := r.g.starts[s].level
			ch := f.chartOf(lv, c, r.sites)
			x := span{c, int(s)}
			f.forward(ch, x, r.sites, nil)
			b.adjoint(f, ch, b.bar(f, lv, c), x, b.whole[c][s])
			if err := r.meter.Err(); err != nil {
				return err
			}
		}
	}
	if err := r.meter.Err(); err != nil {
		return err
	}
	r.spread(dst)
	return nil
}

// spread stores in dst the log-probabilities of all tokens, from the adjoints of the edge
// weights.
func (r *Runner) spread(dst []float64) {
	class := make([]algebra.Number, r.g.blocks.classes())
	r.classes = resize(r.classes, len(class))
	for i := range r.sites {
		clear(class)
		for w, y := range r.back.weight[i] {
			if y.M != 0 {
				for _, k := range r.g.weights.of(int32(w)) {
					class[k] = class[k].Plus(y)
				}
			}
		}
		for k, y := range class {
			r.classes[k] = y.Log()
		}
		r.tokens(i, dst[i*r.levels:(i+1)*r.levels], r.classes)
	}
}
