package trellis

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Runner computes with the sequences of one [Graph]: sums, random draws, marginals and best
// sequences. It holds the workspace of one goroutine. A method allocates on its first use and while
// its buffers grow, and not afterwards.
type Runner struct {
	g *Graph
	v []float32 // weights of the last Filter

	given []int32 // tokens passed to FilterGiven, nil otherwise

	meter poll.Meter // meter of the context given to Watch

	method method
	exact  bool // whether the sums of wide sites are in float64, too
	logZ   float64

	shift []float64 // by site, the amount subtracted from the log-weights
	sum   []float64 // by site and column, the sum over the class
	// logarithms of the class sums, for the method logarithm; nil until first needed
	logs  []float64
	sumAt []int     // offset of each site in sum
	total []float64 // by site, the log of the total of the site's class sums

	// terms of the class sums, by site and token; stored only for some sites
	term   []float64
	termAt []int     // offset of each site in term
	value  []float64 // by node, the sum over all continuations, or its log
	scale  []int     // by site, the exponent of the values' unit 2^scale
	top    []int     // by site, the binary exponent of the greatest value
	unit   []float64 // by site, 2^(scale − scale of the next site)

	cols []int32   // by site, with the offsets of sum, the columns whose sum is not zero
	nonz []float64 // class sums of the columns in cols, for one site
	colN []int     // by site, the number of columns in cols
	// by node, the nodes that can be reached under the weights, listed site by site
	active []int32
	// by site, the number of nodes listed in active, or none if all nodes count as reachable
	count []int
	seen  []bool // scratch for the widest site

	block   []float64 // by wide site and block of tokens, the sum of the block
	blockAt []int     // offset of each site in block
	lone    []int32   // by site, the only token with weight, or none
	deep    []bool    // by wide site, whether some class sum is too small to be in sum
	// copy of the weights from which the sums of wide sites were computed; nil if there are too
	// many
	kept  []float32
	fresh []bool // by site, whether kept and the sums are valid for the site
	// by site, the number of rows still not to be copied, because earlier copies were of no use
	rest []uint8
	wait []uint8   // by site, the value of rest after the last useless copy
	tops []float64 // shifts of the blocks of levels of one site

	row    []float32 // weights of one site, gathered
	prob   []float32
	weight []float64 // scratch of a draw
	ahead  [256]float64

	// state of FilterUntil: the stopper, and whether it has stopped the filter
	stop            Stopper
	stopped, paused bool
	work            int // operations since the last call of stop
	phase           phase
	passed          int     // number of sites of the current phase that are done
	shifted         float64 // in linear, the sum of the shifts of the sites done so far
	lossless        bool    // in linear, whether no value has lost a significant part to underflow
	dead            bool    // true if no node can be reached

	long struct { // scratch of the method logarithm
		sum, ahead algebra.List
		fits       bool
	}

	front []float64 // forward values, for Marginals
	// separate runner with the method logarithm, for marginals that are too small for scaled
	// numbers; nil until needed
	logarithmic *Runner
	best        *bestState
}

// method is the number format of the sums of the last Filter.
type method uint8

const (
	scaled    method = iota // float64 numbers, scaled site by site
	logarithm               // logarithms of the sums
)

// lowestSum is the least class sum that has lost no significant part in float64: 2^-1000.
const lowestSum = 0x1p-1000

// loose is the greatest binary exponent for which values are not rescaled, because rescaling
// costs a pass over the nodes.
const loose = 64

// keptWait bounds the number of rows that are not copied after copies were of no use. After the
// first useless copy, one row is not copied, then 3, 7 and 15 rows. Rows that change every time
// need no copies.
const keptWait = 15

// keptTables bounds the number of weights that a Runner copies in order to detect unchanged
// rows. The copy takes at most 64 MiB.
const keptTables = 1 << 24

// NewRunner returns a Runner for g.
func NewRunner(g *Graph) *Runner {
	r := &Runner{
		g:       g,
		shift:   make([]float64, g.sites),
		sumAt:   make([]int, g.sites+1),
		blockAt: make([]int, g.sites+1),
		lone:    make([]int32, g.sites),
		deep:    make([]bool, g.sites),
		fresh:   make([]bool, g.sites),
		rest:    make([]uint8, g.sites),
		wait:    make([]uint8, g.sites),
		total:   make([]float64, g.sites),
		termAt:  make([]int, g.sites+1),
		value:   make([]float64, g.offset[g.sites+1]),
		scale:   make([]int, g.sites+1),
		top:     make([]int, g.sites+1),
		unit:    make([]float64, g.sites),
		colN:    make([]int, g.sites),
		active:  make([]int32, g.offset[g.sites+1]),
		count:   make([]int, g.sites+1),
		seen:    make([]bool, g.widest),
	}
	columns, tokens, class := 0, 0, 0
	for t, l := range g.layers {
		r.sumAt[t+1] = r.sumAt[t] + len(l.live)
		columns = max(columns, len(l.live))
		r.termAt[t+1] = r.termAt[t]
		r.blockAt[t+1], r.lone[t] = r.blockAt[t], none
		if l.wide() {
			tokens = g.levels
			r.blockAt[t+1] += int(l.block[len(l.live)])
		} else {
			r.termAt[t+1] += len(l.tokens)
		}
		class = max(class, l.largest)
	}
	r.sum = make([]float64, r.sumAt[g.sites])
	r.block = make([]float64, r.blockAt[g.sites])
	r.term = make([]float64, r.termAt[g.sites])
	r.cols = make([]int32, r.sumAt[g.sites])
	r.nonz = make([]float64, columns)
	r.row = make([]float32, tokens)
	r.prob = make([]float32, tokens)
	r.tops = make([]float64, (tokens+blockTokens-1)/blockTokens)
	if tokens > 0 && g.sites <= keptTables/g.levels {
		r.kept = make([]float32, g.sites*g.levels)
	}
	r.weight = make([]float64, class)
	return r
}

// Watch makes later calls fail with the cause of ctx once ctx has ended. Only FilterUntil ignores
// ctx; it has a [Stopper] instead. After a call that fails because ctx has ended, the results of
// the last filter are lost.
func (r *Runner) Watch(ctx context.Context) { r.meter.Watch(ctx) }

// Unwatch ends the effect of [Runner.Watch]: later calls ignore the context.
func (r *Runner) Unwatch() { r.meter.Unwatch() }

// watched returns the meter of the watched context as a Stopper, or nil if no context is
// watched.
func (r *Runner) watched() Stopper {
	if r.meter.Context() == nil {
		return nil
	}
	return &r.meter
}

// values returns the values of the nodes of site t.
func (r *Runner) values(t int) []float64 {
	return r.value[r.g.offset[t]:r.g.offset[t+1]]
}

