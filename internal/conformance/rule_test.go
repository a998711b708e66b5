package conformance_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/dualtest"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// rule is a line of the registry of rules. Options say what a rule's doc promises, if
// that is not the optimum.
type rule struct {
	name string
	part dual.Rule
	o    dualtest.Options
}

// The rules of the module. A new one adds a line.
func rules() []rule {
	// Decay with ascent inside rests where ḡ = Rate·λ/η.
	decayed := func(lambda, mean float64) float64 { return mean - 0.01*lambda/0.1 }
	steady := dual.Ascent{Step: dual.Constant(0.1)}
	return []rule{
		{"dual.Auto", dual.Auto{}, dualtest.Options{}},
		{"dual.Ascent", dual.Ascent{}, dualtest.Options{}},
		{"dual.Ascent", steady, dualtest.Options{}},
		{"dual.Extragradient", dual.Extragradient{}, dualtest.Options{}},
		{"dual.Extragradient", dual.Extragradient{Step: dual.Constant(0.1)}, dualtest.Options{}},
		{"dual.AdaGrad", dual.AdaGrad{}, dualtest.Options{}},
		{"dual.PI", dual.PI{}, dualtest.Options{}},
		{"dual.PI", dual.PI{Integral: dual.Constant(0.1), Proportional: 0.5, Smooth: 0.5}, dualtest.Options{}},
		{"dual.Decay", dual.Decay{}, dualtest.Options{}},
		{"dual.Decay", dual.Decay{Rule: steady, Rate: 0.01}, dualtest.Options{Rest: decayed}},
	}
}

func TestRules(t *testing.T) {
	registered := map[string]bool{}
	for i, r := range rules() {
		registered[r.name] = true
		t.Run(fmt.Sprintf("%s/%d", r.name, i), func(t *testing.T) {
			if err := dualtest.TestRule(context.Background(), r.part, r.o); err != nil {
				t.Fatal(err)
			}
		})
	}
	complete(t, "dual.Rule", "rule_test.go", registered, nil, parts(t, "dual", "Rule"))
}

// The targets of the module, by name: each runs the laws. A new one adds a line.
var targetLaws = map[string]func(ctx context.Context) error{
	"dual.Lagrangian": func(ctx context.Context) error {
		base := exact.NewRugged(4, 3, 1, 0, 3)
		for _, beta := range []float64{1, 0.5} {
			l := exact.Must(exact.Must(dual.NewLagrangian(base, counted(1, 1, 2), weighed())).AtTemperature(beta))
			o := dualtest.TargetOptions[int32]{}
			if beta == 1 {
				o.Base = base.Energy
			}
			if err := dualtest.TestTarget(ctx, dual.Target[int32](l), o); err != nil {
				return err
			}
		}
		equal := dual.Constraint[int32]{Of: []dual.Energetic[int32]{exact.NewRugged(4, 3, 1, 0, 4)}, Coef: []float64{2}, Low: 1, High: 1}
		l := exact.Must(dual.NewLagrangian(base, equal))
		return dualtest.TestTarget(ctx, dual.Target[int32](l), dualtest.TargetOptions[int32]{Base: base.Energy, Lambda: []float64{-0.7}})
	},
	"dual.RealLagrangian": func(ctx context.Context) error {
		base := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0, 1, 2}, []float64{1, 2, 1}))
		term := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{1, 1, 0}, []float64{3, 1, 1}))
		l := exact.Must(dual.NewRealLagrangian(base, 1, dual.AtMost(term, 0), dual.AtMost(term, 0)))
		return dualtest.TestTarget(ctx, dual.Target[float32](l), dualtest.TargetOptions[float32]{Base: base.Energy})
	},
	"unlearn.Experts": func(ctx context.Context) error {
		q, away := exact.NewRugged(3, 3, 1, 0, 5), exact.NewRugged(3, 3, 1, 0, 6)
		logZ := func(m energy.Model) (float64, error) { _, z := exact.Law(m); return z, nil }
		e := exact.Must(unlearn.NewExperts(q, []energy.Model{away}, []float64{1}, logZ))
		return dualtest.TestTarget(ctx, dual.Target[int32](e), dualtest.TargetOptions[int32]{
			Base: q.Energy, Lambda: []float64{0.4},
			Energy: func(lambda []float64, x []int32) float64 {
				var a, b [1]float64
				q.Energy(a[:], x)
				away.Energy(b[:], x)
				return (a[0] - lambda[0]*b[0]) / (1 - lambda[0])
			},
		})
	},
}

func TestTargets(t *testing.T) {
	registered := map[string]bool{}
	for name, check := range targetLaws {
		registered[name] = true
		t.Run(name, func(t *testing.T) {
			if err := check(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
	complete(t, "dual.Target", "rule_test.go", registered, map[string]string{
		"unlearn.RealErasure": "its violations are those of the run of a diffusion: dual/unlearn tests it",
		"unlearn.Erasure":     "its violations are those of the run of a diffusion: dual/unlearn tests it",
	}, parts(t, "dual", "Target"))
}
