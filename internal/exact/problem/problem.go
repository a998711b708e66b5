// Package problem generates random languages that are small enough to enumerate, and independent
// tests of membership. They serve to test exact computations on languages. Only tests may import
// it.
package problem

import (
	"context"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/stretchr/testify/require"
)

// Alphabet lists the letters that represent the tokens.
const Alphabet = "abcde"

// Problem is a random combination of constraints on sequences that are few enough to enumerate.
// Each constraint has a judge: a function that tests whether a sequence satisfies it. Judges share
// no code with package constraint.
type Problem struct {
	Language      constraint.Automaton
	Sites, Levels int
	V             []float32              // log-weights, sites × levels
	Judges        []func(x []int32) bool // for each constraint: whether x satisfies it
}

// New draws a problem with at most 5 levels and 7 sites, whose number of sequences does not exceed
// limit. New includes each of these constraints with some probability: a regular expression, a
// count of tokens, a list of excluded sequences, and a mask of the tokens allowed at each site.
func New(t testing.TB, r *rand.Rand, limit float64) *Problem {
	p := &Problem{Sites: 1 + r.IntN(7), Levels: 1 + r.IntN(5)}
	for math.Pow(float64(p.Levels), float64(p.Sites)) > limit {
		p.Sites--
	}
	var parts []constraint.Automaton
	if r.IntN(3) > 0 {
		parts = append(parts, p.pattern(t, r))
	}
	if r.IntN(2) == 0 {
		parts = append(parts, p.count(r))
	}
	if r.IntN(2) == 0 {
		parts = append(parts, p.novelty(r))
	}
	if r.IntN(3) == 0 {
		parts = append(parts, p.mask(t, r))
	}
	all, err := constraint.Intersect(parts...)
	require.NoError(t, err)
	p.Language = all
	p.V = p.weights(r)
	return p
}

// pattern adds a random regular expression, with package regexp as its judge.
func (p *Problem) pattern(t testing.TB, r *rand.Rand) constraint.Automaton {
	pattern := randomPattern(r, p.Levels, 3)
	d, err := text.Regexp(context.Background(), pattern, text.Runes(Alphabet[:p.Levels]), constraint.Limits{})
	if err != nil { // nothing matches, whatever the length
		require.ErrorIs(t, err, constraint.ErrInfeasible)
		p.Judges = append(p.Judges, func([]int32) bool { return false })
		return refuse{}
	}
	judge := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	p.Judges = append(p.Judges, func(x []int32) bool { return judge.MatchString(Spell(x)) })
	return d
}

// refuse is the empty language.
type refuse struct{}

func (refuse) States() int         { return 1 }
func (refuse) Start() int          { return 0 }
func (refuse) Next(int, int32) int { return -1 }
func (refuse) Accepting(int) bool  { return false }

func randomPattern(r *rand.Rand, levels, depth int) string {
	letter := func() string { return string(Alphabet[r.IntN(levels)]) }
	if depth == 0 {
		return []string{letter(), ".", "[" + letter() + letter() + "]", "[^" + letter() + "]"}[r.IntN(4)]
	}
	sub := func() string { return randomPattern(r, levels, depth-1) }
	switch r.IntN(6) {
	case 0:
		return "(" + sub() + "|" + sub() + ")"
	case 1:
		return "(" + sub() + ")*"
	case 2:
		return "(" + sub() + ")?"
	case 3:
		return "(" + sub() + "){1,3}"
	default:
		return sub() + sub()
	}
}

// Spell returns a sequence as letters of [Alphabet].
func Spell(x []int32) string {
	var b strings.Builder
	for _, v := range x {
		b.WriteByte(Alphabet[v])
	}
	return b.String()
}

func (p *Problem) count(r *rand.Rand) constraint.Automaton {
	c := constraint.Count{Levels: []int32{int32(r.IntN(p.Levels))}}
	c.Min = r.IntN(p.Sites + 1)
	if c.Max = min(p.Sites, c.Min+r.IntN(3)); c.Max == 0 {
		c.Max = constraint.Unbounded // too few sequences are without the level for a problem
	}
	p.Judges = append(p.Judges, func(x []int32) bool {
		n := 0
		for _, v := range x {
			if v == c.Levels[0] {
				n++
			}
		}
		return n >= c.Min && n <= c.Max
	})
	return c
}

// trie accepts all sequences except those added to it.
type trie struct {
	levels int
	next   [][]int // next node by level, for each node; 0 for none
	known  []bool
}

func (a *trie) States() int { return len(a.next) + 1 }
func (a *trie) Start() int  { return 0 }
func (a *trie) Next(s int, v int32) int {
	if s == len(a.next) || a.next[s][v] == 0 {
		return len(a.next) // free
	}
	return a.next[s][v]
}
func (a *trie) Accepting(s int) bool { return s == len(a.next) || !a.known[s] }

