package novelty

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// exits sums over the new sequences themselves, for distributions of which nearly
// everything is known, where 1 − P(known) has no digits left. A new sequence
// follows the corpus up to some site and leaves it there; what follows then is
// free within the language. So
//
//	P(new) = Σ_prefix P(prefix)·P(the next token leaves | prefix)
//
// with probabilities given the language, all terms positive. The prefixes that
// were visited are kept, so that new sequences can be drawn.
type exits struct {
	walk
	run    *trellis.Runner
	layers []exitLayer // by site, and one for the end
	inside []bool      // by token: the corpus goes on with it
}

// exitLayer holds the prefixes of a site: the exits and transitions of prefix n
// are leave[n] and those numbered from[n] … from[n+1].
type exitLayer struct {
	pairs []pair
	leave []float64 // log P(the next token leaves | prefix)
	from  []int32
	to    []int32   // the prefix at the next site
	token []int32   // the token that leads there
	step  []float64 // log P(token | prefix)
	open  []float64 // log P(new | prefix)
}

// enoughBits bounds how much of the new sequences may be left out: 2^−enoughBits of them,
// 6e-11.
const enoughBits = 34

// cancelled is the probability of staying in the corpus above which that of
// leaving is summed token by token: below, 1 − P loses ten of 53 bits, or of
// large vocabularies, whose sums are of float32 terms, one of 24.
const (
	cancelled      = 1 - 0x1p-10
	cancelledLarge = 0.5
	large          = 256 // tokens
)

// novel prepares the draws for the log-weights v and returns log P(new | language),
// −Inf if there is nothing new. g is the unrolled language. It is a *LimitError
// if more than limit transitions would have to be kept.
func (w *exits) novel(g *trellis.Graph, v []float32, limit int) (float64, error) {
	e := w
	if e.run == nil {
		e.run = trellis.NewRunner(g)
		e.layers = make([]exitLayer, w.sites+1)
		e.inside = make([]bool, w.levels)
	}
	e.run.Watch(w.meter.Context())
	if _, err := e.run.FilterLogs(v); err != nil {
		return 0, err
	}
	bits := lossBits
	for {
		lost, err := w.spread(g, v, bits, limit)
		if err != nil {
			return 0, err
		}
		open := w.gather()
		if lost <= simd.Exp(open)/(1<<enoughBits) {
			return open, nil
		}
		if bits *= 2; !math.IsInf(open, -1) {
			bits = max(bits, int(-open/math.Ln2)+lossBits)
		}
	}
}

// spread walks forward from the start and fills everything but open. It leaves out
// what weighs 2^−bits of the language at most, and returns how much it was.
func (w *exits) spread(g *trellis.Graph, v []float32, bits, limit int) (lost float64, err error) {
	e := w
	w.here.clear()
	w.here.addLog(g.Start(), w.corpus.Start(), 0)
	w.light.begin(bits)
	kept := 0
	for t := range w.sites {
		row, l := v[t*w.levels:(t+1)*w.levels], &e.layers[t]
		l.reset()
		w.next = w.next[:0]
		for _, p := range w.here.pairs {
			if w.meter.Done(len(w.tokens) + walkWork) {
				return 0, w.meter.Err()
			}
			l.pairs = append(l.pairs, p)
			w.branch(g, l, t, p, row)
			if kept += len(w.tokens); kept > limit {
				return 0, &constraint.LimitError{What: "novelty: transitions", Value: kept, Bound: limit}
			}
		}
		w.keep(l, w.light.cut(w.sites-t))
	}
	last := &e.layers[w.sites]
	last.reset()
	for _, p := range w.here.pairs {
		open := 0.0
		if w.corpus.Accepting(p.corpus) {
			open = math.Inf(-1)
		}
		last.pairs, last.open = append(last.pairs, p), append(last.open, open)
	}
	return math.Ldexp(1, -bits) - w.light.left, nil
}

