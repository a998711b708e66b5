package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
)

// twistedSet is what samples of package twisted have to meet; of equations alone, with the
// conditional distribution of site 0 of the Gaussian below.
type twistedSet struct {
	name       string
	set        twisted.Set
	mean, sd   float64 // of site 0, sd = 0 if that is not judged
	impossible bool
}

func twistedSets() []twistedSet {
	// Site 0 given x_0 + x_1 = ½ under N(0, [[1, ½], [½, 1]]): mean ¼, variance ¼.
	equation := constraint.Slabs{A: constraint.Rows([]float64{1, 1}, 2), Lower: []float64{0.5}, Upper: []float64{0.5}}
	twice := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 2, 2}, 2), Lower: []float64{0.5, 1}, Upper: []float64{0.5, 1}}
	known := constraint.Slabs{A: constraint.Rows([]float64{0, 1}, 2), Lower: []float64{1}, Upper: []float64{1}}
	slab := constraint.Slabs{A: constraint.Rows([]float64{1, 0}, 2), Lower: []float64{0}, Upper: []float64{1}}
	both := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1, 0}, 2), Lower: []float64{0.5, 0}, Upper: []float64{0.5, math.Inf(1)}}
	against := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1, 1}, 2), Lower: []float64{0.5, 0.7}, Upper: []float64{0.5, 0.7}}
	open := constraint.Slabs{A: constraint.Rows([]float64{1, 1}, 2), Lower: []float64{math.Inf(-1)}, Upper: []float64{math.Inf(1)}}
	return []twistedSet{
		{"an equation", equation, 0.25, 0.5, false},
		{"an equation twice", twice, 0.25, 0.5, false},
		{"a known site", known, 0.5, math.Sqrt(0.75), false},
		{"an inequality", slab, 0, 0, false},
		{"an equation and an inequality", both, 0, 0, false},
		{"linear rows", constraint.Linear{A: constraint.Rows([]float64{1, 0}, 2), B: []float64{0.5}}, 0, 0, false},
		{"equations that exclude each other", against, 0, 0, true},
		{"no bound", open, 0, 0, true},
	}
}

// onlyDenoiser hides that a denoiser is a twisted.Posterior.
type onlyDenoiser struct{ d energy.Denoiser[float32] }

func (o onlyDenoiser) Shape() (int, int) { return o.d.Shape() }

func (o onlyDenoiser) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	return o.d.Denoise(ctx, v, q)
}

// twistedCase is a combination for package twisted.
type twistedCase struct {
	set    twistedSet
	hidden bool
	cfg    twisted.Config
}

