package mcmc

import (
	"context"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// The Ising model of Zhang, Liu and Liu 2022 on a torus: E(s) = −a sᵀWs − b Σs
// with a = 0.1, b = 0.2 and W counting every edge twice, so J = 2a. The figures
// below were enumerated in double precision, independently of this code.
const paperJ, paperH = 0.2, 0.2

var knownSteps = []float64{0.1, 0.2, 0.4, 0.6}

// spinClass is what a site's flip depends on: its own spin and the number of its
// four neighbours that are up.
const spinClasses = 10

// torus enumerates the side×side torus and calls f with the energy, the
// magnetisation per site, the sum of s_i s_j over bonds and the number of sites
// in each class. Sites are bits of a word.
func torus(side int, f func(e float64, mean float64, pairs int, class *[spinClasses]int)) {
	n := side * side
	full := uint32(1)<<n - 1
	var firstColumn uint32
	for r := range side {
		firstColumn |= 1 << (r * side)
	}
	right := func(x uint32) uint32 { // neighbour to the right of each site
		return x>>1&^(firstColumn<<(side-1)) | x&firstColumn<<(side-1)
	}
	left := func(x uint32) uint32 {
		return x<<1&^firstColumn&full | x>>(side-1)&firstColumn
	}
	var class [spinClasses]int
	for x := range full + 1 {
		a, b := right(x), left(x)
		c := (x>>side | x<<(n-side)) & full
		d := (x<<side | x>>(n-side)) & full
		// Bit-sliced sum of the four neighbours: ones + 2·twos + 4·fours.
		ab, cd := a^b, c^d
		ones := ab ^ cd
		carry := ab & cd
		twos := a&b ^ c&d ^ carry
		fours := a & b & c & d
		for k, m := range [5]uint32{^(ones | twos | fours) & full, ones &^ twos, twos &^ ones &^ fours, ones & twos, fours} {
			class[k] = bits.OnesCount32(m &^ x)
			class[5+k] = bits.OnesCount32(m & x)
		}
		pairs := 2*n - 2*(bits.OnesCount32(x^a)+bits.OnesCount32(x^c))
		spins := 2*bits.OnesCount32(x) - n
		f(-paperJ*float64(pairs)-paperH*float64(spins), float64(spins)/float64(n), pairs, &class)
	}
}

// flipProbabilities returns the kernel's own probability of flipping a site of
// each class at step size alpha, read off its thresholds on one state.
func flipProbabilities(t *testing.T, alpha float64) [spinClasses]float64 {
	t.Helper()
	m, err := model.NewIsing(model.Lattice{5, 5}, paperJ, paperH)
	require.NoError(t, err)
	k := exact.Must(DULA{StepSize: alpha}.Kernel(context.Background(), m, 1)).(*hastings)
	var p [spinClasses]float64
	centre, around := 12, []int{7, 11, 13, 17}
	for c := range p {
		x := make([]int32, 25)
		x[centre] = int32(c / 5)
		for _, j := range around[:c%5] {
			x[j] = 1
		}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		p[c] = float64(k.proposal.(*flips).t.Now[centre]) / (1 << 31)
	}
	return p
}

func TestKnownAnswersOnTheTorus(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, known := range []struct {
		side         int
		logZ, spin   float64
		dula, differ [4]float64
		flips        [4]float64
		pair         float64
	}{
		{side: 4, logZ: 12.5985025974, spin: 0.4800050727,
			dula:   [4]float64{.47474431, .42112976, .31463457, .26231872},
			differ: [4]float64{.016859, .190880, .534979, .708742}},
		{side: 5, logZ: 19.6740857614, spin: 0.4829698422,
			dula:   [4]float64{.47762216, .42317651, .31543091, .26273336},
			differ: [4]float64{.021174, .237760, .665702, .879885},
			flips:  [4]float64{.13628, 1.52559, 4.42985, 6.03471}, pair: .368767061},
	} {
		if known.side == 5 && !exact.Long() {
			continue // 2²⁵ states
		}
		var logs, probs [4][spinClasses]float64
		for a, alpha := range knownSteps {
			probs[a] = flipProbabilities(t, alpha)
			for c, p := range probs[a] {
				logs[a][c] = -math.Log1p(-p) // log(1 + e^l), l the flip logit
			}
		}
		var z, spin, pair float64
		var za, spinA, flipped [4]float64
		visit := func(f func(w, mean float64, pairs int, class *[spinClasses]int)) {
			torus(known.side, func(e, mean float64, pairs int, class *[spinClasses]int) {
				f(math.Exp(-e), mean, pairs, class)
			})
		}
		tilt := func(a int, class *[spinClasses]int) (log, flips float64) {
			for c, n := range class {
				log += float64(n) * logs[a][c]
				flips += float64(n) * probs[a][c]
			}
			return log, flips
		}
		visit(func(w, mean float64, pairs int, class *[spinClasses]int) {
			z += w
			spin += w * mean
			pair += w * float64(pairs)
			for a := range knownSteps {
				log, flips := tilt(a, class)
				wa := w * math.Exp(log)
				za[a] += wa
				spinA[a] += wa * mean
				flipped[a] += w * flips
			}
		})
		bonds := float64(2 * known.side * known.side)
		assert.InDelta(t, known.logZ, math.Log(z), 1e-9)
		assert.InDelta(t, known.spin, spin/z, 1e-9)
		for a := range knownSteps {
			// The kernel's probabilities are float32: 1e−7 each.
			assert.InDelta(t, known.dula[a], spinA[a]/za[a], 1e-6, "α = %v", knownSteps[a])
		}
		if known.side == 5 {
			assert.InDelta(t, known.pair, pair/z/bonds, 1e-8)
			for a := range knownSteps {
				assert.InDelta(t, known.flips[a], flipped[a]/z, 1e-5, "α = %v", knownSteps[a])
			}
		}
		var differ [4]float64
		visit(func(w, _ float64, _ int, class *[spinClasses]int) {
			for a := range knownSteps {
				log, _ := tilt(a, class)
				differ[a] += math.Abs(w*math.Exp(log)/za[a] - w/z)
			}
		})
		for a := range knownSteps {
			assert.InDelta(t, known.differ[a], differ[a], 2e-6, "α = %v", knownSteps[a])
		}
	}
}

// stretched is the target of Section 6 of the paper over spins, E = −θᵀWθ with
// W = diag(−0.001, −1000): constant, since θ² = 1, but with a first-order table
// (that of the quadratic extension) that is not.
type stretched struct{}

func (stretched) Shape() (int, int) { return 2, 2 }

func (stretched) Energy(e []float64, x []int32) {
	for s := range e {
		e[s] = 1000.001
	}
}

func (m stretched) Field(e []float64, h []float32, x []int32) {
	m.Energy(e, x)
	for k, l := range x {
		flip := [2]float32{-0.004, -4000}[k%2] // ∇E·(θ'−θ) of the flip
		h[k] = flip * float32(1-2*l)
	}
}

// TestPreconditioner holds the exponent of the preconditioner to 1: with the
// paper's g both coordinates flip with probability ½ and decorrelate at once.
func TestPreconditioner(t *testing.T) {
	const alpha = 0.25 // the paper's 1 for spins ±1
	for _, c := range []struct {
		g    []float32
		lag1 [2]float64 // autocorrelation at lag one, 1 − 2·P(flip)
	}{
		{nil, [2]float64{0.76, -1}},
		{[]float32{1000, 0.001}, [2]float64{0, 0}},
	} {
		p := transition(t, exact.Must(DULA{StepSize: alpha, Preconditioner: c.g}.Kernel(context.Background(), stretched{}, 1)), 2, 2)
		for x := range 4 {
			for i := range 2 {
				flip := 0.0
				for y := range 4 {
					if (x^y)>>i&1 == 1 {
						flip += p.At(x, y)
					}
				}
				assert.InDelta(t, c.lag1[i], 1-2*flip, 0.005)
				if c.g != nil {
					// An ulp of the float32 logits near 2000 is 1.2e-4 nats.
					assert.InDelta(t, 0.5, flip, 1.3e-4/4)
				}
			}
		}
		pi, _ := exact.Law(stretched{})
		m := transition(t, exact.Must(DMALA{StepSize: alpha, Preconditioner: c.g}.Kernel(context.Background(), stretched{}, 1)), 2, 2)
		assert.LessOrEqual(t, m.MaxDiff(pi), 1e-12)
	}
}
