package trellis

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Runner is the scratch of one worker on one graph. Its methods do not allocate once its buffers
// have grown, except on the first use of each operation.
type Runner struct {
	g *Graph
	v []float32 // weights of the last Filter

	given []int32 // tokens that FilterGiven is given, nil otherwise

	meter poll.Meter // of the context that Watch was given

	method method
	logZ   float64

	shift []float64 // by site: what the weights were shifted by
	sum   []float64 // by site and column: the sums over classes
	logs  []float64 // their logs, where they were asked for
	sumAt []int     // offset of each site in sum
	total []float64 // by site: the log of the sum of sums

	term   []float64 // by site and token: the terms of sum, where they are kept
	termAt []int     // offset of each site in term
	value  []float64 // by node: the sum over all that can follow, or its log
	scale  []int     // by site: values are in units of 2^scale
	top    []int     // by site: binary exponent of the greatest value
	unit   []float64 // by site: 2^(scale−scale of the next site)

	cols   []int32   // by site, as sum: the columns whose sum is not zero
	nonz   []float64 // the sums of those columns, for one site
	colN   []int     // by site: how many there are
	active []int32   // by node: those that can be met, site by site
	count  []int     // by site: how many of active, or none for all nodes
	seen   []bool    // scratch of the widest site

	block   []float64 // by wide site and block of tokens: their sum
	blockAt []int     // offset of each site in block
	lone    []int32   // by site: the only token that has weight, or none
	deep    []bool    // by wide site: some class sum is too small for sum
	kept    []float32 // the weights that the sums of wide sites are of, nil if too many
	fresh   []bool    // by site: they are, and without an error
	rest    []uint8   // by site: how many rows not to copy, because copies were of no use
	wait    []uint8   // by site: what rest was at the last such copy
	tops    []float64 // by block of levels: their shifts, of one site

	row    []float32 // gathered weights of one site
	prob   []float32
	weight []float64 // scratch of a draw
	ahead  [256]float64

	// Of FilterUntil: where it stands.
	stop            Stopper
	stopped, paused bool
	work            int // since stop was asked
	phase           phase
	passed          int     // sites of the phase that are done
	shifted         float64 // what their weights were shifted by, in linear
	lossless        bool    // no value has lost anything that matters, in linear
	dead            bool    // no node can be met

	long struct { // scratch of logarithms
		sum, ahead algebra.List
		fits       bool
	}

	front       []float64 // forward values, for marginals
	logarithmic *Runner   // for marginals that numbers lose, nil until then
	best        *bestState
}

// method is how the sums of the last Filter were taken.
type method uint8

const (
	scaled    method = iota // numbers, scaled site by site
	logarithm               // logarithms
)

// lowestSum is the least class sum of which a float64 has lost nothing that
// matters, 2^-1000.
const lowestSum = 0x1p-1000

// loose is the greatest binary exponent that values keep without being scaled:
// scaling costs a pass over the nodes.
const loose = 64

// keptWait is how many times at most a row is not copied after copies were of no use:
// once after the first, then 3, 7 and 15 times. Rows that change every time need no
// copies.
const keptWait = 15

// keptTables is the greatest number of weights of which a Runner keeps a copy,
// 64 MiB, to see which rows are what they were.
const keptTables = 1 << 24

// NewRunner returns scratch for g.
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

// Watch makes later calls fail with the cause of ctx once ctx has ended, except FilterUntil,
// which has its own stopper. After such an error r holds no sums.
func (r *Runner) Watch(ctx context.Context) { r.meter.Watch(ctx) }

// Unwatch undoes Watch.
func (r *Runner) Unwatch() { r.meter.Unwatch() }

// watched returns what a filter asks whether to stop, nil if nothing.
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

// nodes returns the nodes of site t that can be met under the weights; all is
// true if no list was made because it would be (nearly) all of them.
func (r *Runner) nodes(t int) (list []int32, all bool) {
	if r.count[t] == none {
		return nil, true
	}
	o := r.g.offset[t]
	return r.active[o : o+r.count[t]], false
}

// bestState is the scratch of the (min,+) semiring.
type bestState struct {
	cost  []float64 // by site and column: the least cost in the class
	arg   []int32   // and the smallest token that has it
	value []float64 // by node: the least cost of all that can follow
}

// Stopper decides whether a long call stops: Done is called every few sites with the
// number of elementary operations since the last call.
type Stopper interface{ Done(work int) bool }

// phase is a pass of the filter over the sites.
type phase uint8

const (
	summing  phase = iota // the class sums
	sweeping              // the nodes that can be met
	backward              // the values
)

// enter begins a phase.
func (r *Runner) enter(p phase) { r.phase, r.passed, r.shifted, r.lossless = p, 0, 0, true }

// halt counts the work of a site, in addition to siteWork, and reports whether the filter
// is to stop.
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

// siteWork is what a site costs in every phase in addition to its levels or edges, in
// operations.
const siteWork = 64

// askEvery is the number of operations between two checks for a stop.
const askEvery = poll.Every

// infinite returns the error for the first token of weight +Inf or NaN.
func (r *Runner) infinite(t int, tokens []int32) error {
	for _, v := range tokens {
		if w := float64(r.v[t*r.g.levels+int(v)]); math.IsNaN(w) || math.IsInf(w, 1) {
			return &algebra.WeightError{Site: t, Level: int(v), Weight: w}
		}
	}
	return nil
}
