package pdi_test

import (
	"context"
	"flag"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

var (
	rounds  = flag.Int("network", 0, "rounds of the training of TestNetworkFigures; 0 means skip")
	teacher = flag.String("teacher", "exact", "of TestNetworkFigures: exact, paper (the Monte Carlo score) or guess (the same with Center and Spread)")
)

// tightened returns p with all bounds moved by shift.
func (p *constrained) tightened(t testing.TB, shift float64) *constrained {
	q := &constrained{base: p.base}
	for _, g := range p.terms {
		at := make([]float64, 1)
		g.Energy(at, make([]float32, p.base.Sites()))
		q.terms = append(q.terms, exact.Must(continuous.NewLinear(slices.Clone(g.Slope()), at[0]+shift)))
	}
	q.predictor = exact.Must(pdi.NewMixture(q.base, p.predictor.Beta(), atMost(q.terms)...))
	q.optimum(t.Context())
	return q
}

// What one network reaches for three bounds of both mixtures in 30 dimensions, 1024
// samples and 500 steps each: the mean of f0/β against that at the optimum, and the
// largest mean violation.
func TestNetworkFigures(t *testing.T) {
	if *rounds == 0 {
		t.Skip("trainings of minutes: -network 80 -teacher exact")
	}
	paper := authors(t, 1.0/50, 1, 0)
	for _, m := range []struct {
		name string
		p    *constrained
	}{{"own mixture", newConstrained(t)}, {"authors' mixture", paper}} {
		shifts := []float64{0, -0.3, 0.1}
		cfg := network.Config{Rounds: *rounds, Center: []float64{0}, Spread: []float64{1}, Domain: pdi.Box(-5, 5), Train: train.Config{Seed: 1}}
		for _, s := range shifts {
			cfg.Bounds = append(cfg.Bounds, slices.Repeat([]float64{s}, len(m.p.terms)))
		}
		var by pdi.Predictor = m.p.predictor
		switch *teacher {
		case "paper":
			by = m.p.estimated(pdi.GibbsOptions{Score: true})
		case "guess":
			by = m.p.estimated(pdi.GibbsOptions{Candidates: 512, Center: []float64{0}, Spread: []float64{1}})
		}
		from := exact.CPU().Seconds()
		tr := exact.Must(network.New(context.Background(), by, cfg))
		for k := range *rounds {
			require.NoError(t, tr.Run(t.Context(), 1))
			if k%8 == 7 {
				t.Logf("%s, round %d: loss %.4f, %.1f s of processor", m.name, k+1, tr.Loss(), exact.CPU().Seconds()-from)
			}
		}
		t.Logf("%s, teacher %s: loss %.4f after %.1f s of processor", m.name, *teacher, tr.Loss(), exact.CPU().Seconds()-from)
		for k, s := range shifts {
			p, from := m.p.tightened(t, s), exact.CPU().Seconds()
			n := exact.Must(tr.Predictor(cfg.Bounds[k]))
			d := exact.Must(pdi.New(context.Background(), n, pdi.Config{Domain: cfg.Domain}))
			u, worst := p.judge(seeded(t, d, 1024, 1024, 500, 0, 2))
			t.Logf("%s, teacher %s, bounds + %g: U* %.3f, |U − U*|/U* %.4f, violation %.4f; %.1f s of processor; %s", m.name, *teacher, s, p.u, (u-p.u)/p.u, worst, exact.CPU().Seconds()-from, d.Warning())

			// The baseline, a training for each bound.
			own := cfg
			own.Bounds, own.Dual = cfg.Bounds[k:k+1], dual.Auto{}
			from = exact.CPU().Seconds()
			tied := exact.Must(network.New(context.Background(), by, own))
			require.NoError(t, tied.Run(t.Context(), *rounds))
			d = exact.Must(pdi.New(context.Background(), exact.Must(tied.Predictor(nil)), pdi.Config{Fixed: true, Start: tied.Lambda(), Domain: cfg.Domain}))
			u, worst = p.judge(seeded(t, d, 1024, 1024, 500, 0, 2))
			t.Logf("%s, teacher %s, bounds + %g, dual training: |U − U*|/U* %.4f, violation %.4f; %.1f s of processor; %s", m.name, *teacher, s, (u-p.u)/p.u, worst, exact.CPU().Seconds()-from, d.Warning())
		}
	}
}
