package neural_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

const (
	sites  = 3
	tokens = 3
	draws  = 15_000
)

// fixed returns a network with random weights that see positions, neighbours and
// the time.
func fixed(t *testing.T, levels int) *neural.Transformer {
	r := rand.New(rand.NewPCG(3, 2))
	net, err := neural.New(neural.Config{Length: sites, Levels: levels, Width: 8, Heads: 2, Blocks: 2, Cond: 4, Positions: true}, r)
	require.NoError(t, err)
	for i := range net.Weights() {
		net.Weights()[i] += float32(0.3 * r.NormFloat64())
	}
	return net
}

// predict returns the probabilities that a denoiser predicts for one state; one
// that leaves sites out is multiplied by the likelihood of uniform noise.
func predict(t *testing.T, d energy.Denoiser[int32], x []int32, time, alpha float64) []float64 {
	_, levels := d.Shape()
	v := make([]float32, sites*levels)
	q := energy.Noised[int32]{X: x, Time: []float64{time}, Alpha: []float64{alpha}, Sample: []int{0}, Src: []rand.Source{nil}}
	require.NoError(t, d.Denoise(context.Background(), v, q))
	p := make([]float64, len(v))
	for i := range sites {
		sum := 0.0
		for l := range levels {
			w := math.Exp(float64(v[i*levels+l]))
			if energy.LeaveOneOut(d) {
				like := (1 - alpha) / float64(levels)
				if x[i] == int32(l) {
					like += alpha
				}
				w *= like
			}
			p[i*levels+l] = w
			sum += w
		}
		for l := range levels {
			p[i*levels+l] /= sum
		}
	}
	return p
}

func sample(t *testing.T, d energy.Denoiser[int32], p diffusion.Process[int32], steps int) []int {
	run, err := diffusion.New(context.Background(), d, p, diffusion.Config{Steps: steps, Seed: 5})
	require.NoError(t, err)
	x := make([]int32, draws*sites)
	require.NoError(t, run.Sample(context.Background(), x))
	counts := make([]int, exact.Size(sites, tokens))
	exact.Tally(counts, x, sites, tokens)
	return counts
}

// chain returns the probability of x by the chain rule of the network's
// predictions over all orders of the sites, each as likely.
func chain(t *testing.T, d energy.Denoiser[int32], mask int32, x []int32) float64 {
	_, levels := d.Shape()
	var from func(seen []int32) float64
	from = func(seen []int32) float64 {
		left := 0
		for _, l := range seen {
			if l == mask {
				left++
			}
		}
		if left == 0 {
			return 1
		}
		p, sum := predict(t, d, seen, 0.5, 0.5), 0.0
		for i, l := range seen {
			if l == mask {
				next := slices.Clone(seen)
				next[i] = x[i]
				sum += p[i*levels+int(x[i])] * from(next) / float64(left)
			}
		}
		return sum
	}
	return from([]int32{mask, mask, mask})
}

func TestFirstHittingFollowsTheChainRuleOfTheNetwork(t *testing.T) {
	exact.SkipRepeated(t)
	const mask = tokens
	net := fixed(t, tokens+1)
	masked := exact.Must(neural.NewMasked(net, mask, neural.Options{TimeFree: true}))
	law := make([]float64, exact.Size(sites, tokens))
	first := predict(t, masked, []int32{mask, mask, mask}, 1, 0)
	blind := make([]float64, len(law)) // the twin: right at first, then blind to what is revealed
	x := make([]int32, sites)
	for k := range law {
		exact.State(x, k, tokens)
		law[k] = chain(t, masked, mask, x)
		blind[k] = 1
		for i, l := range x {
			blind[k] *= first[i*(tokens+1)+int(l)]
		}
	}
	counts := sample(t, masked, diffusion.Masked{Mask: mask, FirstHitting: true}, 0)
	exact.Counts(t, counts, law, exact.Rate)
	assert.Less(t, exact.PValue(counts, blind), exact.Rate)

	ratio := exact.Must(neural.NewRatio(net, mask, neural.Options{TimeFree: true}))
	assert.Equal(t, counts, sample(t, ratio, diffusion.Masked{Mask: mask, FirstHitting: true}, 0), "scores are posteriors")
}

