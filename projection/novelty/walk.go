package novelty

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// lossBits bounds the part that a walk may omit: the fraction 2^−lossBits of the total, or
// 1e-12. This is at most 1e-11 of the results (see CorpusProjection).
const lossBits = 40

// walk sums over the sequences of a corpus that are in a language, site by site, along the
// transitions of the corpus. It builds no table, so nothing must be rebuilt when the corpus
// grows. Prefixes that lead to the same states are merged. A prefix is dropped if an upper
// bound on the weight of all its continuations is negligible:
//
//	mass · min(∏ of the sums of the rows to come, sequences · ∏ of their maxima).
//
// If the prediction is confident, few prefixes remain. If it is uninformative, all sequences of
// the corpus are improbable. In any case, a walk visits every transition of the corpus at most
// once for each state of the language.
type walk struct {
	corpus   Corpus
	sparse   Sparse               // corpus, if it implements Sparse
	crowds   Crowded              // corpus, if it implements Crowded
	language constraint.Automaton // nil means all sequences
	graph    *trellis.Graph       // language, if it has finitely many states
	sites    int
	levels   int
	// meter of the current call; once its context has ended, sums are meaningless
	meter poll.Meter

	bound  []float64 // for each site, the log of the factor of mass in the bound above
	sums   []float64
	here   frontier
	next   []pair // prefixes at the next site, not yet merged
	light  lightest
	states []int
	tokens []int32 // tokens of the transitions of one or several states
	to     []int
	ends   []int // end of the transitions of each of several states
	// weights of the tokens of a row relative to top; empty if they are computed on demand
	weight  []float64
	top     float32 // greatest log-weight of a row
	visited int     // number of prefixes visited, for tests
}

// edges lists the transitions of a corpus state in w.tokens and w.to.
func (w *walk) edges(state int) {
	w.tokens, w.to = w.tokens[:0], w.to[:0]
	w.more(state)
}

// more appends the transitions of a corpus state to w.tokens and w.to.
func (w *walk) more(state int) {
	if w.sparse != nil {
		w.tokens, w.to = w.sparse.AppendEdges(w.tokens, w.to, state)
		return
	}
	for token := range int32(w.levels) {
		if next := w.corpus.Next(state, token); next >= 0 {
			w.tokens, w.to = append(w.tokens, token), append(w.to, next)
		}
	}
}

// list lists the transitions of several prefixes. Those of prefix k end at w.ends[k].
func (w *walk) list(pairs []pair) {
	w.tokens, w.to, w.ends = w.tokens[:0], w.to[:0], w.ends[:0]
	if w.crowds == nil {
		for _, p := range pairs {
			w.more(p.corpus)
			w.ends = append(w.ends, len(w.tokens))
		}
		return
	}
	w.states = w.states[:0]
	for _, p := range pairs {
		w.states = append(w.states, p.corpus)
	}
	w.tokens, w.to, w.ends = w.crowds.AppendEdgesOf(w.tokens, w.to, w.ends, w.states)
}

// start returns the state of the language before the first token.
func (w *walk) start() int {
	if w.language == nil {
		return 0
	}
	return w.language.Start()
}

// step returns the state of the language after token at site t, negative if it is dead.
func (w *walk) step(t, state int, token int32) int {
	if w.graph != nil {
		return w.graph.NextAt(t, state, token)
	}
	return w.language.Next(state, token)
}

// accepts reports whether a sequence of the language may end in state.
func (w *walk) accepts(state int) bool { return w.language == nil || w.language.Accepting(state) }

// known returns the log of the total weight of the sequences that are in the corpus and in the
// language. The argument total is the log of the total weight of the language. The result ok is
// false if the language is too unlikely, compared with all sequences, for sums in float64.
//
// Masses are float64 numbers in units of e^unit. A mass that underflows relative to the
// greatest mass of its site is negligible.
func (w *walk) known(v []float32, total float64) (sum float64, ok bool) {
	if w.bounds(v)-total > unlikely {
		return 0, false
	}
	w.here.clear()
	w.here.add(w.start(), w.corpus.Start(), 1)
	w.light.begin(lossBits)
	unit := -total
	for t := range w.sites {
		unit += w.weigh(v[t*w.levels:(t+1)*w.levels], len(w.here.pairs))
		// A mass below 2^e weighs 2^(e+up) at most with all that can follow.
		up := int(math.Ceil(min(max((unit+w.bound[t+1])*(1/math.Ln2), -1<<30), 1<<30)))
		heaviest := w.along(t, v[t*w.levels:(t+1)*w.levels], up)
		last := w.light.cut(w.sites - t)
		if w.meter.Err() != nil {
			return 0, true
		}
		e := 0
		if heaviest > 0 && (heaviest < 0x1p-200 || heaviest > 0x1p200) {
			e = exponent(heaviest)
			unit += float64(float64(e) * math.Ln2)
		}
		w.here.clear()
		kept := w.next[:0]
		for _, p := range w.next {
			if -exponent(p.mass)-up > last {
				continue
			}
			if e != 0 {
				p.mass = math.Ldexp(p.mass, -e)
			}
			kept = append(kept, p)
		}
		w.here.addAll(kept)
	}
	for _, p := range w.here.pairs {
		if w.corpus.Accepting(p.corpus) && w.accepts(p.language) {
			sum += p.mass
		}
	}
	return simd.Log(sum) + unit + total, true
}

