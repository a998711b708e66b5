package trellis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// TestWideClasses: float32 class sums against float64 ones.
func TestWideClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	levels := 3000
	for _, size := range []float64{1, 5, 40} {
		v := make([]float32, 12*levels)
		for i := range v {
			v[i] = float32(size * r.NormFloat64())
		}
		p := &instance{a: evenOnes(levels), config: Config{Sites: 12, Levels: levels}}
		run := compile(t, p)
		got, err := run.Filter(v)
		require.NoError(t, err)
		require.Equal(t, scaled, run.method)
		require.InDelta(t, parityLogZ(v, levels), got, 1e-6)
		x := make([]int32, 12)
		run.Draw(x, r)
		require.True(t, run.g.Accepts(x))
		v[5*levels+7] = float32(math.NaN())
		_, err = run.Filter(v)
		require.EqualError(t, err, "weight at site 5, level 7 is NaN")
		v[5*levels+7] = float32(math.Inf(1))
		_, err = run.Filter(v)
		require.EqualError(t, err, "weight at site 5, level 7 is +Inf")
		for l := range levels {
			v[5*levels+l] = float32(math.Inf(-1))
		}
		var dead *algebra.DeadError
		_, err = run.Filter(v)
		require.ErrorAs(t, err, &dead)
		require.Equal(t, 5, dead.Site)
	}
}

// avoiding is evenOnes without the tokens from some level on.
func avoiding(levels, from int) *table {
	a := evenOnes(levels)
	for s := range 2 {
		for v := from; v < levels; v++ {
			a.next[s*levels+v] = none
		}
	}
	return a
}

// TestWideUnusable: tokens that the automaton cannot use do not matter, not
// even as NaN, and not even if they are the likeliest by far.
func TestWideUnusable(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	const levels, sites = 2000, 6
	for _, from := range []int{700, 1500} {
		v := make([]float32, sites*levels)
		w := make([]float32, sites*from)
		for i := range sites {
			for l := range levels {
				x := float32(3 * r.NormFloat64())
				switch {
				case l < from:
					w[i*from+l] = x
				case l%7 == 0 && i%2 == 0:
					x = float32(math.NaN())
				case l%7 == 1:
					x += 500
				}
				v[i*levels+l] = x
			}
		}
		run := compile(t, &instance{a: avoiding(levels, from), config: Config{Sites: sites, Levels: levels}})
		got, err := run.Filter(v)
		require.NoError(t, err)
		require.Equal(t, scaled, run.method)
		require.InDelta(t, parityLogZ(w, from), got, 1e-6)
		v[3*levels+5] = float32(math.NaN())
		_, err = run.Filter(v)
		require.EqualError(t, err, "weight at site 3, level 5 is NaN")
	}
}

// TestWideRescue: where the language is at odds with the weights, sums go on in
// logarithms. Every site prefers token 1, which may be taken
// once: Z = 999⁴ + 4·999³·e^size.
func TestWideRescue(t *testing.T) {
	const levels, sites = 1000, 4
	a := &table{levels: levels, next: make([]int, 2*levels), accepting: []bool{true, true}}
	for v := range levels {
		a.next[v], a.next[levels+v] = 0, 1
	}
	a.next[1], a.next[levels+1] = 1, none
	for _, c := range []struct {
		size float32
		want method
	}{{3, scaled}, {60, scaled}, {300, scaled}, {1000, logarithm}, {1e5, logarithm}} {
		size, want := c.size, c.want
		v := make([]float32, sites*levels)
		for i := range sites {
			v[i*levels+1] = size
		}
		run := compile(t, &instance{a: a, config: Config{Sites: sites, Levels: levels}})
		got, err := run.Filter(v)
		require.NoError(t, err)
		require.Equal(t, want, run.method)
		near(t, 3*math.Log(levels-1)+simd.LogAdd(math.Log(levels-1), math.Log(4)+float64(size)), got, 1e-6)
		x := make([]int32, sites)
		run.Draw(x, rand.NewPCG(1, 1))
		require.True(t, run.g.Accepts(x))
	}
}