// sums returns the class sums of site t by column.
func (r *Runner) sums(t int) []float64 {
	if r.method == logarithm {
		return r.logs[r.sumAt[t]:r.sumAt[t+1]]
	}
	return r.sum[r.sumAt[t]:r.sumAt[t+1]]
}

// columns returns the columns of site t whose sum is not zero.
func (r *Runner) columns(t int) []int32 {
	return r.cols[r.sumAt[t] : r.sumAt[t]+r.colN[t]]
}

// nodes returns the nodes of site t that can be reached under the weights. If all or nearly all
// nodes are reachable, it may return true instead of a list.
func (r *Runner) nodes(t int) (list []int32, all bool) {
	if r.count[t] == none {
		return nil, true
	}
	o := r.g.offset[t]
	return r.active[o : o+r.count[t]], false
}

// bestState is the scratch for best sequences, in the semiring (min, +).
type bestState struct {
	cost  []float64 // by site and column, the least cost in the class
	arg   []int32   // by site and column, the smallest token with the least cost
	value []float64 // by node, the least cost of all continuations
}

// Stopper decides whether [Runner.FilterUntil] is to stop early. FilterUntil calls Done every few
// sites with the number of elementary operations since the last call. Done returns true to stop.
type Stopper interface{ Done(work int) bool }

// phase is a pass of the filter over the sites.
type phase uint8

const (
	summing  phase = iota // computes the class sums
	sweeping              // lists the nodes that can be reached
	backward              // computes the values of the nodes
)

// enter begins a phase.
func (r *Runner) enter(p phase) { r.phase, r.passed, r.shifted, r.lossless = p, 0, 0, true }

// halt adds the work of a site, plus siteWork, and reports whether the filter must stop.
func (r *Runner) halt(work int) bool {
	if r.stop == nil {
		return false
	}
	if r.work += siteWork + work; r.work >= askEvery {
		r.stopped = r.stopped || r.stop.Done(r.work)
		r.work = 0
	}
	return r.stopped
}

// siteWork is the cost of a site in every phase, in operations, apart from its levels or edges.
const siteWork = 64

// askEvery is the number of operations between two calls of Stopper.Done.
const askEvery = poll.Every

// infinite returns the error for the first of the tokens whose log-weight at site t is +Inf or
// NaN, or nil.
func (r *Runner) infinite(t int, tokens []int32) error {
	for _, v := range tokens {
		if w := float64(r.v[t*r.g.levels+int(v)]); math.IsNaN(w) || math.IsInf(w, 1) {
			return &algebra.WeightError{Site: t, Level: int(v), Weight: w}
		}
	}
	return nil
}

// MAP (maximum a posteriori) stores in x the accepted sequence of greatest weight and returns the
// log of that weight. The slice v holds the log-weight of every token at every site, sites ×
// levels; −Inf forbids a token. Among sequences of equal weight, it chooses the first in
// lexicographic order. Errors and panics are the same as for [Runner.Filter]. The results of an
// earlier Filter stay valid.
func (r *Runner) MAP(x []int32, v []float32) (logWeight float64, err error) {
	r.g.checkTable("v", len(v))
	cost, err := best(r, x, v, -1, nil)
	return 0 - cost, err // never −0
}

// Cheapest stores in x the accepted sequence of least total cost Σ_i cost[i,x_i] and returns that
// cost. The slice cost is sites × levels; +Inf forbids a token. Among sequences of equal cost, it
// chooses the first in lexicographic order. It returns a [*algebra.WeightError] if a token that the
// automaton can use has the cost NaN or −Inf. It returns a [*algebra.DeadError] if no sequence is
// left.
func (r *Runner) Cheapest(x []int32, cost []float64) (float64, error) {
	r.g.checkTable("cost", len(cost))
	return best(r, x, cost, 1, nil)
}

// Pricer computes the costs of tokens for [Runner.CheapestBy]. At each site, a token of greater
// weight must not cost more than one of smaller weight.
type Pricer interface {
	// Site is called before the first call of Price for site t.
	Site(t int) error

	// Price returns the cost of a token at the current site, or +Inf to forbid the token.
	Price(token int32) float64
}

// CheapestBy is like [Runner.Cheapest], but p computes the costs. At each site, the cost of a token
// must not increase with its log-weight in v (sites × levels). CheapestBy calls p.Price for only
// one token of each token class: the first one of greatest weight. It returns the errors of p.Site,
// and an error if a weight is NaN or +Inf.
func (r *Runner) CheapestBy(x []int32, v []float32, p Pricer) (float64, error) {
	r.g.checkTable("v", len(v))
	return best(r, x, v, -1, p)
}

// best computes the least costs by the (min, +) recursion and stores in x the sequence of least
// cost. If p is nil, the costs are sign·v. Otherwise p sets the costs.
func best[W float32 | float64](r *Runner, x []int32, v []W, sign float64, p Pricer) (float64, error) {
	g := r.g
	g.checkSequence(x)
	if err := costs(r, v, sign, p); err != nil {
		return 0, err
	}
	b := r.best
	q := int32(0)
	for t, l := range g.layers {
		ahead := b.value[g.offset[t+1]:]
		goal := b.value[g.offset[t]+int(q)]
		to, token := int32(none), int32(math.MaxInt32)
		for e := l.row[q]; e < l.row[q+1]; e++ {
			c := r.sumAt[t] + int(l.col[e])
			if b.arg[c] < token && b.cost[c]+ahead[l.to[e]] == goal {
				to, token = l.to[e], b.arg[c]
			}
		}
		x[t], q = token, to
	}
	return b.value[0], nil
}

// costs computes the least cost of every class, and then of every node. If p is nil, the costs are
// sign·v. Otherwise p sets the costs.
func costs[W float32 | float64](r *Runner, v []W, sign float64, p Pricer) error {
	g := r.g
	if r.best == nil {
		r.best = &bestState{
			cost:  make([]float64, r.sumAt[g.sites]),
			arg:   make([]int32, r.sumAt[g.sites]),
			value: make([]float64, g.offset[g.sites+1]),
		}
	}
	for t, l := range g.layers {
		if r.meter.Done(siteWork + g.levels) {
			return r.meter.Err()
		}
		cost, arg := r.best.cost[r.sumAt[t]:], r.best.arg[r.sumAt[t]:]
		if p != nil {
			if err := p.Site(t); err != nil {
				return err
			}
		}
		if err := leastCosts(t, l, cost, arg, v[t*g.levels:(t+1)*g.levels], sign); err != nil {
			return err
		}
		for k := range l.live {
			if p == nil {
				break
			}
			if arg[k] == none { // all of weight −Inf
				arg[k] = l.class(k)[0]
			}
			cost[k] = p.Price(arg[k])
		}
	}
	return r.backwardCosts()
}

