package novelty

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// exits sums over the new sequences directly. It is used if nearly all of the distribution's
// mass is in the corpus, so that 1 − P(known) has no significant digits left. A new sequence
// follows the corpus up to some site and leaves it there. The rest is free within the language.
// So
//
//	P(new) = Σ_prefix P(prefix)·P(the next token leaves | prefix)
//
// where all probabilities are conditional on the language and all terms are positive. The
// visited prefixes are stored, so that new sequences can be drawn.
type exits struct {
	walk
	run    *trellis.Runner
	layers []exitLayer // prefixes at each site, and at the end
	inside []bool      // scratch: whether the corpus continues with each token
}

// exitLayer holds the prefixes at one site. Prefix n has the exit probability leave[n], and the
// transitions with numbers from[n] to from[n+1]−1.
type exitLayer struct {
	pairs []pair
	leave []float64 // log P(the next token leaves the corpus | prefix)
	from  []int32
	to    []int32   // index of the longer prefix at the next site
	token []int32   // token of the transition
	step  []float64 // log P(token | prefix) of each transition
	open  []float64 // log P(the sequence is new | prefix)
}

// enoughBits bounds the part of the new sequences that may be omitted: the fraction
// 2^−enoughBits, or 6e-11.
const enoughBits = 34

// cancelled is a bound on the probability P of staying in the corpus. Up to this bound, the
// probability of leaving is computed as 1 − P, which loses at most ten of 53 bits. Above it, the
// probability of leaving is summed token by token. The constant cancelledLarge is the same bound
// for large vocabularies, whose sums have float32 terms. There, 1 − P loses at most one of 24 bits.
const (
	cancelled      = 1 - 0x1p-10
	cancelledLarge = 0.5
	large          = 256 // number of tokens from which a vocabulary counts as large
)

// novel prepares the draws for the log-weights v and returns log P(new | language), or −Inf if no
// sequence is new. The graph g is the unrolled language. If more transitions than the given limit
// would have to be stored, the error is a *LimitError.
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

// spread walks forward from the start and fills all fields of the layers except open. It omits
// prefixes whose total weight is at most 2^−bits of the language, and returns the omitted part.
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

// keep continues to the next site along the transitions in all bins up to the given last bin. It
// drops the other transitions.
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

// branch appends the exit probability and the transitions of the prefix p to the layer l.
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

// log returns log P(token | state of the language), or −Inf if token cannot follow.
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

// leaving returns the log of the sum over the tokens with which the corpus does not continue. The
// slice w.tokens holds the tokens with which the corpus continues.
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

// mark sets w.inside for the tokens in w.tokens.
func (w *exits) mark(inside bool) {
	for _, token := range w.tokens {
		if int(token) < w.levels {
			w.inside[token] = inside
		}
	}
}

// gather computes open from the last site to the first, and returns its value at the start.
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

// draw stores in x an exact draw from the new sequences. The last call of novel must have found
// some.
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

// drawExit draws the tokens of x from site t on, so that the sequence leaves the corpus at site
// t.
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

// lightest decides, site by site, which weights may be omitted so that the total of all omitted
// weights stays below a bound. Weights are sorted into bins by powers of two. Bin b holds
// weights of at most 2^−b, and each of them counts as 2^−b.
type lightest struct {
	left float64 // total weight that may still be omitted
	bin  [bins]int
	most int // last bin that is not empty
}

// bins is the number of bins. They cover weights down to 2^−(bins−1), and the last bin also
// holds all smaller weights.
const bins = 1024

// begin sets the bound to 2^−bits.
func (l *lightest) begin(bits int) {
	l.left = math.Ldexp(1, -bits)
	clear(l.bin[:l.most+1]) // of a walk that was not ended
	l.most = 0
}

// weigh adds a weight to bin b, which may be out of range.
func (l *lightest) weigh(b int) {
	b = min(max(b, 0), bins-1)
	l.bin[b]++
	l.most = max(l.most, b)
}

// cut returns the last bin whose weights must be kept at this site, and clears the bins. The
// argument sites is the number of remaining sites, including this one.
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

// binOfLog returns the bin of a weight, given its log.
func binOfLog(log float64) int { return int(min(max(math.Floor(-log*(1/math.Ln2)), 0), 1<<30)) }

// exponent returns the least e with x < 2^e, for a positive normal x. For a smaller x, the result
// is at most that of the least normal float64.
func exponent(x float64) int { return int(math.Float64bits(x)>>52) - 1022 }
