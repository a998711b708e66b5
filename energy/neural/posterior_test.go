package neural

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// predict64 is f for one row in float64, straight from its formula, for real weights.
func predict64(theta []float64, hidden int, x []float32) float64 {
	n := len(x)
	o := theta[len(theta)-1]
	for j := range hidden {
		z := theta[n*hidden+j]
		for k, v := range x {
			z += theta[k*hidden+j] * float64(v)
		}
		o += theta[(n+1)*hidden+j] * math.Tanh(z)
	}
	return 1 / (1 + math.Exp(-o))
}

// signs returns the weights of a state.
func signs(x []int32) []float64 {
	theta := make([]float64, len(x))
	for i, l := range x {
		theta[i] = float64(2*l - 1)
	}
	return theta
}

func randomPosterior(t *testing.T, rows, inputs, hidden, batch int) (m *Posterior, x, y []float32, states []int32) {
	r := rand.New(rand.NewPCG(uint64(rows), 2))
	x, y = make([]float32, rows*inputs), make([]float32, rows)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for i := range y {
		y[i] = float32(r.IntN(2))
	}
	m, err := NewPosterior(x, y, hidden, 100, batch)
	require.NoError(t, err)
	n, _ := m.Shape()
	states = make([]int32, 3*n)
	for i := range states {
		states[i] = int32(r.IntN(2))
	}
	return m, x, y, states
}

// Energies, fields and predictions are those of the formula in float64, the field as
// twice its derivative by the weights, on more rows than a tile has.
func TestPosterior(t *testing.T) {
	for _, c := range []struct{ rows, inputs, hidden int }{{1, 1, 1}, {7, 3, 5}, {posteriorTile + 9, 2, 4}, {3, 1, 130}} {
		m, x, y, states := randomPosterior(t, c.rows, c.inputs, c.hidden, 0)
		n, levels := m.Shape()
		require.Equal(t, (c.inputs+2)*c.hidden+1, n)
		require.Equal(t, 2, levels)
		value := func(theta []float64) (sum float64) {
			for i, v := range y {
				d := predict64(theta, c.hidden, x[i*c.inputs:(i+1)*c.inputs]) - float64(v)
				sum += 100 / float64(len(y)) * d * d
			}
			return sum
		}
		e, f, h, g := make([]float64, 3), make([]float64, 3), make([]float32, len(states)), make([]float32, 2*len(states))
		m.Field(e, h, states)
		m.Gradient(f, g, states)
		require.Equal(t, e, f)
		one, hone, d := make([]float64, 1), make([]float32, n), make([]float64, 2)
		for s := range 3 {
			state := states[s*n : (s+1)*n]
			theta := signs(state)
			assert.InDelta(t, value(theta), e[s], 1e-4)
			m.Field(one, hone, state)
			assert.Equal(t, e[s], one[0], "whatever the batch")
			assert.Equal(t, h[s*n:(s+1)*n], hone)
			m.Energy(one, state)
			assert.Equal(t, e[s], one[0])
			for i := range theta {
				const step = 0x1p-12
				at := theta[i]
				theta[i] = at + step
				up := value(theta)
				theta[i] = at - step
				down := value(theta)
				theta[i] = -at
				flip := value(theta) - e[s]
				theta[i] = at
				assert.InDelta(t, (up-down)/step, h[s*n+i], 1e-3, "%+v: weight %d of %d", c, i, n)
				assert.Equal(t, h[s*n+i], g[2*(s*n+i)+1]-g[2*(s*n+i)])
				assert.Zero(t, g[2*(s*n+i)+int(state[i])])
				m.Conditional(d, i, state)
				assert.Zero(t, d[state[i]])
				assert.InDelta(t, flip, d[1-state[i]], 2e-4)
			}
			p := make([]float32, c.rows)
			m.Predict(p, state, x)
			for i := range p {
				assert.InDelta(t, predict64(theta, c.hidden, x[i*c.inputs:(i+1)*c.inputs]), p[i], 1e-5)
			}
		}
	}
}

// Estimates by one row each have the field as their mean; with all rows they are it.
func TestPosteriorEstimates(t *testing.T) {
	const rows = 6
	m, _, _, states := randomPosterior(t, rows, 2, 3, rows)
	n, _ := m.Shape()
	e, h, got, mean := make([]float64, 1), make([]float32, n), make([]float32, n), make([]float32, n)
	m.Field(e, h, states[:n])
	for r := range int32(rows) {
		m.estimate(got, states[:n], []int32{r})
		for i, v := range got {
			mean[i] += v / rows
		}
	}
	assert.InDeltaSlice(t, h, mean, 1e-4)
	s, ok := energy.As[energy.Stochastic](m)
	require.True(t, ok)
	s.Estimate(got, states[:n], []rand.Source{rand.NewPCG(1, 2)})
	assert.Equal(t, h, got)
	s.Energy(got64(e), states[:n])
	f := make([]float64, 1)
	m.Energy(f, states[:n])
	assert.Equal(t, f, e)
	whole, _, _, _ := randomPosterior(t, rows, 2, 3, 0)
	_, ok = energy.As[energy.Stochastic](whole)
	assert.False(t, ok, "no batch, no estimates")
}