// backwardCosts computes the least cost of all continuations of every node. It returns an error
// if no sequence has a finite cost.
func (r *Runner) backwardCosts() error {
	g, b := r.g, r.best
	clear(b.value[g.offset[g.sites]:])
	for t := g.sites - 1; t >= 0; t-- {
		l := g.layers[t]
		if r.meter.Done(siteWork + len(l.to)) {
			return r.meter.Err()
		}
		cost := b.cost[r.sumAt[t]:r.sumAt[t+1]]
		l.leastSums(b.value[g.offset[t]:g.offset[t+1]], cost, b.value[g.offset[t+1]:g.offset[t+2]])
	}
	if math.IsInf(b.value[0], 1) {
		return g.dead(func(t int, k int32) bool { return !math.IsInf(b.cost[r.sumAt[t]+int(k)], 1) })
	}
	return nil
}

// leastCosts stores the least cost of every column and the smallest token with that cost, for
// the costs sign·row.
func leastCosts[W float32 | float64](t int, l *layer, cost []float64, arg []int32, row []W, sign float64) error {
	for k := range l.end {
		least, at := math.Inf(1), int32(none)
		for _, v := range l.class(k) {
			c := sign * float64(row[v])
			if c < least {
				least, at = c, v
			} else if c != c {
				return &algebra.WeightError{Site: t, Level: int(v), Weight: float64(row[v])}
			}
		}
		if math.IsInf(least, -1) {
			return &algebra.WeightError{Site: t, Level: int(at), Weight: float64(row[at])}
		}
		cost[k], arg[k] = least, at
	}
	return nil
}

// Draw stores in x an exact draw from the distribution w(x)/Z. Here w(x) is the weight of x in the
// last Filter, and Z is the sum of all weights. Draw takes one value from src per site. It takes a
// second value if the class of the token contains other tokens, and a third if the class contains
// many. Draw panics unless a Filter succeeded and len(x) = sites.
//
// Tokens are drawn from the first site to the last, by inverse CDF with 53 random bits.
func (r *Runner) Draw(x []int32, src rand.Source) {
	r.g.checkSequence(x)
	r.mustFilter()
	r.walk(x, 0, 0, src)
}

// walk draws the tokens from site t on, starting at node q.
func (r *Runner) walk(x []int32, t int, q int32, src rand.Source) {
	for ; t < len(x); t++ {
		l, e := r.g.layers[t], r.pickEdge(t, q, algebra.Unit(src))
		x[t] = r.pickToken(t, l, l.col[e], src)
		q = l.to[e]
	}
}

// mustFilter panics unless there was a successful Filter.
func (r *Runner) mustFilter() {
	if r.v == nil {
		panic("trellis: no successful Filter")
	}
}

// pickEdge returns the edge of node q at the quantile u of the distribution over its edges. The
// value of q is the sum of the same terms in the same order, so no second pass is needed.
func (r *Runner) pickEdge(t int, q int32, u float64) int32 {
	l := r.g.layers[t]
	ahead, sums, value := r.values(t+1), r.sums(t), r.values(t)[q]
	goal, logs := u, r.method == logarithm
	if !logs {
		goal *= float64(value * r.unit[t])
	}
	sum, last := 0.0, int32(none)
	for e := l.row[q]; e < l.row[q+1]; e++ {
		s, a, w := sums[l.col[e]], ahead[l.to[e]], 0.0
		if logs {
			w = simd.Exp(s + a - value)
		} else {
			w = float64(s * a)
		}
		if w > 0 {
			if sum += w; sum > goal {
				return e
			}
			last = e
		}
	}
	return last
}

// pickToken draws a token of column k with probability proportional to its weight.
func (r *Runner) pickToken(t int, l *layer, k int32, src rand.Source) int32 {
	tokens := l.class(int(k))
	if len(tokens) == 1 {
		return tokens[0]
	}
	if terms := r.terms(t); terms != nil && r.method != logarithm {
		return tokens[algebra.Pick(terms[l.begin(k):l.end[k]], r.sums(t)[k], src)]
	}
	if l.wide() {
		return r.pickWide(t, l, k, tokens, src)
	}
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	weight, m := r.weight[:len(tokens)], float32(math.Inf(-1))
	for _, v := range tokens {
		m = max(m, row[v])
	}
	total := 0.0
	for i, v := range tokens {
		weight[i] = simd.Exp(float64(row[v]) - float64(m))
		total += weight[i]
	}
	return tokens[algebra.Pick(weight, total, src)]
}

// pickWide is pickToken for wide layers. It draws a block with probability proportional to its
// sum, and then a token of the block.
func (r *Runner) pickWide(t int, l *layer, k int32, tokens []int32, src rand.Source) int32 {
	if v := r.lone[t]; v != none {
		return v
	}
	if sums := r.blocks(t, l, int(k)); len(sums) > 1 {
		total := 0.0
		for _, w := range sums {
			total += w
		}
		from, to := l.part(k, algebra.Pick(sums, total, src))
		tokens = l.tokens[from:to]
	}
	w := r.row[:len(tokens)]
	gatherRow(w, r.v[t*r.g.levels:(t+1)*r.g.levels], tokens)
	var at [1]int32
	u := [1]float64{algebra.Unit(src)}
	simd.Categorical(at[:], w, len(w), u[:])
	return tokens[at[0]]
}

// LogProb returns the log-probability log(w(x)/Z) of x under the last Filter, or −Inf if x is not
// accepted. Here w(x) is the weight of x, and Z the sum of the weights of all accepted sequences.
// LogProb panics unless a Filter succeeded and len(x) = sites.
func (r *Runner) LogProb(x []int32) float64 {
	g := r.g
	g.checkSequence(x)
	r.mustFilter()
	q := int32(0)
	sum := 0.0
	for t, l := range g.layers {
		e := g.edge(l, q, x[t])
		if e == none {
			return math.Inf(-1)
		}
		sum += float64(r.v[t*g.levels+int(x[t])])
		q = l.to[e]
	}
	return sum - r.logZ
}

// Ahead returns the logarithm of the total weight of all ways to continue a sequence from a node of
// the graph. The argument state is the node, as returned by Start or Next of the graph. The result
// is 0 after the last site, and −Inf if there is no continuation. Ahead panics unless the last
// filter was a successful [Runner.FilterLogs].
func (r *Runner) Ahead(state int) float64 {
	r.mustLogs()
	return r.value[state]
}

// DrawFrom draws the rest of a sequence from its exact distribution, given that the sequence has
// reached a node of the graph. The argument state is this node. DrawFrom stores the tokens in x,
// beginning at the node's site, and returns this site. It panics unless the last filter was a
// successful [Runner.FilterLogs] and len(x) = sites.
func (r *Runner) DrawFrom(x []int32, state int, src rand.Source) (site int) {
	g := r.g
	g.checkSequence(x)
	r.mustLogs()
	site = g.site(state)
	r.walk(x, site, int32(state-g.offset[site]), src)
	return site
}

