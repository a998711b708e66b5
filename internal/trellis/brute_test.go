package trellis

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// table is an automaton by its transition table, next[state·levels+token].
type table struct {
	levels    int
	next      []int
	accepting []bool
}

func (a *table) States() int                 { return len(a.accepting) }
func (a *table) Start() int                  { return 0 }
func (a *table) Next(s int, token int32) int { return a.next[s*a.levels+int(token)] }
func (a *table) Accepting(s int) bool        { return a.accepting[s] }

// known is a table that knows its token classes.
type known struct{ table }

func (a *known) Classes(levels int) (of []int32, n int) {
	of = make([]int32, levels)
	seen := map[string]int32{}
	for v := range of {
		column := ""
		for s := range a.accepting {
			column += string(rune(a.next[s*a.levels+v] + 2))
		}
		k, ok := seen[column]
		if !ok {
			k = int32(len(seen))
			seen[column] = k
		}
		of[v] = k
	}
	return of, len(seen)
}

// instance is a random problem on few enough sequences to list them.
type instance struct {
	a      constraint.Automaton
	config Config
	v      []float32
	mask   []bool
}

// newInstance draws an automaton of up to six states over up to five tokens
// (some with equal columns), up to six sites, and weights of a random size,
// some of them −Inf.
func newInstance(r *rand.Rand) *instance {
	levels, states := 1+r.IntN(5), 1+r.IntN(6)
	sites := 1 + r.IntN(6)
	a := table{levels: levels, next: make([]int, states*levels), accepting: make([]bool, states)}
	for s := range states {
		a.accepting[s] = r.IntN(2) == 0
		for v := range levels {
			a.next[s*levels+v] = r.IntN(states+1) - 1
		}
	}
	for v := 1; v < levels; v++ { // equal columns
		if r.IntN(3) == 0 {
			u := r.IntN(v)
			for s := range states {
				a.next[s*levels+v] = a.next[s*levels+u]
			}
		}
	}
	p := &instance{a: &a, config: Config{Sites: sites, Levels: levels}}
	if r.IntN(2) == 0 {
		p.a = &known{a}
	}
	if r.IntN(3) == 0 {
		p.config.Padded, p.config.Pad = true, int32(r.IntN(levels))
	}
	if r.IntN(3) == 0 {
		p.mask = make([]bool, sites*levels)
		for i := range p.mask {
			p.mask[i] = r.IntN(4) != 0
		}
		p.config.Allows = func(t int, v int32) bool { return p.mask[t*levels+int(v)] }
	}
	p.v = randomWeights(r, sites*levels)
	return p
}

// randomWeights draws log-weights of a random size up to 1e4.
func randomWeights(r *rand.Rand, n int) []float32 {
	size := []float64{0, 1, 10, 300, 1e4}[r.IntN(5)]
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(size * r.NormFloat64())
		if r.IntN(10) == 0 {
			v[i] = float32(math.Inf(-1))
		}
	}
	return v
}

// listed is a sequence with its log-weight.
type listed struct {
	x      []int32
	weight float64
}

// brute lists all accepted sequences of positive weight in lexicographic
// order, and counts the accepted ones; it walks the automaton by itself.
func (p *instance) brute() (all []listed, accepted int) {
	x := make([]int32, p.config.Sites)
	for {
		if w, ok := p.weigh(x); ok {
			accepted++
			if !math.IsInf(w, -1) {
				all = append(all, listed{slices.Clone(x), w})
			}
		}
		i := len(x) - 1
		for ; i >= 0; i-- {
			if x[i]++; int(x[i]) < p.config.Levels {
				break
			}
			x[i] = 0
		}
		if i < 0 {
			return all, accepted
		}
	}
}

// weigh returns the log-weight of x and whether the language holds it.
func (p *instance) weigh(x []int32) (w float64, ok bool) {
	s, end := p.a.Start(), len(x)
	if p.config.Padded {
		if end = slices.Index(x, p.config.Pad); end < 0 {
			end = len(x)
		}
	}
	for i, v := range x {
		w += float64(p.v[i*p.config.Levels+int(v)])
		if i >= end {
			if v != p.config.Pad {
				return 0, false
			}
			continue
		}
		if p.mask != nil && !p.mask[i*p.config.Levels+int(v)] {
			return 0, false
		}
		if s = p.a.Next(s, v); s < 0 {
			return 0, false
		}
	}
	return w, p.a.Accepting(s)
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

// near requires |a−b| ≤ tol·(1+|b|), or equal infinities.
func near(t *testing.T, b, a, tol float64, what ...any) {
	t.Helper()
	if a == b {
		return
	}
	require.LessOrEqual(t, math.Abs(a-b), tol*(1+math.Abs(b)), what...)
}

func compile(t testing.TB, p *instance) *Runner {
	t.Helper()
	g, err := Compile(context.Background(), p.a, p.config)
	require.NoError(t, err)
	return NewRunner(g)
}
