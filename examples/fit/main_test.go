package main

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Answers that are missing, neither 0 nor 1, or constant are errors that say where.
func TestSurveyErrors(t *testing.T) {
	for want, text := range map[string]string{
		`line 3, column "b": no value, want 0 or 1`:                         "a,b\n0,1\n1,\n",
		`line 2, column "a": "2", want 0 or 1`:                              "a,b\n2,1\n1,0\n",
		`column 2 has the name "a" of another column, want different names`: "a,a\n0,1\n1,0\n",
		`1 rows, want at least 2`:                                           "a,b\n0,1\n",
		`wrong number of fields`:                                            "a,b\n0\n",
		`the names of the columns: EOF`:                                     "",
		`column "b" is 1 in every row`:                                      "a,b\n0,1\n1,1\n",
	} {
		path := filepath.Join(t.TempDir(), "answers.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		o, err := parse([]string{"-csv", path})
		require.NoError(t, err)
		_, err = run(context.Background(), o)
		require.ErrorContains(t, err, want)
	}
	for want, args := range map[string]string{
		"-given": "-given a=1", "2 of -csv, -rbm and -deep": "-rbm -deep", "-mmd needs -rbm": "-mmd", "-conv needs -deep": "-conv", "-steps = 5 needs -rbm or -deep": "-steps 5", "-steps = -1, want ≥ 0": "-deep -steps -1", "-stages = 9 needs -csv, -rbm or -deep": "-stages 9", "-stages = -1, want ≥ 0": "-deep -stages -1", "-n = 1": "-n 1", "-seconds = 0": "-seconds 0", "-l1 = -1": "-l1 -1", `unexpected argument "x"`: "x",
	} {
		_, err := parse(strings.Fields(args))
		assert.ErrorContains(t, err, want)
	}
	_, err := conditions("c=1", []string{"a", "b"})
	require.ErrorContains(t, err, `no column "c"; there are a, b`)
	_, err = conditions("a=2", []string{"a", "b"})
	require.ErrorContains(t, err, "want column=0 or column=1")
	_, err = conditions("a=1,b=0,a=0", []string{"a", "b"})
	require.ErrorContains(t, err, `column "a" is 0 and 1 at once`)
	names, data, err := answers(strings.NewReader("\ufeff\"a\",b\r\n1,0\r\n0,1\r\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, names)
	require.Equal(t, []int32{1, 0, 0, 1}, data)
}

// Bars and stripes of 4×4 are 30 images, all different.
func TestBars(t *testing.T) {
	x := bars(4)
	require.Len(t, x, 30*16)
	seen := map[[16]int32]bool{}
	for ; len(x) > 0; x = x[16:] {
		seen[[16]int32(x)] = true
	}
	assert.Len(t, seen, 30)
}

// The log-likelihood of a machine by annealed importance sampling is that by enumeration
// of its hidden units, after however many steps.
func TestMachineIsCertified(t *testing.T) {
	if testing.Short() {
		t.Skip("2 s")
	}
	o, err := parse(strings.Fields("-rbm -mmd -n 100 -steps 50 -seconds 3600"))
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	require.NotNil(t, r.LogLikExact)
	require.NotNil(t, r.LogLikAIS)
	assert.InDelta(t, *r.LogLikExact, *r.LogLikAIS, 0.1)
	assert.Greater(t, *r.LogLikExact, -visible*math.Ln2, "better than coins")
	require.Len(t, r.Mixing, 19)
	for i, m := range r.Mixing {
		if m.Steps == 1000 {
			assert.InDelta(t, 0, m.MMD, 0.002, m.Method)
			assert.InDelta(t, -6.7, m.LogBias, 0.5, "%s: the bias of 500 and 500 states", m.Method)
			assert.Greater(t, r.Mixing[i-3].MMD, m.MMD+0.001, "%s: random states are elsewhere", m.Method)
		}
	}
	assert.Contains(t, r.String(), "block-gibbs    1000")
}

// A network of bars and stripes is certified, too, and its energies do not run away.
func TestNetworkIsCertified(t *testing.T) {
	if testing.Short() {
		t.Skip("3 s")
	}
	o, err := parse(strings.Fields("-deep -steps 150 -stages 100 -seconds 3600"))
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	require.NotNil(t, r.LogLikExact)
	require.NotNil(t, r.LogLikAIS)
	require.NotNil(t, r.LogLikErr)
	assert.InDelta(t, *r.LogLikExact, *r.LogLikAIS, 0.05+4**r.LogLikErr)
	assert.Less(t, *r.LogLikErr, 0.1)
	assert.Greater(t, *r.LogLikExact, -16*math.Ln2, "better than coins")
}

// The derivatives of the convolutional energy are those of differences, and a shifted image has the
// same energy.
func TestConvolution(t *testing.T) {
	const side, n = 4, 16
	r := rand.New(rand.NewPCG(1, 5))
	m := newConvolution(side, 3, r)
	for k := range m.theta {
		m.theta[k] = r.NormFloat64()
	}
	x, shifted := make([]int32, n), make([]int32, n)
	for i := range x {
		x[i] = int32(r.IntN(2))
	}
	for i := range x {
		shifted[(i/side+1)%side*side+(i+2)%side] = x[i]
	}
	at := func(x []int32) float64 {
		e := make([]float64, 1)
		m.Energy(e, x)
		return e[0]
	}
	assert.InDelta(t, at(x), at(shifted), 1e-9)
	g, theta := make([]float64, len(m.theta)), m.Params()
	m.ParamGradient(g, append(x, shifted...), []float64{0.5, 2})
	const step = 1e-5
	for k := range theta {
		var f [2]float64
		for j, by := range []float64{step, -step} {
			moved := append([]float64(nil), theta...)
			moved[k] += by
			require.NoError(t, m.SetParams(moved))
			f[j] = 0.5*at(x) + 2*at(shifted)
		}
		assert.InDelta(t, (f[0]-f[1])/(2*step), g[k], 1e-5, "parameter %d", k)
	}
	require.ErrorContains(t, m.SetParams([]float64{math.NaN()}), "parameter 0 = NaN")
	for k := range theta { // with small weights, the first order of the field is exact
		theta[k] *= 1e-3
	}
	require.NoError(t, m.SetParams(theta))
	e, h := make([]float64, 1), make([]float32, n)
	m.Field(e, h, x)
	assert.Equal(t, at(x), e[0])
	for i := range x {
		y := append([]int32(nil), x...)
		y[i] = 1
		up := at(y)
		y[i] = 0
		assert.InDelta(t, up-at(y), float64(h[i]), 1e-5)
	}
}

// A convolutional energy of bars and stripes is certified, too.
func TestConvolutionalEnergy(t *testing.T) {
	if testing.Short() {
		t.Skip("2 s")
	}
	o, err := parse(strings.Fields("-deep -conv -steps 50 -stages 50 -seconds 3600"))
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	assert.InDelta(t, *r.LogLikExact, *r.LogLikAIS, 0.05+4**r.LogLikErr)
	assert.Greater(t, *r.LogLikExact, -16*math.Ln2, "better than coins")
}