// unlikely is −log of the probability of the language above which prefixes that underflow, at
// about e^−500, could matter.
const unlikely = 200

// weigh computes the weights of the tokens of a row relative to the heaviest token, and returns
// the log-weight of that token. If the row has many tokens per prefix, the weights are computed
// on demand instead.
func (w *walk) weigh(row []float32, prefixes int) (top float64) {
	w.top = never
	for _, x := range row {
		if x > w.top && x <= math.MaxFloat32 {
			w.top = x
		}
	}
	w.weight = w.weight[:0]
	if w.top == never {
		return 0
	}
	if len(row) <= lazyTokens*prefixes {
		for _, x := range row {
			w.weight = append(w.weight, simd.Exp(float64(x)-float64(w.top)))
		}
	}
	return float64(w.top)
}

// lazyTokens is the number of tokens per prefix up to which the weights of all tokens are
// computed in advance. Most prefixes continue with only one or a few tokens.
const lazyTokens = 4

// walkWork is the cost of a prefix in a walk, in operations, apart from its transitions.
const walkWork = 16

// along stores in w.next the prefixes that extend those of site t by one token, and returns the
// greatest of their masses.
func (w *walk) along(t int, row []float32, up int) (heaviest float64) {
	w.next = w.next[:0]
	w.visited += len(w.here.pairs)
	for pairs := w.here.pairs; len(pairs) > 0; {
		if w.meter.Done(len(w.tokens) + walkWork*crowd) {
			return heaviest
		}
		n := min(len(pairs), crowd)
		w.list(pairs[:n])
		i := 0
		for k, p := range pairs[:n] {
			for ; i < w.ends[k]; i++ {
				token := w.tokens[i]
				if int(token) >= w.levels || !(row[token] > never) {
					continue
				}
				to := p.language
				if w.language != nil {
					if to = w.step(t, to, token); to < 0 {
						continue
					}
				}
				mass := p.mass
				if len(w.weight) > 0 {
					mass *= w.weight[token]
				} else {
					mass *= simd.Exp(float64(row[token]) - float64(w.top))
				}
				w.light.weigh(-exponent(mass) - up)
				heaviest = max(heaviest, mass)
				w.next = append(w.next, pair{to, w.to[i], mass})
			}
		}
		pairs = pairs[n:]
	}
	return heaviest
}

// never is the log-weight of an impossible token.
var never = float32(math.Inf(-1))

// bounds fills w.bound for the log-weights v and returns the log of the total weight of all
// sequences. A weight that is NaN or +Inf is ignored: it belongs to a token that the language
// cannot use, because otherwise the sum over the language would have failed.
func (w *walk) bounds(v []float32) (total float64) {
	if w.bound == nil {
		w.bound, w.sums = make([]float64, w.sites+1), make([]float64, w.sites)
	}
	simd.LogSumExp(w.sums, v, w.levels)
	most := simd.Log(float64(max(1, w.corpus.Len())))
	w.bound[w.sites] = 0
	for t := w.sites - 1; t >= 0; t-- {
		row := v[t*w.levels : (t+1)*w.levels]
		top := never
		for _, x := range row {
			if x > top && x <= math.MaxFloat32 {
				top = x
			}
		}
		sum := w.sums[t]
		if math.IsNaN(sum) || math.IsInf(sum, 1) {
			sum = float64(top) + simd.Log(float64(w.levels))
		}
		total += sum
		most += float64(top)
		w.bound[t] = min(total, most) + slack
	}
	return total
}

// slack is an allowance for rounding errors in the sums of rows, which have float32 terms.
const slack = 1e-3