// mustLogs panics unless the last filter was a successful FilterLogs.
func (r *Runner) mustLogs() {
	r.mustFilter()
	if r.method != logarithm {
		panic("trellis: no successful FilterLogs")
	}
}

// Filter prepares methods such as Draw and Marginals. The slice v holds the log-weight of every
// token at every site (sites × levels). For every node of the graph, it sums the weights of all
// continuations, from the last site to the first. It returns the log of the normaliser,
//
//	log Z = log Σ_{x accepted} ∏_i exp(v[i,x_i]).
//
// It returns a [*algebra.DeadError] if Z is zero. It returns a [*algebra.WeightError] if the
// log-weight of a token that the automaton can use is NaN or +Inf. Log-weights of other tokens are
// not read. The runner keeps a reference to v until the next Filter. Filter panics unless len(v) =
// sites·levels.
func (r *Runner) Filter(v []float32) (logZ float64, err error) {
	return r.under(scaled, v, false)
}

// under filters by a method under the watched context. It returns the cause of the context if that
// has stopped the filter.
func (r *Runner) under(m method, v []float32, exact bool) (logZ float64, err error) {
	logZ, err = r.until(m, v, r.watched(), false, exact)
	r.paused = false // only FilterUntil goes on
	if err == ErrStopped && r.meter.Err() != nil {
		err = r.meter.Err()
	}
	return logZ, err
}

// FilterGiven is like [Runner.Filter] with some tokens fixed. At a site i with given[i] ≥ 0, only
// the token given[i] is possible, with log-weight 0. The row of v for this site is not read, and
// may be overwritten. Of the methods that use a filter's results, only Draw may be called
// afterwards. FilterGiven panics unless len(given) = sites and all given tokens are below levels.
func (r *Runner) FilterGiven(v []float32, given []int32) (logZ float64, err error) {
	r.g.checkTable("v", len(v))
	r.g.checkSequence(given)
	for t, token := range given {
		if token < 0 {
			continue
		}
		row := v[t*r.g.levels : (t+1)*r.g.levels]
		_ = row[token]
		if r.g.layers[t].wide() {
			continue
		}
		for l := range row {
			row[l] = float32(math.Inf(-1))
		}
		row[token] = 0
	}
	r.given = given
	logZ, err = r.Filter(v)
	r.given = nil
	return logZ, err
}

// FilterLogs is like [Runner.Filter] but computes with logarithms throughout. The sum of every node
// keeps its relative precision, however small the node's share of the total. [Runner.Ahead] and
// [Runner.DrawFrom] require it.
func (r *Runner) FilterLogs(v []float32) (logZ float64, err error) {
	return r.under(logarithm, v, false)
}

// FilterExact is like [Runner.Filter] but computes all sums in float64. Of the methods that use a
// filter's results, only LogZ, LogProb and Marginals may be called afterwards.
func (r *Runner) FilterExact(v []float32) (logZ float64, err error) {
	return r.under(scaled, v, true)
}

// Marginals stores in dst (sites × levels) the log-probabilities
//
//	dst[i,l] = log P(x_i = l) = log Σ_{x: x_i=l} w(x)/Z
//
// under the distribution w(x)/Z of the last Filter. An entry is −Inf for a token that cannot occur.
// If probabilities of possible tokens would underflow to zero, Marginals repeats the filter with
// logarithms; this does not affect draws. Marginals returns an error only if a watched context ends
// (see [Runner.Watch]). It panics unless a Filter succeeded and len(dst) = sites·levels.
func (r *Runner) Marginals(dst []float64) error {
	g := r.g
	g.checkTable("dst", len(dst))
	r.mustFilter()
	if r.front == nil {
		r.front = make([]float64, 2*g.widest+len(r.nonz))
	}
	for i := range dst {
		dst[i] = math.Inf(-1)
	}
	here, next := r.front[:g.widest], r.front[g.widest:2*g.widest]
	post := r.front[2*g.widest:]
	if r.method != logarithm {
		if r.lossless && r.scaledMarginals(dst, here, next, post) {
			return nil
		}
		if err := r.meter.Err(); err != nil {
			return err
		}
		if r.logarithmic == nil {
			r.logarithmic = NewRunner(g)
		}
		r.logarithmic.Watch(r.meter.Context())
		if _, err := r.logarithmic.under(logarithm, r.v, r.exact); err != nil {
			if ended := r.logarithmic.meter.Err(); ended != nil {
				return ended
			}
			panic(err) // the last Filter took the same weights
		}
		return r.logarithmic.Marginals(dst)
	}
	r.logMarginals(dst, here, next, post)
	return r.meter.Err()
}

// ErrStopped is the error of [Runner.FilterUntil] if it was stopped.
var ErrStopped = errors.New("trellis: stopped")

// FilterUntil is like [Runner.Filter], but a [Stopper] can end it early with the error
// [ErrStopped]. If stop is nil, FilterUntil runs to the end. After ErrStopped, the runner has no
// results, and those of earlier filters are lost. A call with resume = true continues where the
// last call was stopped; the log-weights v must be unchanged.
func (r *Runner) FilterUntil(v []float32, stop Stopper, resume bool) (logZ float64, err error) {
	return r.until(scaled, v, stop, resume, false)
}

func (r *Runner) until(m method, v []float32, stop Stopper, again, exact bool) (logZ float64, err error) {
	r.g.checkTable("v", len(v))
	r.exact = exact
	if !again || !r.paused {
		r.begin(m)
	}
	r.v, r.stop, r.stopped, r.work = v, stop, false, 0
	logZ, err = r.filter()
	r.paused, r.stop = r.stopped, nil
	if r.stopped {
		r.v = nil
		return 0, ErrStopped
	}
	return logZ, err
}

// filter runs the remaining phases, with scaled numbers first. If these are not accurate
// enough, it repeats the phases with logarithms.
func (r *Runner) filter() (logZ float64, err error) {
	for {
		if r.phase == summing {
			if err := r.allSums(); err != nil {
				return 0, err
			}
			r.enter(sweeping)
		}
		if r.phase == sweeping {
			if r.dead = !r.sweep(); r.stopped {
				return 0, ErrStopped
			}
			r.enter(backward)
		}
		ok := !r.dead
		switch {
		case !ok:
		case r.method == logarithm:
			ok = r.logarithms()
		default:
			done, clean := r.linear()
			ok = done && (clean || r.certified())
		}
		switch {
		case r.stopped:
			return 0, ErrStopped
		case ok:
			return r.logZ, nil
		case r.method == logarithm:
			r.v, r.stop = nil, nil
			return 0, r.g.dead(func(t int, k int32) bool { return r.sums(t)[k] > r.zero() })
		}
		r.begin(logarithm)
	}
}

// begin starts the first phase of a method.
func (r *Runner) begin(m method) {
	r.method = m
	if m == logarithm && r.logs == nil {
		r.logs = make([]float64, len(r.sum))
	}
	r.enter(summing)
}