// keep moves to the next site along the transitions of bins up to the last, and
// drops the others.
func (w *exits) keep(l *exitLayer, last int) {
	w.here.clear()
	i, kept := 0, int32(0)
	for n := range l.leave {
		end := int(l.from[n+1])
		for ; i < end; i++ {
			p := w.next[i]
			if binOfLog(p.mass) > last {
				continue
			}
			l.token[kept], l.step[kept] = l.token[i], l.step[i]
			l.to = append(l.to, w.here.addLog(p.language, p.corpus, p.mass))
			kept++
		}
		l.from[n+1] = kept
	}
	l.token, l.step = l.token[:kept], l.step[:kept]
}

// branch appends the exits and transitions of a prefix.
func (w *exits) branch(g *trellis.Graph, l *exitLayer, t int, p pair, row []float32) {
	e := w
	ahead := e.run.Ahead(p.language)
	stay := 0.0
	w.edges(p.corpus)
	for i, token := range w.tokens {
		if int(token) >= w.levels {
			continue
		}
		step := e.log(g, t, p.language, token, row, ahead)
		if math.IsInf(step, -1) {
			continue
		}
		stay += simd.Exp(step)
		w.light.weigh(binOfLog(p.mass + step))
		l.token, l.step = append(l.token, token), append(l.step, step)
		w.next = append(w.next, pair{g.NextAt(t, p.language, token), w.to[i], p.mass + step})
	}
	leave := 0.0
	if stay <= cancelledLarge || stay <= cancelled && w.levels < large {
		leave = simd.Log1p(-stay)
	} else {
		leave = w.leaving(g, t, p, row, ahead)
	}
	l.leave, l.from = append(l.leave, leave), append(l.from, int32(len(l.token)))
}

// log returns log P(token | state of the language), −Inf if it cannot follow.
func (e *exits) log(g *trellis.Graph, t, state int, token int32, row []float32, ahead float64) float64 {
	if !(row[token] > never) {
		return math.Inf(-1)
	}
	next := g.NextAt(t, state, token)
	if next < 0 {
		return math.Inf(-1)
	}
	return float64(row[token]) + e.run.Ahead(next) - ahead
}

// leaving sums over the tokens that the corpus does not go on with, w.tokens
// being those it does.
func (w *exits) leaving(g *trellis.Graph, t int, p pair, row []float32, ahead float64) float64 {
	w.mark(true)
	defer w.mark(false)
	sum, top := 0.0, math.Inf(-1)
	for token := range int32(w.levels) {
		if w.inside[token] {
			continue
		}
		switch x := w.log(g, t, p.language, token, row, ahead); {
		case math.IsInf(x, -1):
		case x > top:
			sum, top = float64(sum*simd.Exp(top-x))+1, x
		default:
			sum += simd.Exp(x - top)
		}
	}
	return top + simd.Log(sum)
}

// mark notes whether the corpus goes on with the tokens of w.tokens.
func (w *exits) mark(inside bool) {
	for _, token := range w.tokens {
		if int(token) < w.levels {
			w.inside[token] = inside
		}
	}
}

// gather fills open, from the last site to the first, and returns that of the
// start.
func (w *exits) gather() float64 {
	e := w
	for t := w.sites - 1; t >= 0; t-- {
		l, next := &e.layers[t], &e.layers[t+1]
		for n, leave := range l.leave {
			sum := leave
			for i := l.from[n]; i < l.from[n+1]; i++ {
				sum = simd.LogAdd(sum, l.step[i]+next.open[l.to[i]])
			}
			l.open = append(l.open, sum)
		}
	}
	return e.layers[0].open[0]
}