// evolve returns the distribution of x_0 after steps on an even grid, from that
// of x_1, by the transitions of single sites that row gives.
func evolve(t *testing.T, d energy.Denoiser[int32], start []float64, steps int, row func(p []float64, at int32, alphaT, alphaS float64) []float64) []float64 {
	_, levels := d.Shape()
	law := start
	x, y := make([]int32, sites), make([]int32, sites)
	c := noise.LogLinear{}
	for k := range steps {
		now, then := 1-float64(k)/float64(steps), 1-float64(k+1)/float64(steps)
		next := make([]float64, len(law))
		for a, w := range law {
			if w == 0 {
				continue
			}
			exact.State(x, a, levels)
			p := predict(t, d, x, now, c.Alpha(now))
			var rows [sites][]float64
			for i := range rows {
				rows[i] = row(p[i*levels:(i+1)*levels], x[i], c.Alpha(now), c.Alpha(then))
			}
			for b := range next {
				exact.State(y, b, levels)
				q := w
				for i, l := range y {
					q *= rows[i][l]
				}
				next[b] += q
			}
		}
		law = next
	}
	return law
}

// uniformRow is p(x_s | x_t) of one site, the sum over x_0 of Schiff et al.'s
// posterior.
func uniformRow(p []float64, at int32, alphaT, alphaS float64) []float64 {
	n := float64(len(p))
	row := make([]float64, len(p))
	ts := alphaT / alphaS
	for x0, w := range p {
		var q [tokens]float64
		sum := 0.0
		for s := range q {
			a, b := (1-alphaS)/n, (1-ts)/n
			if s == x0 {
				a += alphaS
			}
			if int32(s) == at {
				b += ts
			}
			q[s] = a * b
			sum += q[s]
		}
		for s := range q {
			row[s] += w * q[s] / sum
		}
	}
	return row
}

func TestUniformDiffusionFollowsTheNetwork(t *testing.T) {
	exact.SkipRepeated(t)
	net := fixed(t, tokens)
	start := slices.Repeat([]float64{1 / float64(exact.Size(sites, tokens))}, exact.Size(sites, tokens))
	loo := exact.Must(neural.NewUniform(net, false, neural.Options{}))
	full := exact.Must(neural.NewUniform(net, true, neural.Options{}))
	ratio := exact.Must(neural.NewRatio(net, -1, neural.Options{}))
	for _, steps := range []int{1, 4} {
		for name, d := range map[string]energy.Denoiser[int32]{"leave one out": loo, "posterior": full, "ratio": ratio} {
			law := evolve(t, d, start, steps, uniformRow)
			exact.Counts(t, sample(t, d, diffusion.Uniform{}, steps), law, exact.Rate)
			t.Log(name, steps)
		}
	}
	// Taken for the other kind, the same network gives another distribution.
	assert.Less(t, exact.PValue(sample(t, loo, diffusion.Uniform{}, 3), evolve(t, full, start, 3, uniformRow)), exact.Rate)
}

func TestMaskedDiffusionFollowsTheConditionedNetwork(t *testing.T) {
	exact.SkipRepeated(t)
	const mask = tokens
	net := fixed(t, tokens+1)
	start := make([]float64, exact.Size(sites, tokens+1))
	start[len(start)-1] = 1
	row := func(p []float64, at int32, alphaT, alphaS float64) []float64 {
		r := make([]float64, len(p))
		if at != mask {
			r[at] = 1
			return r
		}
		open := (alphaS - alphaT) / (1 - alphaT)
		for l, w := range p {
			r[l] = open * w
		}
		r[mask] = 1 - open
		return r
	}
	tokensOnly := func(law []float64) []float64 {
		p := make([]float64, exact.Size(sites, tokens))
		x := make([]int32, sites)
		for k, w := range law {
			if exact.State(x, k, tokens+1); w > 0 {
				p[exact.Index(x, tokens)] += w
			}
		}
		return p
	}
	for _, steps := range []int{1, 2, 5} {
		d := exact.Must(neural.NewMasked(net, mask, neural.Options{}))
		counts := sample(t, d, diffusion.Masked{Mask: mask}, steps)
		exact.Counts(t, counts, tokensOnly(evolve(t, d, start, steps, row)), exact.Rate)
		if steps == 5 { // a network shown another time predicts otherwise
			other := exact.Must(neural.NewMasked(net, mask, neural.Options{Level: func(t, _ float64) float64 { return 1 - t }}))
			assert.Less(t, exact.PValue(counts, tokensOnly(evolve(t, other, start, steps, row))), exact.Rate)
		}
	}
}
