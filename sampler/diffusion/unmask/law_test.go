package unmask_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// joint is a distribution over sites tokens out of tokens, and what predicts it:
// rows of p(x_i | what shows), by enumeration in package math. The mask is the
// level behind the tokens.
type joint struct {
	sites, tokens int
	p             []float64 // by exact.Index over tokens
	self          bool      // rows of tokens that show are one-hot; otherwise they are predicted from the others
	wrong         float64   // what is added to the log-weight of token 0 where two sites show or more
}

func newJoint(sites, tokens int, seed uint64) *joint {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &joint{sites: sites, tokens: tokens, p: make([]float64, exact.Size(sites, tokens)), self: true}
	sum := 0.0
	for k := range m.p {
		m.p[k] = math.Exp(1.5 * r.NormFloat64())
		sum += m.p[k]
	}
	for k := range m.p {
		m.p[k] /= sum
	}
	return m
}

// row returns p(x_i | the other sites that show).
func (m *joint) row(x []int32, i int) []float64 {
	row, sum := make([]float64, m.tokens), 0.0
	y := make([]int32, m.sites)
	for k, w := range m.p {
		exact.State(y, k, m.tokens)
		fits := true
		for j, l := range x {
			fits = fits && (j == i || int(l) == m.tokens || l == y[j])
		}
		if fits {
			row[y[i]] += w
			sum += w
		}
	}
	shown := 0
	for _, l := range x {
		if int(l) < m.tokens {
			shown++
		}
	}
	if m.wrong != 0 && shown >= 2 {
		sum += row[0] * (math.Exp(m.wrong) - 1)
		row[0] *= math.Exp(m.wrong)
	}
	for l := range row {
		row[l] /= sum
	}
	return row
}

func (m *joint) Shape() (sites, levels int) { return m.sites, m.tokens + 1 }
func (m *joint) TimeFree() bool             { return true }

func (m *joint) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	levels := m.tokens + 1
	for s := range q.States(m.sites) {
		x := q.X[s*m.sites : (s+1)*m.sites]
		for i, l := range x {
			row := v[(s*m.sites+i)*levels : (s*m.sites+i+1)*levels]
			for j := range row {
				row[j] = float32(math.Inf(-1))
			}
			if m.self && int(l) < m.tokens {
				row[l] = 0
				continue
			}
			for j, w := range m.row(x, i) {
				row[j] = float32(math.Log(w))
			}
			row[m.tokens] = 3 // nobody may believe this
		}
	}
	return nil
}

// outcome is a state that a step may lead to.
type outcome struct {
	x []int32
	p float64
}

// reveal returns what drawing the sites from their own rows leads to.
func (m *joint) reveal(x []int32, sites []int) []outcome {
	out := []outcome{{slices.Clone(x), 1}}
	for _, i := range sites {
		row := m.row(x, i)
		var wider []outcome
		for _, o := range out {
			for l, w := range row {
				y := slices.Clone(o.x)
				y[i] = int32(l)
				wider = append(wider, outcome{y, o.p * w})
			}
		}
		out = wider
	}
	return out
}

// hidden returns the masked sites of x from … to−1.
func (m *joint) hidden(x []int32, from, to int) (sites []int) {
	for i := from; i < to; i++ {
		if int(x[i]) == m.tokens {
			sites = append(sites, i)
		}
	}
	return sites
}

// law returns the distribution of complete states, over tokens, when step n leads
// from x to its outcomes, for the given number of steps at most.
func (m *joint) law(steps int, step func(x []int32, n int) []outcome) []float64 {
	levels := m.tokens + 1
	now := make([]float64, exact.Size(m.sites, levels))
	now[len(now)-1] = 1
	for n := range steps {
		next := make([]float64, len(now))
		x := make([]int32, m.sites)
		for k, w := range now {
			if w == 0 {
				continue
			}
			exact.State(x, k, levels)
			for _, o := range step(x, n) {
				next[exact.Index(o.x, levels)] += w * o.p
			}
		}
		now = next
	}
	law := make([]float64, len(m.p))
	x := make([]int32, m.sites)
	for k, w := range now {
		exact.State(x, k, levels)
		if slices.Max(x) < int32(m.tokens) {
			law[exact.Index(x, m.tokens)] = w
		}
	}
	return law
}

// subsets calls f with every subset of n of the sites.
func subsets(sites []int, n int, f func(chosen []int)) {
	for bits := range 1 << len(sites) {
		var chosen []int
		for k, i := range sites {
			if bits>>k&1 == 1 {
				chosen = append(chosen, i)
			}
		}
		if len(chosen) == n {
			f(chosen)
		}
	}
}

// random reveals n random ones of the sites.
func (m *joint) random(x []int32, sites []int, n int) (out []outcome) {
	n = min(n, len(sites))
	count := 0.0
	subsets(sites, n, func([]int) { count++ })
	subsets(sites, n, func(chosen []int) {
		for _, o := range m.reveal(x, chosen) {
			out = append(out, outcome{o.x, o.p / count})
		}
	})
	return out
}

// draws counts n samples of the process.
func draws(t *testing.T, m *joint, p diffusion.Process[int32], cfg diffusion.Config, n int) []int {
	t.Helper()
	cfg.Seed, cfg.Workers = 5, 1
	d, err := diffusion.New(context.Background(), m, p, cfg)
	require.NoError(t, err)
	x := make([]int32, n*m.sites)
	require.NoError(t, d.Sample(context.Background(), x))
	counts := make([]int, len(m.p))
	exact.Tally(counts, x, m.sites, m.tokens)
	return counts
}

func tv(p, q []float64) (d float64) {
	for k := range p {
		d += math.Abs(p[k]-q[k]) / 2
	}
	return d
}

func divergence(p, q []float64) (d float64) {
	for k, w := range p {
		d += w * math.Log(w/q[k])
	}
	return d
}

func entropyOf(p []float64) (h float64) {
	for _, w := range p {
		if w > 0 {
			h -= w * math.Log(w)
		}
	}
	return h
}
