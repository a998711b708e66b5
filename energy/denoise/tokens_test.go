package denoise_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// simplex draws a probability vector with some zeros.
func simplex(r *rand.Rand, n int, zeros float64) []float64 {
	p := make([]float64, n)
	sum := 0.0
	for i := range p {
		if i > 0 && r.Float64() < zeros {
			continue
		}
		p[i] = r.ExpFloat64()
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func simplices(r *rand.Rand, rows, n int, zeros float64) []float64 {
	var p []float64
	for range rows {
		p = append(p, simplex(r, n, zeros)...)
	}
	return p
}

// bayes returns the rows of log p(x_0,i | x_t) by summing over all sequences,
// whose probabilities are p, with package math.
func bayes(p []float64, x []int32, clean []bool, alpha float64, k int, c denoise.Corruption) []float64 {
	levels := k
	if c == denoise.Absorbing {
		levels++
	}
	rows := make([]float64, len(x)*levels)
	y := make([]int32, len(x))
	for n, w := range p {
		exact.State(y, n, k)
		for i, l := range y {
			intact, noise := alpha, (1-alpha)/float64(k)
			if clean != nil && clean[i] {
				intact, noise = 1, 0
			}
			switch {
			case c == denoise.Absorbing && int(x[i]) == k:
				w *= 1 - alpha
			case c == denoise.Absorbing && x[i] == l:
				w *= alpha
			case c == denoise.Absorbing:
				w = 0
			case x[i] == l:
				w *= intact + noise
			default:
				w *= noise
			}
		}
		for i, l := range y {
			rows[i*levels+int(l)] += w
		}
	}
	for i := range rows {
		rows[i] = math.Log(rows[i])
	}
	return rows
}

// sameRows asserts that rows of log-weights agree up to a constant each.
func sameRows(t assert.TestingT, want []float64, got []float32, levels int) bool {
	for r := 0; r < len(want); r += levels {
		shift, set := 0.0, false
		for l := r; l < r+levels; l++ {
			if math.IsInf(want[l], -1) || math.IsInf(float64(got[l]), -1) {
				// 1e-12 stands for the rounding of sums that are 0 in truth.
				if !assert.True(t, want[l] < -27 && got[l] < -27, "row %d, level %d: %v, want %v", r/levels, l-r, got[l], want[l]) {
					return false
				}
				continue
			}
			if !set {
				shift, set = float64(got[l])-want[l], true
			}
			// float32 logarithms below 100 in size are right to 4e-6, twice.
			if !assert.InDelta(t, want[l]+shift, float64(got[l]), 1e-5, "row %d, level %d", r/levels, l-r) {
				return false
			}
		}
	}
	return true
}

// noised draws a batch of corrupted states of random sequences from p.
func noised(r *rand.Rand, p []float64, n, sites, k int, c denoise.Corruption, clean bool) energy.Noised[int32] {
	q := energy.Noised[int32]{X: make([]int32, n*sites)}
	if clean {
		q.Clean = make([]bool, n*sites)
	}
	for s := range n {
		u, j := r.Float64(), 0
		for ; j < len(p)-1 && u >= p[j]; j++ {
			u -= p[j]
		}
		alpha := r.Float64()
		x := q.X[s*sites : (s+1)*sites]
		exact.State(x, j, k)
		for i := range x {
			switch {
			case clean && r.IntN(3) == 0:
				q.Clean[s*sites+i] = true
			case r.Float64() < alpha:
			case c == denoise.Absorbing:
				x[i] = int32(k)
			default:
				x[i] = int32(r.IntN(k))
			}
		}
		q.Time, q.Alpha = append(q.Time, 1-alpha), append(q.Alpha, alpha)
		q.Sample, q.Src = append(q.Sample, s), append(q.Src, r)
	}
	return q
}

// checkDenoiser compares a denoiser with enumeration on random batches.
func checkDenoiser(t *rapid.T, r *rand.Rand, d energy.Denoiser[int32], p []float64, sites, k int, c denoise.Corruption) {
	gotSites, levels := d.Shape()
	require.Equal(t, sites, gotSites)
	require.Equal(t, c == denoise.Absorbing, levels == k+1)
	require.Equal(t, c == denoise.Absorbing, energy.TimeFree(d))
	q := noised(r, p, 3, sites, k, c, r.IntN(2) == 0)
	v := make([]float32, 3*sites*levels)
	require.NoError(t, d.Denoise(context.Background(), v, q))
	for s := range 3 {
		var clean []bool
		if q.Clean != nil {
			clean = q.Clean[s*sites : (s+1)*sites]
		}
		want := bayes(p, q.X[s*sites:(s+1)*sites], clean, q.Alpha[s], k, c)
		require.True(t, sameRows(t, want, v[s*sites*levels:(s+1)*sites*levels], levels))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, d.Denoise(ctx, v, q), context.Canceled)
}

func TestMarkovDenoiserIsBayesRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order, k := rapid.IntRange(0, 3).Draw(t, "order"), rapid.IntRange(1, 3).Draw(t, "k")
		sites := max(1, order) + rapid.IntRange(0, 3).Draw(t, "more")
		c := denoise.Corruption(rapid.IntRange(0, 1).Draw(t, "corruption"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		contexts := int(math.Pow(float64(k), float64(order)))
		m, err := model.NewMarkov(sites, k, order, simplex(r, contexts, 0.3), simplices(r, contexts, k, 0.3))
		require.NoError(t, err)
		p, _ := exact.Law(m)
		d, err := denoise.NewMarkov(m, c)
		require.NoError(t, err)
		checkDenoiser(t, r, d, p, sites, k, c)
		table, err := denoise.NewTable(m, c)
		require.NoError(t, err)
		checkDenoiser(t, r, table, p, sites, k, c)
	})
}

func TestHMMIsBayesRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, k := rapid.IntRange(1, 3).Draw(t, "hidden"), rapid.IntRange(1, 3).Draw(t, "k")
		sites := rapid.IntRange(1, 5).Draw(t, "sites")
		c := denoise.Corruption(rapid.IntRange(0, 1).Draw(t, "corruption"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		start, trans, emit := simplex(r, h, 0.3), simplices(r, h, h, 0.3), simplices(r, h, k, 0.3)
		d, err := denoise.NewHMM(sites, start, trans, emit, c)
		require.NoError(t, err)
		p := make([]float64, exact.Size(sites, k))
		x, z := make([]int32, sites), make([]int32, sites)
		for j := range p {
			exact.State(x, j, k)
			for path := range exact.Size(sites, h) {
				exact.State(z, path, h)
				w := start[z[0]]
				for i := range z {
					if i > 0 {
						w *= trans[int(z[i-1])*h+int(z[i])]
					}
					w *= emit[int(z[i])*k+int(x[i])]
				}
				p[j] += w
			}
		}
		checkDenoiser(t, r, d, p, sites, k, c)
	})
}

func TestIndependentDenoiserIsBayesRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, sites := rapid.IntRange(1, 4).Draw(t, "k"), rapid.IntRange(1, 4).Draw(t, "sites")
		c := denoise.Corruption(rapid.IntRange(0, 1).Draw(t, "corruption"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w := simplices(r, sites, k, 0.3)
		for i := range w {
			w[i] = math.Log(w[i]) - 7
		}
		m, err := model.NewIndependent(w, k)
		require.NoError(t, err)
		p, _ := exact.Law(m)
		d, err := denoise.NewIndependent(m, c)
		require.NoError(t, err)
		checkDenoiser(t, r, d, p, sites, k, c)
	})
}

func TestImpossibleSequencesHaveEmptyRows(t *testing.T) {
	start, trans := []float64{1, 0}, []float64{0, 1, 1, 0} // 0101…
	m, err := model.NewMarkov(3, 2, 1, start, trans)
	require.NoError(t, err)
	markov, err := denoise.NewMarkov(m, denoise.Absorbing)
	require.NoError(t, err)
	hmm, err := denoise.NewHMM(3, start, trans, []float64{1, 0, 0, 1}, denoise.Absorbing)
	require.NoError(t, err)
	table, err := denoise.NewTable(m, denoise.Absorbing)
	require.NoError(t, err)
	never := float32(math.Inf(-1))
	q := energy.Noised[int32]{X: []int32{2, 0, 2, 2, 1, 2}, Time: make([]float64, 2), Alpha: make([]float64, 2), Sample: make([]int, 2), Src: make([]rand.Source, 2)}
	for _, d := range []energy.Denoiser[int32]{markov, hmm, table} {
		v := make([]float32, 18)
		require.NoError(t, d.Denoise(context.Background(), v, q))
		for _, w := range v[:9] {
			assert.Equal(t, never, w)
		}
		assert.Greater(t, v[9], never)
		assert.Equal(t, []float32{never, never}, v[10:12])
	}
}

