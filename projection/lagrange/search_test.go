package lagrange

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// perceptron is a score that no language knows: a·tanh(W·Σ_i pos_i·E[x_i]) − tau, an
// embedding of 8 and 16 units.
type perceptron struct {
	levels           int
	embed, w, a, pos []float64
	tau              float64
	values           int
}

const embedding, units = 8, 16

func newPerceptron(r *rand.Rand, sites, levels int) *perceptron {
	normal := func(n int, sd float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = sd * r.NormFloat64()
		}
		return v
	}
	m := &perceptron{levels: levels, embed: normal(levels*embedding, 1), w: normal(units*embedding, 2), a: normal(units, 1.5)}
	for range sites {
		m.pos = append(m.pos, (.5+r.Float64())/math.Sqrt(float64(sites)))
	}
	return m
}

// score returns the score of an embedded sequence and its derivatives.
func (m *perceptron) score(e []float64) (s float64, g [embedding]float64) {
	for j, a := range m.a {
		u := 0.0
		for d, v := range e {
			u += m.w[j*embedding+d] * v
		}
		t := math.Tanh(u)
		s += a * t
		for d := range g {
			g[d] += a * (1 - t*t) * m.w[j*embedding+d]
		}
	}
	return s - m.tau, g
}

func (m *perceptron) soft(v []float32) []float64 {
	e := make([]float64, embedding)
	for k, p := range v {
		for d := range e {
			e[d] += float64(p) * m.pos[k/m.levels] * m.embed[k%m.levels*embedding+d]
		}
	}
	return e
}

func (m *perceptron) Len() int { return 1 }

func (m *perceptron) Value(g []float64, v []float32) {
	m.values++
	g[0], _ = m.score(m.soft(v))
}

func (m *perceptron) Pull(dst, v []float32, w []float64) {
	_, g := m.score(m.soft(v))
	for k := range dst {
		s := 0.0
		for d, u := range g {
			s += u * m.embed[k%m.levels*embedding+d]
		}
		dst[k] += float32(w[0] * m.pos[k/m.levels] * s)
	}
}

func (m *perceptron) Violation(g []float64, x []int32) {
	n := len(m.pos)
	for s := range g {
		e := make([]float64, embedding)
		for i, l := range x[s*n : (s+1)*n] {
			for d := range e {
				e[d] += m.pos[i] * m.embed[int(l)*embedding+d]
			}
		}
		g[s], _ = m.score(e)
	}
}

// Searches by scores do not get lost: the slowest twentieth takes at most three times
// the gradients of the median, where half, a tenth and a hundredth of uniform sequences
// satisfy the score, and where its units are steep.
func TestGradients(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, quantile := range []float64{.5, .1, .01} {
		gradients(t, 64, 64, 1, quantile)
	}
	for _, steep := range []float64{1, 3, 8} {
		gradients(t, 32, 40, steep, .01)
	}
}

// gradients counts those of networks whose units are so many times as steep.
func gradients(t *testing.T, sites, levels int, steep, quantile float64) {
	var gradients []int
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 9))
		m := newPerceptron(r, sites, levels)
		for i := range m.w {
			m.w[i] *= steep
		}
		scores, x, g := make([]float64, 1000), make([]int32, sites), make([]float64, 1)
		for n := range scores {
			for i := range x {
				x[i] = r.Int32N(int32(levels))
			}
			m.Violation(g, x)
			scores[n] = g[0]
		}
		slices.Sort(scores)
		m.tau = scores[int(quantile*1000)]
		a, err := Projector{Constraint: m}.Compile(t.Context(), sites, levels)
		require.NoError(t, err)
		v := make([]float32, sites*levels)
		for range 15 {
			for i := range v {
				v[i] = float32(2 * r.NormFloat64())
			}
			m.values = 0
			kl, violation, err := a.Nearest(t.Context(), x, v, r)
			assert.NoError(t, err)
			assert.LessOrEqual(t, violation, 0.0)
			if m.Violation(g, x); assert.LessOrEqual(t, g[0], 0.0) && kl > 0 {
				gradients = append(gradients, m.values)
			}
		}
	}
	slices.Sort(gradients)
	median, most := gradients[len(gradients)/2], gradients[len(gradients)*95/100]
	t.Logf("L %d, V %d, steepness %v, quantile %v: %d sequences moved, %d gradients, p95 %d", sites, levels, steep, quantile, len(gradients), median, most)
	assert.LessOrEqual(t, most, 3*median, "quantile %v", quantile)
}
