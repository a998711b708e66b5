package main

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
)

// On a quadratic energy the distribution from the transition matrix is the closed form
// π_α ∝ π ∏(1 + e^l), l the logit of a flip; on another it is not, and it is another for
// another step size.
func TestStationaryIsTheClosedForm(t *testing.T) {
	o, err := parse([]string{"-bias"})
	require.NoError(t, err)
	closed := func(t *energies, alpha float64) []float64 {
		p, sum := t.target(), 0.0
		for s := range p {
			for i := range biasSites {
				p[s] *= 1 + math.Exp(-(t[s^1<<i]-t[s])/2-1/(2*alpha))
			}
			sum += p[s]
		}
		for s := range p {
			p[s] /= sum
		}
		return p
	}
	distance := func(p, q []float64) (d float64) {
		for s := range p {
			d += math.Abs(p[s] - q[s])
		}
		return d
	}
	quadratic, err := bent(o, 0)
	require.NoError(t, err)
	cubic, err := bent(o, 3)
	require.NoError(t, err)
	p, err := quadratic.stationary(0.4)
	require.NoError(t, err)
	assert.Less(t, distance(p, closed(quadratic, 0.4)), 1e-12)
	assert.Greater(t, distance(p, closed(quadratic, 0.3)), 1e-2)
	p, err = cubic.stationary(0.4)
	require.NoError(t, err)
	assert.Greater(t, distance(p, closed(cubic, 0.4)), 1e-3)
}

// Distances grow with α and, at a fixed one, with ε; draws are away from the target by
// what their distribution is.
func TestBias(t *testing.T) {
	o, err := parse(strings.Fields("-bias -chains 256 -steps 300 -warmup 300"))
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	require.Len(t, r.Bias.Alpha, len(biasAlphas))
	require.Len(t, r.Bias.Epsilon, len(biasEpsilons))
	for k, d := range r.Bias.Alpha {
		assert.Equal(t, biasAlphas[k], d.At)
		if k > 0 {
			assert.Greater(t, d.Exact, r.Bias.Alpha[k-1].Exact)
		}
		if d.At >= 0.4 { // draws that forget within some steps
			assert.InDelta(t, d.Exact, d.Sampled, 3*d.Noise)
		}
	}
	last := len(biasEpsilons) - 1
	assert.Greater(t, r.Bias.Epsilon[last].Exact, r.Bias.Epsilon[0].Exact)
	assert.Contains(t, r.String(), "ε (α = 0.3)")
	text, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"bias":{"alpha":[{"at":0.1,"exact":0.`)
	picturetest.Album(t, r.Figures(), "bias-alpha", "bias-epsilon")
	for _, args := range []string{"-anneal", "-graph x", "-lattice 4,4", "-method gibbs", "-checkpoint x"} {
		_, err := parse(append([]string{"-bias"}, strings.Fields(args)...))
		assert.ErrorContains(t, err, "-bias goes with neither", args)
	}
}
