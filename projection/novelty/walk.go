package novelty

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// lossBits bounds what a walk may leave out: 2^−lossBits of the whole, 1e-12,
// which is 1e-11 of what it is used for (see CorpusProjection).
const lossBits = 40

// walk sums over the sequences of a corpus that are in a language, site by site,
// along the transitions of the corpus itself: no table is made, so nothing has to
// be made again when the corpus grows. Prefixes that meet are one, and those are
// given up that are too light to matter with all that can follow them:
//
//	mass · min(∏ of the sums of the rows to come, sequences · ∏ of their maxima).
//
// A confident prediction leaves few prefixes, and an uninformative one makes all
// sequences of the corpus improbable; in between, a walk visits every transition of the
// corpus at most once for each state of the language.
type walk struct {
	corpus   Corpus
	sparse   Sparse               // corpus, if it lists its transitions
	crowds   Crowded              // corpus, if it lists those of several states
	language constraint.Automaton // nil: all sequences
	graph    *trellis.Graph       // language, if it is finite
	sites    int
	levels   int
	meter    poll.Meter // of the call; once it has ended, sums mean nothing

	bound   []float64 // by site: the log of the factor of mass above
	sums    []float64
	here    frontier
	next    []pair // the prefixes of the next site, not united yet
	light   lightest
	states  []int
	tokens  []int32 // transitions of a state, or of several
	to      []int
	ends    []int     // of the transitions of each of several states
	weight  []float64 // of the tokens of a row relative to top, or none
	top     float32   // the greatest of a row
	visited int       // prefixes, for tests
}

// edges lists the transitions of a state of the corpus in w.tokens and w.to.
func (w *walk) edges(state int) {
	w.tokens, w.to = w.tokens[:0], w.to[:0]
	w.more(state)
}

// more appends the transitions of a state of the corpus.
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

// list lists the transitions of several prefixes, those of prefix k up to w.ends[k].
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

// step returns the state of a language after token at site t, negative if dead.
func (w *walk) step(t, state int, token int32) int {
	if w.graph != nil {
		return w.graph.NextAt(t, state, token)
	}
	return w.language.Next(state, token)
}

// accepts reports whether a sequence of the language may end in state.
func (w *walk) accepts(state int) bool { return w.language == nil || w.language.Accepting(state) }

// known returns the log of the weight of the sequences of the corpus that are in the
// language, given that of the language. ok is false where that is not likely enough,
// compared with all sequences, for sums of numbers.
//
// Masses are numbers in units of e^unit: what a float64 cannot hold together with the
// heaviest of a site is too light to matter.
func (w *walk) known(v []float32, all float64) (sum float64, ok bool) {
	if w.bounds(v)-all > unlikely {
		return 0, false
	}
	w.here.clear()
	w.here.add(w.start(), w.corpus.Start(), 1)
	w.light.begin(lossBits)
	unit := -all
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
	return simd.Log(sum) + unit + all, true
}

// unlikely is −log of the probability of a language from which on prefixes that are lost
// against others, at e^−500 or so, could matter.
const unlikely = 200

// weigh prepares the weights of a row relative to the heaviest token, whose log it
// returns. Where there are more tokens than prefixes can ask for, they wait.
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

// lazyTokens is the number of tokens per prefix up to which the weights of all are
// computed: most prefixes go on with one or a few.
const lazyTokens = 4

// walkWork is what a prefix costs a walk in addition to its transitions, in operations.
const walkWork = 16

// along lists in w.next the prefixes that are a token longer than those of site t,
// and returns the greatest of their masses.
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

// never is the log-weight of what is impossible.
var never = float32(math.Inf(-1))

// bounds fills bound for the log-weights v and returns the log of the weight of all
// sequences. A weight that is no number belongs to
// a token that the language cannot use, or the sum over the language had failed.
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

// slack covers the rounding of the sums of rows, which are of float32 terms.
const slack = 1e-3