func TestExactDenoisersRefuse(t *testing.T) {
	func2 := energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return math.NaN() }}
	_, err := denoise.NewTable(func2, denoise.Noisy)
	assert.ErrorContains(t, err, "E([0 0]) = NaN")
	func2.E = func([]int32) float64 { return math.Inf(1) }
	_, err = denoise.NewTable(func2, denoise.Noisy)
	assert.ErrorContains(t, err, "no state has probability")
	func2.Sites = 40
	_, err = denoise.NewTable(func2, denoise.Noisy)
	assert.ErrorContains(t, err, "2^40 states of 40 sites")
	_, err = denoise.NewTable(nil, denoise.Noisy)
	assert.ErrorContains(t, err, "m is nil")
	_, err = denoise.NewTable(func2, 7)
	assert.ErrorContains(t, err, "Corruption = 7")
	_, err = denoise.NewMarkov(nil, denoise.Noisy)
	assert.ErrorContains(t, err, "m is nil")
	_, err = denoise.NewIndependent(nil, denoise.Noisy)
	assert.ErrorContains(t, err, "m is nil")
	ind, err := model.NewIndependent([]float64{0, 0}, 2)
	require.NoError(t, err)
	_, err = denoise.NewIndependent(ind, 9)
	assert.ErrorContains(t, err, "Corruption = 9")
	chain, err := model.NewMarkov(2, 1, 0, nil, []float64{1})
	require.NoError(t, err)
	_, err = denoise.NewMarkov(chain, 9)
	assert.ErrorContains(t, err, "Corruption = 9")
	for want, f := range map[string]func() (*denoise.HMM, error){
		"sites = 0":      func() (*denoise.HMM, error) { return denoise.NewHMM(0, []float64{1}, []float64{1}, []float64{1}, 0) },
		"len(start) = 0": func() (*denoise.HMM, error) { return denoise.NewHMM(1, nil, nil, nil, 0) },
		"len(trans) = 2": func() (*denoise.HMM, error) { return denoise.NewHMM(1, []float64{1}, []float64{1, 0}, []float64{1}, 0) },
		"len(emit) = 0":  func() (*denoise.HMM, error) { return denoise.NewHMM(1, []float64{1}, []float64{1}, nil, 0) },
		"emit[1] = -1": func() (*denoise.HMM, error) {
			return denoise.NewHMM(1, []float64{1}, []float64{1}, []float64{2, -1}, 0)
		},
		"start[0:1] sums to 2": func() (*denoise.HMM, error) { return denoise.NewHMM(1, []float64{2}, []float64{1}, []float64{1}, 0) },
		"Corruption = 3":       func() (*denoise.HMM, error) { return denoise.NewHMM(1, []float64{1}, []float64{1}, []float64{1}, 3) },
	} {
		_, err := f()
		assert.ErrorContains(t, err, want)
	}
	assert.Equal(t, "Absorbing Noisy Corruption(5)", fmt.Sprint(denoise.Absorbing, denoise.Noisy, denoise.Corruption(5)))
	text, err := denoise.Noisy.MarshalText()
	require.NoError(t, err)
	var back denoise.Corruption
	require.NoError(t, back.UnmarshalText(text))
	assert.Equal(t, denoise.Noisy, back)
}

func TestExactDenoisersDoNotAllocate(t *testing.T) {
	if exact.Race {
		t.Skip("the race detector allocates")
	}
	r := rand.New(rand.NewPCG(1, 1))
	m, err := model.NewMarkov(8, 3, 2, simplex(r, 9, 0), simplices(r, 9, 3, 0))
	require.NoError(t, err)
	p := simplex(r, exact.Size(8, 3), 0)
	d, err := denoise.NewMarkov(m, denoise.Absorbing)
	require.NoError(t, err)
	q := noised(r, p, 4, 8, 3, denoise.Absorbing, false)
	v := make([]float32, 4*8*4)
	assert.Zero(t, testing.AllocsPerRun(20, func() { _ = d.Denoise(context.Background(), v, q) }))
}

// BenchmarkMarkovDenoiser times the prediction for one sequence of 32 out of 40
// tokens, of which a share is masked.
func BenchmarkMarkovDenoiser(b *testing.B) {
	const sites, k = 32, 40
	r := rand.New(rand.NewPCG(1, 1))
	for _, order := range []int{1, 2} {
		contexts := k
		if order == 2 {
			contexts = k * k
		}
		m, err := model.NewMarkov(sites, k, order, simplex(r, contexts, 0), simplices(r, contexts, k, 0.5))
		if err != nil {
			b.Fatal(err)
		}
		d, err := denoise.NewMarkov(m, denoise.Absorbing)
		if err != nil {
			b.Fatal(err)
		}
		for _, masked := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("order=%d/masked=%d", order, masked), func(b *testing.B) {
				q := energy.Noised[int32]{X: make([]int32, sites), Time: make([]float64, 1), Alpha: make([]float64, 1), Sample: make([]int, 1), Src: make([]rand.Source, 1)}
				for j := range masked {
					q.X[j*sites/masked] = k
				}
				v := make([]float32, sites*(k+1))
				for b.Loop() {
					_ = d.Denoise(context.Background(), v, q)
				}
			})
		}
	}
}