// LogZ returns log Z, the result of the last successful Filter.
func (r *Runner) LogZ() float64 { return r.logZ }

// allSums computes the class sums of every site.
func (r *Runner) allSums() error {
	for ; r.passed < len(r.g.layers); r.passed++ {
		if r.halt(r.g.levels) {
			return ErrStopped
		}
		if err := r.classSums(r.passed); err != nil {
			return err
		}
	}
	return nil
}

// sweep lists the nodes that are reachable under the weights. It does so only where this is likely
// to save work later, which is after sites at which few tokens are left. It returns false if a site
// has no reachable node, or if the stopper ends the filter.
func (r *Runner) sweep() bool {
	g := r.g
	r.count[0] = none // one node
	for ; r.passed < len(g.layers); r.passed++ {
		if r.halt(0) {
			return false
		}
		t, l := r.passed, g.layers[r.passed]
		list, all := r.nodes(t)
		cols := r.columns(t)
		if len(cols) == 0 {
			return false
		}
		few := 4*len(cols) <= len(l.live)
		many := all && l.n > 1 || 2*len(list) > l.n
		if many && !few || l.n == 1 && len(cols) == len(l.live) {
			r.count[t+1] = none
			continue
		}
		seen := r.seen[:l.next]
		clear(seen)
		sums, zero := r.sums(t), r.zero()
		switch {
		case all && len(cols) <= len(l.to)/(sought*l.n):
			for q, from := range l.row[:l.n] {
				row := l.col[from:l.row[q+1]]
				for _, k := range cols {
					if e, ok := slices.BinarySearch(row, k); ok {
						seen[l.to[int(from)+e]] = true
					}
				}
			}
		case all:
			for e, to := range l.to {
				seen[to] = seen[to] || sums[l.col[e]] > zero
			}
		}
		for _, q := range list {
			for e := l.row[q]; e < l.row[q+1]; e++ {
				if sums[l.col[e]] > zero {
					seen[l.to[e]] = true
				}
			}
		}
		out := r.active[g.offset[t+1]:g.offset[t+2]]
		n := 0
		for q, s := range seen {
			if s {
				out[n] = int32(q)
				n++
			}
		}
		if n == 0 {
			return false
		}
		r.count[t+1] = n
		if n == l.next {
			r.count[t+1] = none
		}
	}
	return true
}

// sought bounds the number of columns for which the edges of a node are searched. If a node has on
// average at least this number of edges for each column that is left, searching for the columns is
// faster than passing over the edges (BenchmarkGiven).
const sought = 16

// zero returns the representation of an empty sum.
func (r *Runner) zero() float64 {
	if r.method == logarithm {
		return math.Inf(-1)
	}
	return 0
}

// linear computes values, scales and logZ with scaled numbers, from the last site to the first. The
// result done is false if the values of a site or the total underflowed. The result clean is true
// if no significant part of a value underflowed.
func (r *Runner) linear() (done, clean bool) {
	g := r.g
	last := r.values(g.sites)
	for q := range last {
		last[q] = 1
	}
	r.scale[g.sites], r.top[g.sites] = 0, 0
	for ; r.passed < g.sites; r.passed++ {
		t := g.sites - 1 - r.passed
		l := g.layers[t]
		if r.halt(len(l.to)) {
			return false, false
		}
		here := r.values(t)
		frac, e := math.Frexp(r.layerSums(t, l))
		if frac == 0 || e < -1000 {
			return false, false
		}
		r.lossless = r.lossless && !r.deep[t] && r.clean(t, l)
		r.unit[t], r.scale[t], r.top[t] = 1, r.scale[t+1], e
		if e > loose || e < -loose {
			r.unit[t] = math.Ldexp(1, e)
			up := math.Ldexp(1, -e)
			for q := range here {
				here[q] *= up
			}
			r.scale[t] += e
			r.top[t] = 0
		}
		r.shifted += r.shift[t]
	}
	r.logZ = simd.Log(r.values(0)[0]) + float64(float64(r.scale[0])*math.Ln2) + r.shifted
	return true, r.lossless
}

// clean reports whether no node of site t has lost a significant part of its value, given that
// no node of the next site has.
//
// The values of the next site are at most 2^loose, and class sums are at most the number of
// tokens. Each product that is lost, or that has a lost factor, is therefore below
// 2^(−1074+loose+32). A value above 2^low loses at most the fraction 2^(900−978+31) in this
// way. A smaller value is acceptable only for a node that leads nowhere.
func (r *Runner) clean(t int, l *layer) bool {
	list, all := r.nodes(t)
	here := r.values(t)
	if all {
		for q, w := range here {
			if w < lowest && !r.leadsNowhere(t, l, int32(q)) {
				return false
			}
		}
		return true
	}
	for _, q := range list {
		if here[q] < lowest && !r.leadsNowhere(t, l, q) {
			return false
		}
	}
	return true
}

// leadsNowhere reports whether, on every edge of node q, the class has no weight or the target
// has the value 0.
func (r *Runner) leadsNowhere(t int, l *layer, q int32) bool {
	sums, ahead := r.sums(t), r.values(t+1)
	for e := l.row[q]; e < l.row[q+1]; e++ {
		if sums[l.col[e]] > 0 && ahead[l.to[e]] > 0 {
			return false
		}
	}
	return true
}

// layerSums computes the values of site t from the values of the next site, in the units of the
// next site. It returns the greatest value.
func (r *Runner) layerSums(t int, l *layer) (top float64) {
	list, all := r.nodes(t)
	here, ahead, sums := r.values(t), r.values(t+1), r.sums(t)
	switch {
	case l.dense != nil && (all || 2*len(list) > l.n):
		copy(r.ahead[:dead], ahead) // the value of dead stays 0
		cols := r.columns(t)
		s := r.nonz[:len(cols)]
		for i, k := range cols {
			s[i] = sums[k]
		}
		l.denseSums(here, cols, s, &r.ahead)
		top = slices.Max(here)
	case !all:
		clear(here)
		for _, q := range list {
			here[q] = l.nodeSum(q, sums, ahead)
			top = max(top, here[q])
		}
	default:
		top = l.sparseSums(here, sums, ahead)
	}
	return top
}

// Bounds for certified. float64 loses an exponential or a product below exp(logTiny) = 2^-1074.
// Losses below exp(−margin) ≈ 1e-17 of the result are accepted. A node whose value is above
// 2^low, in the units of its site, has lost no significant part.
const (
	logTiny = -1074 * math.Ln2
	margin  = 39
	low     = -900
)

// lowest is 2^low.
const lowest = 0x1p-900