// TestWideDraws: tokens of one class are drawn by their weights. The level of
// weight e^5 among 999 of weight 1 comes up 148.4/1147.4 of the time; 10 000
// draws stay within 4.9 standard deviations (1e-6).
func TestWideDraws(t *testing.T) {
	const levels = 1000
	run := compile(t, &instance{a: avoiding(levels, levels), config: Config{Sites: 1, Levels: levels}})
	v := make([]float32, levels)
	v[1] = float32(math.Inf(-1))
	v[500] = 5
	_, err := run.Filter(v)
	require.NoError(t, err)
	src, x, hits := rand.NewPCG(17, 1), make([]int32, 1), 0.0
	for range 10000 {
		run.Draw(x, src)
		require.NotEqual(t, int32(1), x[0])
		if x[0] == 500 {
			hits++
		}
	}
	p := math.Exp(5) / (998 + math.Exp(5))
	require.InDelta(t, 10000*p, hits, 4.9*math.Sqrt(10000*p*(1-p)))
}

// parityLogZ returns the log of the weight of sequences with an even number of
// ones: ½(∏(a_i+b_i) + ∏(a_i−b_i)), b_i the weight of 1 and a_i of the others.
func parityLogZ(v []float32, levels int) float64 {
	sum, ratio := 0.0, 1.0
	for len(v) > 0 {
		top := math.Inf(-1)
		for _, w := range v[:levels] {
			top = max(top, float64(w))
		}
		a, b := 0.0, math.Exp(float64(v[1])-top)
		for l, w := range v[:levels] {
			if l != 1 {
				a += math.Exp(float64(w) - top)
			}
		}
		sum += top + math.Log(a+b)
		ratio *= (a - b) / (a + b)
		v = v[levels:]
	}
	return sum + math.Log((1+ratio)/2)
}

// TestMarkedSums: sums of one to four large classes, spread or one after the other, of
// rows whose blocks differ by much or have nothing, against float64.
func TestMarkedSums(t *testing.T) {
	const levels, sites = 2100, 9 // the last block is short, and no multiple of 16
	r := rand.New(rand.NewPCG(21, 1))
	for classes := 1; classes <= 4; classes++ {
		for _, spread := range []bool{true, false} {
			class := func(v int) int {
				if spread {
					return v % classes
				}
				return v * classes / levels
			}
			a := &table{levels: levels, next: make([]int, classes*levels), accepting: make([]bool, classes)}
			for s := range classes {
				a.accepting[s] = true
				for v := range levels {
					a.next[s*levels+v] = class(v)
				}
			}
			a.accepting[0] = classes == 1
			run := compile(t, &instance{a: a, config: Config{Sites: sites, Levels: levels}})
			v := make([]float32, sites*levels)
			for i := range v {
				site, block := i/levels, i%levels/blockTokens
				v[i] = float32(2*r.NormFloat64()) - 300
				switch {
				case site < 3:
					v[i] += float32([]int{0, 60, 95}[site] * block)
				case site < 5 && (block+site)%3 > 0:
					v[i] = float32(math.Inf(-1))
				case site == 5 && i%levels%700 > 0:
					v[i] = float32(math.Inf(-1))
				}
			}
			_, err := run.Filter(v)
			require.NoError(t, err)
			for site, l := range run.g.layers {
				if site < sites-1 || classes == 1 {
					require.NotNil(t, l.marks)
				}
				for k, end := range l.end {
					m := math.Inf(-1)
					tokens := l.tokens[l.begin(int32(k)):end]
					for _, x := range tokens {
						m = max(m, float64(v[site*levels+int(x)]))
					}
					sum := 0.0
					for _, x := range tokens {
						sum += math.Exp(float64(v[site*levels+int(x)]) - m)
					}
					got := run.sums(site)[k]
					if math.IsInf(m, -1) {
						require.Zero(t, got)
						continue
					}
					require.InDelta(t, m+math.Log(sum), math.Log(got)+run.shift[site], 1e-6, "%d classes, spread %v, site %d, class %d", classes, spread, site, k)
					total := 0.0
					for _, w := range run.blocks(site, l, k) {
						total += w
					}
					require.Greater(t, total, 0.0)
				}
			}
			for range 20 {
				x := make([]int32, sites)
				run.Draw(x, r)
				require.True(t, run.g.Accepts(x))
				for i, token := range x {
					require.False(t, math.IsInf(float64(v[i*levels+int(token)]), -1))
				}
			}
		}
	}
}