func (c *twistedCase) judge(ctx context.Context, scale int, seed uint64) error {
	var model energy.Denoiser[float32] = exact.Must(denoise.NewGaussian([]float64{0, 0}, []float64{1, 0.5, 0.5, 1}))
	if c.hidden {
		model = onlyDenoiser{model}
	}
	cfg := c.cfg
	cfg.Seed = seed
	draw := func(cfg twisted.Config, n int) ([]float32, error) {
		s, err := twisted.New(ctx, model, c.set.set, cfg)
		if err != nil {
			return nil, refusal{err}
		}
		if c.set.impossible {
			return nil, fmt.Errorf("twisted.New: no error")
		}
		x := make([]float32, 2*n)
		if err := s.Sample(ctx, x); err != nil {
			if errors.Is(err, constraint.ErrInfeasible) && c.set.sd == 0 {
				return nil, refusal{err} // too few particles, as documented
			}
			return nil, fmt.Errorf("s.Sample: %w", err)
		}
		return x, nil
	}
	n := 64 * scale
	cfg.Workers = 1
	x, err := draw(cfg, n)
	if err != nil {
		return err
	}
	cfg.Workers, cfg.First = 3, 2
	part, err := draw(cfg, n-2*max(1, cfg.PerCloud))
	if err != nil {
		return err
	}
	if want := x[2*2*max(1, cfg.PerCloud):]; !slices.Equal(part, want) {
		return fmt.Errorf("three workers, from cloud 2 on: %v, want %v", part[:8], want[:8])
	}
	rows, _ := c.set.set.Split()
	g := make([]float64, rows.Len())
	counts := make([]int, 8)
	for i := 0; i < len(x); i += 2 {
		y := x[i : i+2]
		rows.Value(g, y)
		if over := slices.Max(g); !(over <= 1e-5*max(1, math.Abs(float64(y[0])), math.Abs(float64(y[1])))) && c.cfg.Width == 0 {
			return fmt.Errorf("sample %d is %v, which is outside by %v", i/2, y, over)
		}
		if c.set.sd > 0 {
			p := 0.5 * math.Erfc(-(float64(y[0])-c.set.mean)/c.set.sd/math.Sqrt2)
			counts[min(int(p*8), 7)]++
		}
	}
	if c.set.sd == 0 || cfg.PerCloud > 1 || cfg.Steps < 40 {
		return nil // approximate, or not independent
	}
	if v := exact.PValue(counts, slices.Repeat([]float64{1.0 / 8}, 8)); v < exact.Rate {
		return fmt.Errorf("site 0 falls into equally likely eighths %v times (p-value %.2g)", counts, v)
	}
	return nil
}

// twistedPairing is everything that samplers of package twisted accept.
func twistedPairing() pairing {
	sets := twistedSets()
	schedules := realSchedules()[1:5]
	p := pairing{name: "twisted", share: 1, again: 1, factors: []factor{
		{"set", namesOf(sets, func(s twistedSet) string { return s.name })},
		{"model", []string{"twisted.Posterior", "by differences"}},
		{"schedule", namesOf(schedules, func(e scheduleEntry) string { return e.name })},
		{"steps", []string{"1", "5", "60"}},
		{"particles", []string{"1", "16"}},
		{"PerCloud", []string{"1", "4"}},
		{"Threshold", []string{"0.5", "1"}},
		{"Full", []string{"false", "true"}},
		{"Width", []string{"0", "1.5"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := twistedCase{set: sets[pick[0]], hidden: pick[1] == 1, cfg: twisted.Config{
			Schedule: schedules[pick[2]].s, Steps: []int{1, 5, 60}[pick[3]], Particles: []int{1, 16}[pick[4]], PerCloud: []int{1, 4}[pick[5]],
			Threshold: []float64{0.5, 1}[pick[6]], Full: pick[7] == 1, Width: []float64{0, 1.5}[pick[8]],
		}}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.add("set := twistedSets()[%d].set // %s", pick[0], sets[pick[0]].name)
		l.add("model := exact.Must(denoise.NewGaussian([]float64{0, 0}, []float64{1, 0.5, 0.5, 1})) // %s", p.factors[1].options[pick[1]])
		l.add("cfg := twisted.Config{Steps: %s, Particles: %s, PerCloud: %s, Threshold: %s, Full: %s, Width: %s} // Schedule: %s", p.factors[3].options[pick[3]], p.factors[4].options[pick[4]], p.factors[5].options[pick[5]], p.factors[6].options[pick[6]], p.factors[7].options[pick[7]], p.factors[8].options[pick[8]], schedules[pick[2]].name)
		l.add("require.NoError(t, exact.Must(twisted.New(t.Context(), model, set, cfg)).Sample(t.Context(), make([]float32, 128)))")
		return l.String()
	}
	return p
}

// Samples of another conditional distribution are found.
func TestTwistedPairsFindAnotherDistribution(t *testing.T) {
	c := twistedCase{set: twistedSets()[0], cfg: twisted.Config{Steps: 60, Particles: 16}}
	require.NoError(t, c.judge(t.Context(), 4, 1))
	c.set.sd = 1
	require.ErrorContains(t, c.judge(t.Context(), 4, 1), "p-value")
}
