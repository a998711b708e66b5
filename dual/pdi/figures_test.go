package pdi_test

import (
	"context"
	"flag"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

var (
	figures    = flag.Int("figures", 0, "seeds of TestFigures, which prints how far the defaults are from the optimum of both mixtures; 0 means skip")
	montecarlo = flag.Int("montecarlo", 0, "of them, samples with the Monte Carlo score; 0 means none")
)

// rescaled returns p with all inequalities times scale and so many more that are
// halves of sums of two.
func (p *constrained) rescaled(scale float64, extra int) *constrained {
	d, m := p.base.Sites(), len(p.terms)
	q := &constrained{base: p.base, u: p.u, free: p.free}
	var rows [][]float64
	for j := range m + extra {
		a := make([]float64, d+1)
		if j < m {
			copy(a, p.terms[j].Slope())
			p.terms[j].Energy(a[d:], make([]float32, d))
		} else {
			for i := range a {
				a[i] = (rows[j%m][i] + rows[(j*7+3)%m][i]) / 2
			}
		}
		rows = append(rows, a)
		own := slices.Clone(a)
		for i := range own {
			own[i] *= scale
		}
		q.terms = append(q.terms, exact.Must(continuous.NewLinear(own[:d], own[d])))
	}
	q.predictor = exact.Must(pdi.NewMixture(q.base, p.predictor.Beta(), atMost(q.terms)...))
	return q
}

// meanSE returns the mean of v and its standard error, +Inf for one value, whose error is unknown.
func meanSE(v []float64) (mean, se float64) {
	mean, sd := stat.MeanStdDev(v, nil)
	if len(v) == 1 {
		return mean, math.Inf(1)
	}
	return mean, stat.StdErr(sd, float64(len(v)))
}

func TestMeanSE(t *testing.T) {
	mean, se := meanSE([]float64{1, 3})
	require.Equal(t, []float64{2, 1}, []float64{mean, se})
	mean, se = meanSE([]float64{5})
	require.Equal(t, []float64{5, math.Inf(1)}, []float64{mean, se})
}

// run samples with a configuration of inference.
func run(t *testing.T, p pdi.Predictor, cfg pdi.Config, samples, steps, seed int) []float32 {
	return seeded(t, exact.Must(pdi.New(context.Background(), p, cfg)), samples, samples, steps, 0, uint64(seed))
}

// What the zero Config reaches on both mixtures in 30 dimensions with 1024 samples:
// the mean of f0/β less that at the optimum, by the unconstrained run of the same
// noise as a control variate, and the largest mean violation in the units of the
// plain rows; then what the Monte Carlo score of 64 candidates does and takes.
func TestFigures(t *testing.T) {
	if *figures == 0 {
		t.Skip("a table of minutes: -figures 5 -montecarlo 64")
	}
	paper := authors(t, 1.0/50, 1, 0)
	paper.optimum(t.Context())
	seeds := *figures
	for _, m := range []struct {
		name string
		p    *constrained
	}{{"own mixture", newConstrained(t)}, {"authors' mixture", paper}} {
		for _, steps := range []int{500, 50} {
			free := make([]float64, seeds)
			for s := range free {
				free[s], _ = m.p.judge(run(t, m.p.predictor, pdi.Config{Fixed: true}, 1024, steps, s+1))
			}
			for _, c := range []struct {
				scale float64
				extra int
			}{{1, 0}, {1e-3, 0}, {1e3, 0}, {1, 15}} {
				p, from := m.p.rescaled(c.scale, c.extra), exact.CPU().Seconds()
				var gaps, violations []float64
				for s, f := range free {
					u, worst := p.judge(run(t, p.predictor, pdi.Config{}, 1024, steps, s+1))
					gaps, violations = append(gaps, u-(f-p.free)-p.u), append(violations, worst/c.scale)
				}
				gap, se := meanSE(gaps)
				violation, _ := meanSE(violations)
				most := slices.Max(violations)
				t.Logf("%s, %d steps, g × %g, %d dependent rows: U* %.3f, U − U* %+.4f ± %.4f, violation %.5f, at most %.5f; %.1f s of processor a run",
					m.name, steps, c.scale, c.extra, p.u, gap, se, violation, most, (exact.CPU().Seconds()-from)/float64(seeds))
				require.LessOrEqual(t, most, 0.01)
				if steps == 500 {
					require.LessOrEqual(t, math.Abs(gap), 0.06+3*se)
					require.LessOrEqual(t, most, 0.003)
				}
			}
		}
		if *montecarlo > 0 {
			p, from, start := m.p.estimated(pdi.GibbsOptions{Score: true}), exact.CPU().Seconds(), time.Now()
			u, worst := m.p.judge(run(t, p, pdi.Config{Domain: pdi.Box(-5, 5), Scarce: true}, *montecarlo, 500, 1))
			t.Logf("%s, Monte Carlo score, %d samples, 500 steps: U %.3f, violation %.5f; %.1f s of processor, %.1f by the clock", m.name, *montecarlo, u, worst, exact.CPU().Seconds()-from, time.Since(start).Seconds())
		}
	}
}

// estimated returns the Monte Carlo predictor of the same distribution.
func (p *constrained) estimated(o pdi.GibbsOptions) *pdi.GibbsScore {
	terms := make([]energy.Scored, len(p.terms))
	for j, g := range p.terms {
		terms[j] = g
	}
	beta := p.predictor.Beta()
	lag := exact.Must(dual.NewRealLagrangian(scaled{p.base, beta}, beta, atMost(terms)...))
	return exact.Must(pdi.NewGibbsScore(lag, o))
}

// scaled is f0 = β·E of a mixture exp(−E).
type scaled struct {
	*continuous.Mixture
	beta float64
}

func (b scaled) Energy(e []float64, x []float32) {
	b.Mixture.Energy(e, x)
	for s := range e {
		e[s] *= b.beta
	}
}

func (b scaled) Score(s, x []float32) {
	b.Mixture.Score(s, x)
	for i := range s {
		s[i] *= float32(b.beta)
	}
}
