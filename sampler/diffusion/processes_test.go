package diffusion_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// predicts is a denoiser that says the same of every state.
func predicts(levels int, table []float32, look func(q energy.Noised[int32])) energy.Denoiser[int32] {
	return energy.DenoiserFunc[int32]{Sites: len(table) / levels, Levels: levels, F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
		if look != nil {
			look(q)
		}
		for ; len(v) > 0; v = v[len(table):] {
			copy(v, table)
		}
		return nil
	}}
}

// A denoiser sees the α of the schedule at its time, and so many tokens show on average.
func TestTheDenoiserSeesTheAlphaOfTheSchedule(t *testing.T) {
	exact.SkipUnderRace(t)
	const sites, mask, n = 8, 2, 2000
	for _, c := range []noise.Schedule{nil, noise.LogLinear{}, noise.Cosine{Epsilon: -1}} {
		schedule := exact.Must(noise.Resolve("", c))
		for name, p := range map[string]diffusion.Process[int32]{
			"masked":  diffusion.Masked{Mask: mask, Schedule: c},
			"remask":  diffusion.Remask{Mask: mask, Schedule: c, Eta: .3},
			"ordered": diffusion.Ordered{Mask: mask, Schedule: c},
		} {
			shown, alpha := map[float64]int{}, map[float64]float64{}
			d := predicts(mask+1, make([]float32, sites*(mask+1)), func(q energy.Noised[int32]) {
				for s, at := range q.Time {
					require.Equal(t, schedule.Alpha(at), q.Alpha[s], name)
					alpha[at] = q.Alpha[s]
					for _, l := range q.X[s*sites : (s+1)*sites] {
						if l != mask {
							shown[at]++
						}
					}
				}
			})
			r := exact.Must(diffusion.New(background, d, p, diffusion.Config{Steps: 4, Batch: n, Workers: 1}))
			require.NoError(t, r.Sample(background, make([]int32, n*sites)))
			require.Len(t, alpha, 4)
			if name == "ordered" {
				continue // as many in every step
			}
			for at, a := range alpha {
				require.InDelta(t, a, float64(shown[at])/(n*sites), 5*math.Sqrt(.25/(n*sites)), "%s at %v", name, at) // 5 sd of independent tokens: 6e-7
			}
		}
	}
}

// A loop spends its share of the steps at the time of Hold.
func TestRemaskLoopHolds(t *testing.T) {
	for between, want := range map[float64]int{0: 20, .25: 10, .75: 30} {
		held := 0
		d := predicts(3, make([]float32, 3), func(q energy.Noised[int32]) {
			if q.Time[0] == .125 {
				held++
			}
		})
		r := exact.Must(diffusion.New(background, d, diffusion.Remask{Mask: 2, Rule: diffusion.RemaskLoop, Hold: .125, Between: between}, diffusion.Config{Steps: 40, Batch: 1}))
		require.NoError(t, r.Sample(background, make([]int32, 1)))
		require.InDelta(t, want, held, 1.5, "Between = %v", between)
	}
}

// The site that shows first is the one that its score is surest of.
func TestOrderScores(t *testing.T) {
	// Rows with, in turn, the highest probability, the widest margin and the least entropy.
	rows := [][]float64{{.6, .31, .03, .03, .03}, {.5, .125, .125, .125, .125}, {.55, .45, 0, 0, 0}}
	var table []float32
	for _, row := range rows {
		for _, p := range row {
			table = append(table, float32(math.Log(p)))
		}
		table = append(table, 0)
	}
	const mask = 5
	for want, score := range []diffusion.OrderScore{diffusion.ScoreProbability, diffusion.ScoreMargin, diffusion.ScoreEntropy} {
		first := -1
		cfg := diffusion.Config{Steps: 3, Observe: func(s *diffusion.Snapshot) {
			if s.Step > 0 {
				return
			}
			for i, l := range s.X {
				if l != mask {
					first = i
				}
			}
		}}
		r := exact.Must(diffusion.New(background, predicts(mask+1, table, nil), diffusion.Ordered{Mask: mask, Score: score, Greedy: true}, cfg))
		require.NoError(t, r.Sample(background, make([]int32, 3)))
		require.Equal(t, want, first)
	}
}

