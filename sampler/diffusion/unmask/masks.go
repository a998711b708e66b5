// Package unmask provides samplers for masked diffusion that choose which tokens to reveal and when
// to mask them again.
//
// The processes work with diffusion.New and any projection:
//
//   - [Scheduled] reveals random masks, as many in each step as [Curve.Plan] finds best.
//   - [EntropyBound] reveals as many masks as a bound on their entropy allows.
//   - [Threshold] reveals the tokens of which the denoiser is certain, and can edit them later.
//   - [Planned] reveals the tokens that a planner ranks first, and masks the others again.
//   - [Blocks] reveals blocks from left to right.
//
// Without a projection, the distance of the samples from the denoiser's distribution p is known. It
// is bounded, as stated with each type, or computed by enumeration in the tests.
//
// A projection can confine samples to a language (a set of allowed sequences). Every process here
// and in package diffusion then gives only allowed samples. Their distribution is not exactly p
// given the language, because a prediction treats sites as independent. A command in docs/CHECKS.md
// prints the distances. They are smallest if the order of the sites does not depend on the drawn
// tokens. This holds for random orders and for orders by margin or entropy. The distances are more
// than twice as large for [Threshold] and [Planned], which favour likely tokens.
//
// Two runners do sample from p given a language. [Rejection] accepts or rejects paths of
// conditioned steps by their weights, and bounds the remaining error. [Backtrack] walks on paths
// and masks unlikely tokens again. If the language is not very unlikely under p, both need far
// fewer predictions than diffusion.Particles.
package unmask

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// masks holds the methods that the steps of this package share, for a state of tokens and masks.
type masks struct {
	slots.Absorbing
	p []float32 // scratch for one row
}

// bind returns the masks of a process. It returns an error if a setting that all processes share
// is invalid. name is the name of the process.
func bind(name string, mask int32, schedule noise.Schedule, sites, levels int) (masks, error) {
	m, err := slots.NewAbsorbing("unmask: "+name, mask, schedule, sites, levels)
	return masks{m, make([]float32, m.Levels)}, err
}

// after returns the time at which the expected number of masked sites is left. If left is 0, it
// returns 0. The denoiser receives this time in the next step.
func (m *masks) after(left int) float64 {
	if left <= 0 {
		return 0
	}
	hidden := float64(left) / float64(m.Sites)
	return max(m.Schedule.Time(1-float64(hidden*(1-m.Alpha(1)))), math.SmallestNonzeroFloat64)
}

var never = float32(math.Inf(-1))

// draw returns a token drawn for site i from its row of v.
func (m *masks) draw(v []float32, i int, r *sampler.Stream) (int32, error) {
	l := m.Draw(v, i, r)
	if l < 0 {
		return m.Mask, &diffusion.PredictionError{Site: i, Empty: slots.Empty(m.Row(v, i))}
	}
	return l, nil
}

// share returns the probability of a token at site i, and the most likely token with its
// probability. For a row without weight both probabilities are 0.
func (m *masks) share(v []float32, i int, token int32) (p float64, best int32, top float64) {
	var total [1]float64
	row := m.Row(v, i)
	row[m.Mask] = never
	simd.Weights(m.p, total[:], row, m.Levels, 0)
	if !(total[0] > 0) {
		return 0, token, 0
	}
	var idx [1]int32
	simd.ArgMax(idx[:], row, m.Levels)
	return float64(m.p[token]) / total[0], idx[0], float64(m.p[idx[0]]) / total[0]
}

// entropy returns the entropy of the row of site i in nats.
func (m *masks) entropy(v []float32, i int) float64 {
	var h [1]float64
	row := m.Row(v, i)
	row[m.Mask] = never
	simd.Entropy(h[:], row, m.Levels)
	return h[0]
}

// shuffle selects n random masked sites of x with indices in [from, to), or all if there are fewer.
// It stores the sites in random order in the slice sites, and returns the part that it used.
func (m *masks) shuffle(sites []int, x []int32, from, to, n int, r *sampler.Stream) []int {
	sites = sites[:0]
	for i := from; i < to; i++ {
		if x[i] == m.Mask {
			sites = append(sites, i)
		}
	}
	n = min(n, len(sites))
	for k := range n {
		j := k + r.IntN(len(sites)-k)
		sites[k], sites[j] = sites[j], sites[k]
	}
	return sites[:n]
}

// show sets the given sites of x to tokens drawn from their rows of v.
func (m *masks) show(sites []int, x []int32, v []float32, r *sampler.Stream) (err error) {
	for _, i := range sites {
		if x[i], err = m.draw(v, i, r); err != nil {
			return err
		}
	}
	return nil
}

// put sets the given sites of x to the tokens of x0.
func put(sites []int, x, x0 []int32) {
	for _, i := range sites {
		x[i] = x0[i]
	}
}