// certified reports whether the total of all terms that linear may have lost to underflow is
// negligible.
//
// At site t, each token may have lost at most exp(logTiny) times the greatest value of the next
// site, and each column at most exp(logTiny), in the units of the next site's values. The sites
// before t multiply this loss by at most the totals of their class sums. Therefore
//
//	log lost_t ≤ Σ_{i<t} total_i + log(tokens + columns) + logTiny + (scale_{t+1} + top_{t+1})·log 2,
//
// where top is the binary exponent of the greatest value, or 0 if 0 is larger. The bound is
// compared with log Z without its shifts.
func (r *Runner) certified() bool {
	g := r.g
	result := r.logZ
	for _, shift := range r.shift {
		result -= shift
	}
	limit := result - margin - simd.Log(float64(g.sites)) - logTiny
	before := 0.0
	for t, l := range g.layers {
		top := max(0, r.top[t+1])
		lost := before + l.logSize + float64(float64(r.scale[t+1]+top)*math.Ln2)
		if !(lost <= limit) {
			return false
		}
		before += r.total[t]
	}
	return true
}

// logarithms computes the same values as linear, but as logarithms, for weights of any size. It
// returns false if no sequence has weight.
//
// Within a site, it uses numbers mantissa·2^exponent ([algebra.List]). This takes one logarithm
// per node instead of one exponential per edge.
func (r *Runner) logarithms() bool {
	g := r.g
	clear(r.values(g.sites))
	for ; r.passed < g.sites; r.passed++ {
		t := g.sites - 1 - r.passed
		l := g.layers[t]
		if r.halt(logWork * len(l.to)) {
			return false
		}
		here, ahead, sums := r.values(t), r.values(t+1), r.sums(t)
		r.scale[t] = 0
		r.long.fits = r.long.ahead.Load(ahead) && r.long.sum.Load(sums)
		list, all := r.nodes(t)
		if all {
			for q := range here {
				here[q] = r.nodeLog(l, int32(q), sums, ahead)
			}
			continue
		}
		for q := range here {
			here[q] = math.Inf(-1)
		}
		for _, q := range list {
			here[q] = r.nodeLog(l, q, sums, ahead)
		}
	}
	r.logZ = r.values(0)[0]
	return !math.IsInf(r.logZ, -1)
}

// logWork is the cost of an edge in logarithms, relative to its cost in linear.
const logWork = 8