// Guidance at the posterior leads where masks give way, too: the step reaches its formula.
func TestGuidanceAtThePosterior(t *testing.T) {
	exact.SkipRepeated(t)
	const n, mask, gamma = 100_000, 2, 2.5
	row := func(p float64) []float32 { return []float32{float32(math.Log(1 - p)), float32(math.Log(p)), 0} }
	with, without, classes := predicts(3, row(.9), nil), predicts(3, row(.6), nil), []float64{.2, .7, .3}
	// Half of the masks give way in the first of two steps.
	schedule := noise.LogLinear{Epsilon: -1}
	free := []float64{.5 * math.Pow(.1, gamma) * math.Pow(.4, 1-gamma), .5 * math.Pow(.9, gamma) * math.Pow(.6, 1-gamma), .5}
	guided := []float64{.5 * .1 * math.Pow(classes[0], gamma), .5 * .9 * math.Pow(classes[1], gamma), .5 * math.Pow(classes[2], gamma)}
	for name, c := range map[string]struct {
		model energy.Denoiser[int32]
		want  []float64
	}{
		"free":   {diffusion.ClassifierFree{Conditional: with, Unconditional: without, Scale: gamma, AtPosterior: true}, free},
		"guided": {diffusion.ClassifierGuided{Denoiser: with, Classifier: byClass(classes), Scale: gamma, AtPosterior: true}, guided},
	} {
		var count [3]float64
		cfg := diffusion.Config{Steps: 2, Workers: 1, Observe: func(s *diffusion.Snapshot) {
			if s.Step == 0 {
				count[s.X[0]]++
			}
		}}
		r := exact.Must(diffusion.New(background, c.model, diffusion.Masked{Mask: mask, Schedule: schedule}, cfg))
		require.NoError(t, r.Sample(background, make([]int32, n)))
		total := c.want[0] + c.want[1] + c.want[2]
		for l, w := range c.want {
			p := w / total
			require.InDelta(t, p, count[l]/n, 5.3*math.Sqrt(p*(1-p)/n), "%s, level %d", name, l) // 5.3 sd: 1e-7 each
		}
	}
}

// One step of Remask where all is noise (α(1) = 0) keeps what is clamped and has no NaN, although
// a clamped token cannot occur in the noise.
func TestRemaskFromNoiseKeepsClamps(t *testing.T) {
	row := []float32{float32(math.Log(.3)), float32(math.Log(.7)), 0}
	d := predicts(3, append(row, row...), nil)
	model := diffusion.ClassifierFree{Conditional: d, Unconditional: d, Scale: 1, AtPosterior: true}
	for _, rule := range []diffusion.RemaskRule{diffusion.RemaskCap, diffusion.RemaskRescale, diffusion.RemaskConfidence} {
		process := diffusion.Remask{Mask: 2, Rule: rule, Eta: 0.5, Schedule: noise.LogLinear{Epsilon: -1}}
		r := exact.Must(diffusion.New(background, energy.Denoiser[int32](model), process, diffusion.Config{Steps: 1, Clamp: []int32{1, -1}}))
		x := make([]int32, 2*500)
		require.NoError(t, r.Sample(background, x))
		ones := 0
		for i := 0; i < len(x); i += 2 {
			require.Equal(t, int32(1), x[i], "%v", rule)
			ones += int(x[i+1])
		}
		require.InDelta(t, 350, ones, 5.3*math.Sqrt(500*.3*.7), "%v", rule) // 5.3 sd: 1e-7
	}
}

// byClass is the classifier of one site whose levels have given probabilities.
type byClass []float64

func (c byClass) Table(dst []float32, _ []int32, _ float64) error {
	for l, p := range c {
		dst[l] = float32(math.Log(p))
	}
	return nil
}

// Clamped reals have their values after every step of every sample.
func TestClampedReals(t *testing.T) {
	const n, steps = 3, 5
	mixture := exact.Must(denoise.NewGaussian([]float64{1, 2}, []float64{1, .5, .5, 2}))
	seen := map[int]int{}
	cfg := diffusion.Config{Steps: steps, First: 4, Workers: 1, ClampReal: []float32{float32(math.NaN()), -3}, Observe: func(s *diffusion.Snapshot) {
		seen[s.Sample]++
		require.Equal(t, float32(-3), s.Real[1])
	}}
	x := make([]float32, 2*n)
	require.NoError(t, exact.Must(diffusion.New(background, mixture, diffusion.Gaussian{}, cfg)).Sample(background, x))
	require.Equal(t, map[int]int{4: steps, 5: steps, 6: steps}, seen)
	for i := range n {
		require.Equal(t, float32(-3), x[2*i+1])
		require.NotEqual(t, float32(-3), x[2*i])
	}
}
