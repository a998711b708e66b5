package projection

import (
	"context"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

const alphabet = "abcde"

// problem is a random combination of constraints on few enough sequences to
// list them, with a judge for each that shares no code with package constraint.
type problem struct {
	path          Path
	sites, levels int
	v             []float32
	judges        []func(x []int32) bool
}

// newProblem draws a regular expression, a count, excluded sequences and a
// mask, each with some probability, V ≤ 5 and L ≤ 7 with V^L ≤ most.
func newProblem(t *testing.T, r *rand.Rand, most float64) *problem {
	p := &problem{sites: 1 + r.IntN(7), levels: 1 + r.IntN(5)}
	for math.Pow(float64(p.levels), float64(p.sites)) > most {
		p.sites--
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
	p.path.Language = all
	p.v = p.weights(r)
	return p
}

// pattern adds a random regular expression, judged by package regexp.
func (p *problem) pattern(t *testing.T, r *rand.Rand) constraint.Automaton {
	pattern := randomPattern(r, p.levels, 3)
	d, err := constraint.Regexp(context.Background(), pattern, constraint.Runes(alphabet[:p.levels]), constraint.Limits{})
	if err != nil { // nothing matches, whatever the length
		require.ErrorIs(t, err, constraint.ErrInfeasible)
		p.judges = append(p.judges, func([]int32) bool { return false })
		return refuse{}
	}
	judge := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	p.judges = append(p.judges, func(x []int32) bool { return judge.MatchString(spell(x)) })
	return d
}

// refuse is the empty language.
type refuse struct{}

func (refuse) States() int         { return 1 }
func (refuse) Start() int          { return 0 }
func (refuse) Next(int, int32) int { return -1 }
func (refuse) Accepting(int) bool  { return false }

func randomPattern(r *rand.Rand, levels, depth int) string {
	letter := func() string { return string(alphabet[r.IntN(levels)]) }
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

func spell(x []int32) string {
	var b strings.Builder
	for _, v := range x {
		b.WriteByte(alphabet[v])
	}
	return b.String()
}

func (p *problem) count(r *rand.Rand) constraint.Automaton {
	c := constraint.Count{Levels: []int32{int32(r.IntN(p.levels))}}
	c.Min = r.IntN(p.sites + 1)
	c.Max = min(p.sites, c.Min+r.IntN(3))
	p.judges = append(p.judges, func(x []int32) bool {
		n := 0
		for _, v := range x {
			if v == c.Levels[0] {
				n++
			}
		}
		return n >= c.Min && (c.Max == 0 || n <= c.Max)
	})
	return c
}

// trie accepts everything but some sequences.
type trie struct {
	levels int
	next   [][]int // per node
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

// novelty excludes up to five sequences.
func (p *problem) novelty(r *rand.Rand) constraint.Automaton {
	a := &trie{levels: p.levels, next: [][]int{make([]int, p.levels)}, known: make([]bool, 1)}
	var seen [][]int32
	for range r.IntN(6) {
		x := make([]int32, p.sites)
		for i := range x {
			x[i] = int32(r.IntN(p.levels))
		}
		a.add(x)
		seen = append(seen, x)
	}
	p.judges = append(p.judges, func(x []int32) bool {
		return !slices.ContainsFunc(seen, func(y []int32) bool { return slices.Equal(x, y) })
	})
	return a
}

func (p *problem) mask(t *testing.T, r *rand.Rand) constraint.Automaton {
	allowed := make([][]int32, p.sites)
	for i := range allowed {
		if r.IntN(3) == 0 {
			continue
		}
		for v := range p.levels {
			if r.IntN(3) > 0 {
				allowed[i] = append(allowed[i], int32(v))
			}
		}
		if len(allowed[i]) == 0 {
			allowed[i] = []int32{int32(r.IntN(p.levels))}
		}
	}
	m, err := constraint.NewMask(p.levels, allowed)
	require.NoError(t, err)
	p.judges = append(p.judges, func(x []int32) bool {
		for i, v := range x {
			if allowed[i] != nil && !slices.Contains(allowed[i], v) {
				return false
			}
		}
		return true
	})
	return m
}

// weights are of a random size, 1e4 at most, with some −Inf and ties.
func (p *problem) weights(r *rand.Rand) []float32 {
	size := []float64{1, 1, 5, 100, 1e4}[r.IntN(5)]
	v := make([]float32, p.sites*p.levels)
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

// listed is a sequence of the language with its log-weight.
type listed struct {
	x      []int32
	weight float64
}

// brute lists the language in lexicographic order; every sequence is judged.
func (p *problem) brute() []listed {
	var all []listed
	x := make([]int32, p.sites)
	for {
		if !slices.ContainsFunc(p.judges, func(ok func([]int32) bool) bool { return !ok(x) }) {
			w := 0.0
			for i, v := range x {
				w += float64(p.v[i*p.levels+int(v)])
			}
			all = append(all, listed{slices.Clone(x), w})
		}
		i := p.sites - 1
		for ; i >= 0; i-- {
			if x[i]++; int(x[i]) < p.levels {
				break
			}
			x[i] = 0
		}
		if i < 0 {
			return all
		}
	}
}

// logSum returns log Σ e^w with package math.
func logSum(all []listed) float64 {
	top := math.Inf(-1)
	for _, s := range all {
		top = max(top, s.weight)
	}
	sum := 0.0
	for _, s := range all {
		sum += math.Exp(s.weight - top)
	}
	return top + math.Log(sum)
}

// near requires |got−want| ≤ tol, relative where |want| > 1.
func near(t *testing.T, want, got, tol float64, what ...any) {
	t.Helper()
	if want != got {
		require.LessOrEqual(t, math.Abs(got-want), tol*max(1, math.Abs(want)), what...)
	}
}