func (a *trie) add(x []int32) {
	s := 0
	for _, v := range x {
		if a.next[s][v] == 0 {
			a.next[s][v] = len(a.next)
			a.next, a.known = append(a.next, make([]int, a.levels)), append(a.known, false)
		}
		s = a.next[s][v]
	}
	a.known[s] = true
}

// novelty excludes at most five random sequences.
func (p *Problem) novelty(r *rand.Rand) constraint.Automaton {
	a := &trie{levels: p.Levels, next: [][]int{make([]int, p.Levels)}, known: make([]bool, 1)}
	var seen [][]int32
	for range r.IntN(6) {
		x := make([]int32, p.Sites)
		for i := range x {
			x[i] = int32(r.IntN(p.Levels))
		}
		a.add(x)
		seen = append(seen, x)
	}
	p.Judges = append(p.Judges, func(x []int32) bool {
		return !slices.ContainsFunc(seen, func(y []int32) bool { return slices.Equal(x, y) })
	})
	return a
}

func (p *Problem) mask(t testing.TB, r *rand.Rand) constraint.Automaton {
	allowed := make([][]int32, p.Sites)
	for i := range allowed {
		if r.IntN(3) == 0 {
			continue
		}
		for v := range p.Levels {
			if r.IntN(3) > 0 {
				allowed[i] = append(allowed[i], int32(v))
			}
		}
		if len(allowed[i]) == 0 {
			allowed[i] = []int32{int32(r.IntN(p.Levels))}
		}
	}
	m, err := constraint.NewMask(p.Levels, allowed)
	require.NoError(t, err)
	p.Judges = append(p.Judges, func(x []int32) bool {
		for i, v := range x {
			if allowed[i] != nil && !slices.Contains(allowed[i], v) {
				return false
			}
		}
		return true
	})
	return m
}

// weights returns log-weights of random magnitude, at most about 1e4, with some −Inf and ties.
func (p *Problem) weights(r *rand.Rand) []float32 {
	size := []float64{1, 1, 5, 100, 1e4}[r.IntN(5)]
	v := make([]float32, p.Sites*p.Levels)
	for i := range v {
		v[i] = float32(size * r.NormFloat64())
		if r.IntN(12) == 0 {
			v[i] = float32(math.Inf(-1))
		}
		if r.IntN(12) == 0 && i > 0 {
			v[i] = v[i-1]
		}
	}
	return v
}

// Listed is a sequence of the language with its log-weight.
type Listed struct {
	X      []int32
	Weight float64
}

// Brute lists the sequences that satisfy all constraints, in lexicographic order. It applies the
// judges to every sequence.
func (p *Problem) Brute() []Listed {
	var all []Listed
	x := make([]int32, p.Sites)
	for {
		if !slices.ContainsFunc(p.Judges, func(ok func([]int32) bool) bool { return !ok(x) }) {
			w := 0.0
			for i, v := range x {
				w += float64(p.V[i*p.Levels+int(v)])
			}
			all = append(all, Listed{slices.Clone(x), w})
		}
		i := p.Sites - 1
		for ; i >= 0; i-- {
			if x[i]++; int(x[i]) < p.Levels {
				break
			}
			x[i] = 0
		}
		if i < 0 {
			return all
		}
	}
}

// LogSum returns log Σ e^w over the list, computed with package math.
func LogSum(all []Listed) float64 {
	top := math.Inf(-1)
	for _, s := range all {
		top = max(top, s.Weight)
	}
	sum := 0.0
	for _, s := range all {
		sum += math.Exp(s.Weight - top)
	}
	return top + math.Log(sum)
}

// Near requires |got−want| ≤ tol, or |got−want| ≤ tol·|want| if |want| > 1.
func Near(t testing.TB, want, got, tol float64, what ...any) {
	t.Helper()
	if want != got {
		require.LessOrEqual(t, math.Abs(got-want), tol*max(1, math.Abs(want)), what...)
	}
}

// Infeasible requires that err wraps constraint.ErrInfeasible and an error of type E.
func Infeasible[E error](t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	var dead E
	require.ErrorAs(t, err, &dead)
}

// Weigh returns the log-weight of the sequence x, Σ_i V[i,x_i].
func (p *Problem) Weigh(x []int32) float64 {
	w := 0.0
	for i, v := range x {
		w += float64(p.V[i*p.Levels+int(v)])
	}
	return w
}

// RequireLead requires that level x_i is the most likely level in row i of y, which holds
// log-probabilities. The probability of x_i must be at least margin times that of every other
// level, up to rounding.
func (p *Problem) RequireLead(t testing.TB, margin float64, x []int32, y []float32) {
	t.Helper()
	lead := math.Log(max(1, margin))
	for i, v := range x {
		for u := range p.Levels {
			if u != int(v) {
				require.GreaterOrEqual(t, float64(y[i*p.Levels+int(v)]), float64(y[i*p.Levels+u])+lead-1e-15)
			}
		}
	}
}