func got64(e []float64) []float64 { e[0] = math.NaN(); return e }

func TestPosteriorRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for want, err := range map[string]error{
		"len(y) = 0, want ≥ 1":                                second(NewPosterior([]float32{1}, nil, 1, 1, 0)),
		"len(x) = 3, want a positive multiple of len(y) = 2":  second(NewPosterior(make([]float32, 3), make([]float32, 2), 1, 1, 0)),
		"len(x) = 0, want a positive multiple of len(y) = 2":  second(NewPosterior(nil, make([]float32, 2), 1, 1, 0)),
		"hidden = 0, want ≥ 1":                                second(NewPosterior([]float32{1}, []float32{1}, 0, 1, 0)),
		"weight = NaN, want > 0":                              second(NewPosterior([]float32{1}, []float32{1}, 1, math.NaN(), 0)),
		"batch = 2, want 0 … 1":                               second(NewPosterior([]float32{1}, []float32{1}, 1, 1, 2)),
		"y[0] = 1.5, want 0 … 1":                              second(NewPosterior([]float32{1}, []float32{1.5}, 1, 1, 0)),
		"y[1] = NaN, want 0 … 1":                              second(NewPosterior([]float32{1, 1}, []float32{1, nan}, 1, 1, 0)),
		"x[1] = +Inf, want a finite number":                   second(NewPosterior([]float32{1, inf}, []float32{1, 1}, 1, 1, 0)),
		"weight = 1e+38 and rows of magnitude 11, want 16":    second(NewPosterior([]float32{10}, []float32{1}, 1, 1e38, 0)),
		"weight = +Inf and rows of magnitude 2, want 16·max(": second(NewPosterior([]float32{1}, []float32{1}, 1, math.Inf(1), 0)),
	} {
		require.ErrorContains(t, err, "neural: NewPosterior: "+want)
	}
	m, x, _, states := randomPosterior(t, 2, 1, 1, 0)
	p := make([]float32, 2)
	for want, f := range map[string]func(){
		"neural: x[2] = 2, want 0 or 1":            func() { m.Energy(make([]float64, 1), []int32{0, 1, 2, 0}) },
		"neural: x[1] = -1, want 0 or 1":           func() { m.Conditional(make([]float64, 2), 0, []int32{0, -1, 1, 0}) },
		"neural: len(h) = 3, want 4":               func() { m.Field(make([]float64, 1), make([]float32, 3), states[:4]) },
		"neural: len(g) = 4, want 8":               func() { m.Gradient(make([]float64, 1), make([]float32, 4), states[:4]) },
		"neural: len(theta) = 3, want 4":           func() { m.Predict(p, states[:3], x) },
		"neural: len(x) = 1, want 2":               func() { m.Predict(p, states[:4], x[:1]) },
		"neural: len(d) = 1, want 2":               func() { m.Conditional(make([]float64, 1), 0, states[:4]) },
		"neural: len(x) = 3, want a multiple of 4": func() { m.Energy(make([]float64, 1), states[:3]) },
	} {
		require.PanicsWithValue(t, want, f)
	}
	// Energies at the edge of what float32 holds are finite.
	m, err := NewPosterior([]float32{1e18, -1e18}, []float32{1, 0}, 2, 1e18, 0)
	require.NoError(t, err)
	e, h := make([]float64, 1), make([]float32, 7)
	m.Field(e, h, []int32{0, 1, 1, 0, 1, 0, 1})
	for _, v := range append(h, float32(e[0])) {
		assert.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), "%v %v", e, h)
	}
}

func second(_ *Posterior, err error) error { return err }

func TestPosteriorAllocatesNothing(t *testing.T) {
	m, x, y, states := randomPosterior(t, 20, 2, 3, 4)
	n, _ := m.Shape()
	e, h, g, p := make([]float64, 3), make([]float32, len(states)), make([]float32, 2*len(states)), make([]float32, len(y))
	exact.Steady(t, "Posterior", func() {
		m.Field(e, h, states)
		m.Gradient(e, g, states)
		m.Conditional(e[:2], 1, states[:n])
		m.Predict(p, states[:n], x)
		m.estimate(h[:n], states[:n], []int32{3, 5})
	})
}