// draw stores in x an exact draw from the new sequences of the last novel, which
// must have found some.
func (w *exits) draw(g *trellis.Graph, x []int32, v []float32, src rand.Source) {
	e := w
	n := int32(0)
	for t := range w.sites {
		l, next := &e.layers[t], &e.layers[t+1]
		goal, sum, chosen := algebra.Unit(src), 0.0, int32(-1)
		for i := l.from[n]; i < l.from[n+1]; i++ {
			if p := simd.Exp(l.step[i] + next.open[l.to[i]] - l.open[n]); p > 0 {
				if sum += p; sum > goal {
					chosen = i
					break
				}
			}
		}
		if chosen < 0 && math.IsInf(l.leave[n], -1) { // rounding: the last that can be
			for i := l.from[n]; i < l.from[n+1]; i++ {
				if !math.IsInf(next.open[l.to[i]], -1) {
					chosen = i
				}
			}
		}
		if chosen < 0 {
			w.drawExit(g, l.pairs[n], t, x, v, src)
			return
		}
		x[t], n = l.token[chosen], l.to[chosen]
	}
}

// drawExit stores in x, from site t on, a draw that leaves the corpus there.
func (w *exits) drawExit(g *trellis.Graph, p pair, t int, x []int32, v []float32, src rand.Source) {
	row, ahead := v[t*w.levels:(t+1)*w.levels], w.run.Ahead(p.language)
	w.edges(p.corpus)
	total := w.leaving(g, t, p, row, ahead)
	w.mark(true)
	goal, sum, last := algebra.Unit(src), 0.0, int32(-1)
	for token := range int32(w.levels) {
		if w.inside[token] {
			continue
		}
		if q := simd.Exp(w.log(g, t, p.language, token, row, ahead) - total); q > 0 {
			last = token
			if sum += q; sum > goal {
				break
			}
		}
	}
	w.mark(false)
	x[t] = last
	w.run.DrawFrom(x, g.NextAt(t, p.language, last), src)
}

func (l *exitLayer) reset() {
	l.pairs, l.leave, l.open = l.pairs[:0], l.leave[:0], l.open[:0]
	l.to, l.token, l.step = l.to[:0], l.token[:0], l.step[:0]
	l.from = append(l.from[:0], 0)
}

// lightest finds which of many weights may be left out, site by site, so that all
// that are left out weigh less than a bound together. Weights fall into bins by
// powers of two: bin b is for those of 2^−b at most, and counts as if all of it
// weighed that.
type lightest struct {
	left float64 // what may still be left out
	bin  [bins]int
	most int // the last bin with weights
}

// bins covers weights down to 2^−(bins−1); the last bin takes all that are less.
const bins = 1024

// begin sets the bound to 2^−bits.
func (l *lightest) begin(bits int) {
	l.left = math.Ldexp(1, -bits)
	clear(l.bin[:l.most+1]) // of a walk that was not ended
	l.most = 0
}

// weigh takes in a weight of bin b, which may be any number.
func (l *lightest) weigh(b int) {
	b = min(max(b, 0), bins-1)
	l.bin[b]++
	l.most = max(l.most, b)
}

// cut returns the last bin of which weights must be kept at this site, one of sites
// that are to come, and forgets the weights.
func (l *lightest) cut(sites int) (last int) {
	share := l.left / float64(sites)
	last = -1
	for b := l.most; b >= 0; b-- {
		if l.bin[b] == 0 {
			continue
		}
		sum := math.Ldexp(float64(l.bin[b]), -b)
		if sum > share {
			if last = b; b == bins-1 {
				last = math.MaxInt
			}
			break
		}
		share -= sum
		l.left -= sum
	}
	clear(l.bin[:l.most+1])
	l.most = 0
	return last
}

// binOfLog returns the bin of the log of a weight.
func binOfLog(log float64) int { return int(min(max(math.Floor(-log*(1/math.Ln2)), 0), 1<<30)) }

// exponent returns the least e for which x < 2^e; x is positive and normal, or less
// than any normal number.
func exponent(x float64) int { return int(math.Float64bits(x)>>52) - 1022 }