// nodeLog returns log Σ exp(sum + ahead) over the edges of node q, where sums and ahead are
// logarithms.
func (r *Runner) nodeLog(l *layer, q int32, sums, ahead []float64) float64 {
	from, end := l.row[q], l.row[q+1]
	cols, targets := l.col[from:end], l.to[from:end]
	if r.long.fits {
		return r.long.sum.LogDot(&r.long.ahead, cols, targets)
	}
	top := math.Inf(-1)
	for e, k := range cols {
		top = max(top, sums[k]+ahead[targets[e]])
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for e, k := range cols {
		sum += simd.Exp(sums[k] + ahead[targets[e]] - top)
	}
	return top + simd.Log(sum)
}

// scaledMarginals is Marginals with scaled numbers instead of logarithms. It returns false if a
// product underflowed or came close to it, or if the watched context has ended.
func (r *Runner) scaledMarginals(dst, here, next, post []float64) bool {
	g := r.g
	here[0] = 1
	exponent := 0 // here is in units of 2^exponent
	first := simd.Log(r.values(0)[0])
	for t, l := range g.layers {
		if r.meter.Done(siteWork+g.levels+len(l.to)) || !r.pushForward(t, l, here[:l.n], next[:l.next], post[:len(l.live)]) {
			return false
		}
		units := float64(exponent+r.scale[t+1]-r.scale[0]) * math.Ln2
		r.spread(dst, t, l, post, func(p float64) float64 { return simd.Log(p) + units - first - r.shift[t] })
		if _, e := math.Frexp(slices.Max(next[:l.next])); e > loose || e < -loose {
			for q := range next[:l.next] {
				next[q] = math.Ldexp(next[q], -e)
			}
			exponent += e
		}
		here, next = next, here
	}
	return true
}

// pushForward sums the forward values of site t over its edges. For each edge, it adds
// forward·(class sum) to the target's entry of dst, and forward·(value ahead) to the column's entry
// of post. It returns false if a nonzero product is below 2^low.
func (r *Runner) pushForward(t int, l *layer, forward, dst, post []float64) bool {
	clear(dst)
	clear(post)
	sums, ahead, value := r.sums(t), r.values(t+1), r.values(t)
	for q, a := range forward {
		if a == 0 || value[q] == 0 {
			continue
		}
		for e := l.row[q]; e < l.row[q+1]; e++ {
			k, to := l.col[e], l.to[e]
			p, n := float64(a*ahead[to]), float64(a*sums[k])
			if p < lowest && ahead[to] > 0 || n < lowest && sums[k] > 0 {
				return false
			}
			post[k] += p
			dst[to] += n
		}
	}
	return true
}

// spread stores in row t of dst the log-probabilities of the tokens: each log-weight plus
// base(post[k]), where k is the column of the token.
func (r *Runner) spread(dst []float64, t int, l *layer, post []float64, base func(float64) float64) {
	for k := range l.end {
		if b := base(post[k]); !math.IsInf(b, -1) {
			for _, v := range l.class(k) {
				dst[t*r.g.levels+int(v)] = float64(r.v[t*r.g.levels+int(v)]) + b
			}
		}
	}
}

// logMarginals is Marginals for the method logarithm.
func (r *Runner) logMarginals(dst, here, next, post []float64) {
	g := r.g
	here[0] = 0
	for t, l := range g.layers {
		if r.meter.Done(siteWork + g.levels + len(l.to)) {
			return
		}
		sums, ahead := r.sums(t), r.values(t+1)
		next, post := next[:l.next], post[:len(l.live)]
		for i := range next {
			next[i] = math.Inf(-1)
		}
		for i := range post {
			post[i] = math.Inf(-1)
		}
		for q, a := range here[:l.n] {
			for e := l.row[q]; e < l.row[q+1]; e++ {
				k, to := l.col[e], l.to[e]
				post[k] = simd.LogAdd(post[k], a+ahead[to])
				next[to] = simd.LogAdd(next[to], a+sums[k])
			}
		}
		r.spread(dst, t, l, post, func(p float64) float64 { return p - r.logZ })
		copy(here, next)
	}
}

// classSums computes the class sums of site t by the current method, and lists the columns
// whose sum is not zero.
func (r *Runner) classSums(t int) error {
	l := r.g.layers[t]
	s := r.sums(t)
	var err error
	switch {
	case r.method == logarithm && l.wide() && !r.exact:
		r.wideLogs(t, l, s)
	case r.method == logarithm:
		err = r.logSums(t, l, s)
	case l.wide() && !r.exact:
		err = r.wideSums(t, l, s)
	default:
		err = r.doubleSums(t, l, s)
		r.fresh[t], r.lone[t] = false, none
		r.deep[t] = r.sinks(t, l, s)
	}
	if err != nil {
		return err
	}
	cols, n, zero := r.cols[r.sumAt[t]:r.sumAt[t+1]], 0, r.zero()
	for k, w := range s {
		cols[n] = int32(k)
		if w > zero {
			n++
		}
	}
	r.colN[t] = n
	return nil
}

// sinks reports whether the sum of some class is below lowestSum although one of its tokens has
// weight.
func (r *Runner) sinks(t int, l *layer, s []float64) bool {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	for k, w := range s {
		if w < lowestSum && slices.ContainsFunc(l.class(k), func(v int32) bool { return !math.IsInf(float64(row[v]), -1) }) {
			return true
		}
	}
	return false
}

// greatest returns the greatest log-weight of the tokens at site t. It returns an error if one
// of them is NaN or +Inf.
func (r *Runner) greatest(t int, tokens []int32) (float64, error) {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	m := float32(math.Inf(-1))
	for _, v := range tokens {
		w := row[v]
		if w > m {
			m = w
		} else if w != w {
			return 0, &algebra.WeightError{Site: t, Level: int(v), Weight: float64(w)}
		}
	}
	if math.IsInf(float64(m), 1) {
		return 0, r.infinite(t, tokens)
	}
	return float64(m), nil
}

// doubleSums stores Σ exp(w − shift) of every class in float64, and the terms if draws will
// need them.
func (r *Runner) doubleSums(t int, l *layer, s []float64) error {
	m, err := r.greatest(t, l.tokens)
	if err != nil {
		return err
	}
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	r.shift[t] = m
	if math.IsInf(m, -1) {
		clear(s)
		r.total[t] = m
		return nil
	}
	if terms := r.terms(t); terms != nil {
		for i, v := range l.tokens {
			terms[i] = simd.Exp(float64(row[v]) - m)
		}
		r.total[t] = simd.Log(l.sumTerms(s, terms))
		return nil
	}
	total := 0.0
	for k := range s {
		s[k] = r.exactSum(l.class(k), row, m)
		total += s[k]
	}
	r.total[t] = simd.Log(total)
	return nil
}

// exactSum returns Σ exp(row[v] − m) over the tokens v, with a relative error below 1e-12.
func (r *Runner) exactSum(tokens []int32, row []float32, m float64) (sum float64) {
	for len(tokens) > 0 {
		terms := r.weight[:min(len(tokens), blockTokens)]
		simd.ExpGather(terms, row, tokens[:len(terms)], m)
		part := 0.0
		for _, p := range terms {
			part += p
		}
		sum += part
		tokens = tokens[len(terms):]
	}
	return sum
}

// terms returns the stored terms of the class sums of site t, in the order of the layer's
// tokens. It returns nil if they are not stored because there are too many.
func (r *Runner) terms(t int) []float64 {
	if r.termAt[t+1] == r.termAt[t] {
		return nil
	}
	return r.term[r.termAt[t]:r.termAt[t+1]]
}

// logSums stores the logs of the class sums. Each class is shifted by its own greatest weight;
// there is no common shift.
func (r *Runner) logSums(t int, l *layer, s []float64) error {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	for k := range s {
		tokens := l.class(k)
		m, err := r.greatest(t, tokens)
		if err != nil {
			return err
		}
		s[k] = m
		if len(tokens) == 1 || math.IsInf(m, -1) {
			continue
		}
		sum := 0.0
		for _, v := range tokens {
			sum += simd.Exp(float64(row[v]) - m)
		}
		s[k] += simd.Log(sum)
	}
	return nil
}

// Bounds for wideSums. The float32 kernels lose an exponential below exp(logTiny32). A class is
// summed again with its own shift if the loss may exceed exp(−margin32) of its sum. If a class
// sum is below exp(logDeep) times the greatest weight, linear cannot represent it.
const (
	logTiny32 = -87.4
	margin32  = 20
	logDeep   = -690
)

// wideSums is doubleSums with exponentials in float32, relative error about 1e-7. If the automaton
// can use half of the tokens, the row is shifted by its greatest weight. Otherwise it is shifted by
// the greatest weight of a usable token. A class that may have lost too much is summed again with
// its own shift. A row that has not changed since the last Filter is only compared, not summed
// again. A row with a single token takes little more time than that.
func (r *Runner) wideSums(t int, l *layer, s []float64) error {
	if r.given != nil && r.given[t] >= 0 {
		r.fresh[t], r.deep[t] = false, false
		r.only(t, l, s, r.given[t], 0)
		return nil
	}
	row, keep := r.v[t*r.g.levels:(t+1)*r.g.levels], false
	if r.kept != nil {
		kept := r.kept[t*r.g.levels : (t+1)*r.g.levels]
		if r.fresh[t] {
			if simd.Same(kept, row) {
				r.wait[t] = 0
				return nil
			}
			r.wait[t] = min(2*r.wait[t]+1, keptWait)
			r.rest[t] = r.wait[t]
		}
		r.fresh[t] = false
		if keep = r.rest[t] == 0; keep {
			copy(kept, row)
		} else {
			r.rest[t]--
		}
	}
	r.lone[t], r.deep[t] = none, false
	if v := loneToken(row); v != none && r.g.usable(l, v) {
		r.only(t, l, s, v, float64(row[v]))
	} else if err := r.singleSums(t, l, s, row); err != nil {
		return err
	}
	r.fresh[t] = keep
	return nil
}

// only stores the class sums of a row in which only token v has weight, with log-weight w.
func (r *Runner) only(t int, l *layer, s []float64, v int32, w float64) {
	clear(s)
	r.shift[t], r.total[t], r.lone[t] = w, math.Inf(-1), none
	if r.g.usable(l, v) {
		s[l.column[r.g.classes[v]]] = 1
		r.total[t], r.lone[t] = 0, v
	}
}

// loneToken returns the only token of the row with a weight above −Inf, or none if there are
// several or none.
func loneToken(row []float32) int32 {
	never := float32(math.Inf(-1))
	n := len(row)
	if n > 3 && (row[0] != never && row[n-1] != never || row[n/2] != never && row[n/3] != never) {
		return none // quick for most rows that have others
	}
	var at [1]int32
	simd.ArgMax(at[:], row, n)
	m := int(at[0])
	if m < 0 || math.IsInf(float64(row[m]), 1) {
		return none
	}
	for _, rest := range [2][]float32{row[:m], row[m+1:]} {
		if len(rest) == 0 {
			continue
		}
		if simd.ArgMax(at[:], rest, len(rest)); at[0] >= 0 {
			return none
		}
	}
	return int32(m)
}

// singleSums computes the class sums of a row with several tokens in float32.
func (r *Runner) singleSums(t int, l *layer, s []float64, row []float32) error {
	var total [1]float64
	if 2*len(l.tokens) < len(row) {
		// The listed ones alone.
	} else if l.marks != nil {
		if r.gatherMarked(t, l, s, row) {
			r.settle(t, l, s, row)
			return nil
		}
	} else if top := simd.Peak(row); !math.IsInf(float64(top), 1) {
		p := r.prob[:len(row)]
		if simd.WeightsFrom(p, row, top) > 0 {
			r.shift[t] = float64(top)
			r.gather(t, l, s, p)
			r.settle(t, l, s, row)
			return nil
		}
	}
	m := gatherRow(r.row[:len(l.tokens)], row, l.tokens)
	r.shift[t] = float64(m)
	simd.Weights(r.prob[:len(l.tokens)], total[:], r.row[:len(l.tokens)], len(l.tokens), 0)
	if math.IsInf(float64(m), 1) || math.IsNaN(total[0]) {
		return r.infinite(t, l.tokens)
	}
	if total[0] == 0 {
		clear(s)
		r.total[t] = math.Inf(-1)
		return nil
	}
	for k, end := range l.end {
		s[k] = r.blockSums(t, l, k, r.prob[l.begin(int32(k)):end])
	}
	r.settle(t, l, s, row)
	return nil
}

// gatherRow stores the weights of the tokens in w and returns the greatest.
func gatherRow(w, row []float32, tokens []int32) float32 {
	m := float32(math.Inf(-1))
	for i, v := range tokens {
		x := row[v]
		w[i] = x
		if x > m {
			m = x
		}
	}
	return m
}

// blocks returns the sums of the blocks of column k at site t. The slice is part of r.block.
func (r *Runner) blocks(t int, l *layer, k int) []float64 {
	o := r.blockAt[t]
	return r.block[o+int(l.block[k]) : o+int(l.block[k+1])]
}

// gather sums the weights p of all levels by class, block by block. Each block is added in four
// partial sums.
func (r *Runner) gather(t int, l *layer, s []float64, p []float32) {
	for k := range s {
		tokens := l.class(k)
		s[k] = 0
		for b := range r.blocks(t, l, k) {
			part := tokens[b*blockTokens : min((b+1)*blockTokens, len(tokens))]
			sum := 0.0
			{
				var a, b, c, d float64
				for len(part) >= 4 {
					a += float64(p[part[0]])
					b += float64(p[part[1]])
					c += float64(p[part[2]])
					d += float64(p[part[3]])
					part = part[4:]
				}
				for _, v := range part {
					a += float64(p[v])
				}
				sum = (a + b) + (c + d)
			}
			r.blocks(t, l, k)[b] = sum
			s[k] += sum
		}
	}
}

// gatherMarked is [Runner.gather] for marked columns. It reads the row itself. Each block is
// exponentiated with its own shift, and summed while the block is in the first-level cache. At the
// end, the sums are converted to the shift of the site, which is the greatest of the blocks'
// shifts. It returns false if there is a NaN, a +Inf or no weight.
func (r *Runner) gatherMarked(t int, l *layer, s []float64, row []float32) bool {
	const groups = blockTokens / groupLevels
	shift := math.Inf(-1)
	for b, from := 0, 0; from < len(row); b, from = b+1, from+blockTokens {
		part := row[from:min(from+blockTokens, len(row))]
		first, to := b*groups, min((b+1)*groups, len(l.marks[0]))
		p, top := r.prob[:len(part)], simd.Peak(part)
		all := 0.0
		for k := 0; k < len(l.marks); k += 2 {
			other := min(k+1, len(l.marks)-1)
			sums := simd.WeightsMarked(p, part, top, [2][]uint16{l.marks[k][first:to], l.marks[other][first:to]})
			r.blocks(t, l, k)[b], r.blocks(t, l, other)[b] = sums[0], sums[1]
			all += sums[0] + sums[1]
		}
		switch {
		case math.IsNaN(all):
			return false
		case all > 0 || top != 0 || slices.Contains(part, 0): // of tokens without a class, too
			r.tops[b] = float64(top)
		default:
			r.tops[b] = math.Inf(-1)
		}
		shift = max(shift, r.tops[b])
	}
	if math.IsInf(shift, 0) {
		return false
	}
	r.shift[t] = shift
	clear(s)
	for b := range (len(row) + blockTokens - 1) / blockTokens {
		scale := 1.0
		if r.tops[b] < shift {
			scale = simd.Exp(r.tops[b] - shift)
		}
		for k := range l.marks {
			sums := r.blocks(t, l, k)
			sums[b] = float64(sums[b] * scale)
			s[k] += sums[b]
		}
	}
	return true
}

// blockSums stores the sums of the blocks of column k and returns the total. p holds the
// weights of the column's tokens.
func (r *Runner) blockSums(t int, l *layer, k int, p []float32) (sum float64) {
	blocks, begin := r.blocks(t, l, k), l.begin(int32(k))
	for b := range blocks {
		from, to := l.part(int32(k), b)
		blocks[b] = simd.Sum(p[from-begin : to-begin])
		sum += blocks[b]
	}
	return sum
}

// settle recomputes the sums of classes that are so small, compared with the greatest weight, that
// the kernel may have lost part of them. Each such class is shifted by its own greatest weight.
// Finally, settle stores the total.
func (r *Runner) settle(t int, l *layer, s []float64, row []float32) {
	all := 0.0
	for k := range s {
		if s[k] < float64(float64(len(l.class(k)))*lossy) {
			sum, m := r.ownSum(t, l, k, row)
			s[k] = 0
			if sum > 0 {
				s[k] = float64(sum * simd.Exp(m-r.shift[t]))
				r.deep[t] = r.deep[t] || m-r.shift[t] < logDeep
			}
		}
		all += s[k]
	}
	r.total[t] = simd.Log(all)
}

// lossy is exp(logTiny32+margin32), rounded up. A class is summed again if its sum is below
// lossy times its number of tokens.
const lossy = 5.4e-30

// ownSum returns the sum of column k, shifted by the column's greatest log-weight m. The sum is 0
// if m is −Inf.
func (r *Runner) ownSum(t int, l *layer, k int, row []float32) (sum, m float64) {
	tokens := l.class(k)
	w := r.row[:len(tokens)]
	m = float64(gatherRow(w, row, tokens))
	if math.IsInf(m, -1) {
		return 0, m
	}
	var total [1]float64
	simd.Weights(w, total[:], w, len(w), 0)
	return r.blockSums(t, l, k, w), m
}

// wideLogs stores in s the logs of the class sums that wideSums computed.
func (r *Runner) wideLogs(t int, l *layer, s []float64) {
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	for k, w := range r.sum[r.sumAt[t]:r.sumAt[t+1]] {
		s[k] = math.Inf(-1)
		if w >= lowestSum {
			s[k] = r.shift[t] + simd.Log(w)
		} else if r.deep[t] {
			if sum, m := r.ownSum(t, l, k, row); sum > 0 {
				s[k] = m + simd.Log(sum)
			}
		}
	}
}
