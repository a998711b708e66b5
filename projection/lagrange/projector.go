package lagrange

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Algorithm 1 of the paper has a misprint: it continues while the violation is below the tolerance,
// not above it. The paper does not specify the growth of μ, Temperature and the tolerance. The
// search adds four things:
//
//   - No step moves a logit by more than 1. Otherwise, growing multipliers could move logits to
//     10⁶, from where they never recover.
//   - The search restarts after 50 outer loops.
//   - After every third loop, tokens of the decoded sequence are changed one by one as long as the
//     violation decreases. This reaches rare sets that the relaxation circles around.
//   - If ϕ satisfies the constraint but the decoded sequence does not, the violation of the decoded
//     sequence is added to g(ϕ). Otherwise the gradient of the constraint would stay zero.

// Projector projects onto constraints given by a differentiable function, such as the score of a
// classifier or a surrogate of a black box. Let x be the given distribution, and decode(y) the
// likeliest sequence under a distribution y. Projector searches for the y with the smallest
// divergence KL(x‖y) for which
//
//	g_j(decode(y)) ≤ Tolerance for all j.
//
// It uses the augmented Lagrangian of Cardei et al. 2025 (Algorithm 1) on the logits of y. For a
// constraint that is a language, use [projection.Path], which is exact and faster. If only a part
// of the constraint is a language, put that part into the field Path.
//
// Each outer loop draws Gumbel noise and keeps it fixed. It then makes Inner gradient steps on the
// function
//
//	KL(x‖y) + Σ_j λ_j·Δ_j + (μ/2)·Σ_j Δ_j²,  Δ_j = max(0, g_j(ϕ)),
//
// where ϕ is the relaxed draw softmax((log y + noise)/Temperature). The multipliers λ_j start at 0
// and the penalty weight μ at 1. After each loop, λ_j ← λ_j + μ·Δ_j and μ ← min(2μ, 1000).
//
// The search ends as soon as the decoded sequence satisfies the constraint. The divergence is then
// reduced as far as the constraint permits: unneeded changes are undone, and costly tokens are
// exchanged for cheaper ones. The result is the distribution nearest to x whose likeliest tokens
// form the resulting sequence (see [projection.PathProjection.Nearest]).
//
// For counts, the result equals the exact projection in tests. For bounds on weighted sums, the
// divergence is on average at most a twentieth larger than the least possible.
//
// A Projector is written as a struct literal. For every field except Constraint, the zero value is
// the recommended setting. Bind and Compile return a [Projection], which does the work.
type Projector struct {
	// Constraint guides the search. It is evaluated on tables of probabilities (sites × levels).
	Constraint constraint.Smooth

	// Judge measures the violation of every decoded sequence, that is, of the likeliest sequence
	// under a distribution y. If Judge is nil, Constraint measures it. A Constraint that is a Set
	// does so by Violation, unless it is a [Partial] whose method Decides returns false. Any other
	// does so by Value, at the one-hot rows of the sequence.
	Judge constraint.Set

	// Path holds the margin and, optionally, a language to which sequences must also belong (see
	// [projection.Path]). The default margin of this Path is 1.001, so that rounding does not
	// affect the likeliest sequence. The fields Divergence and Revive of Path are ignored.
	Path projection.Path

	// Tolerance ≥ 0 is the largest violation at which the constraint counts as satisfied.
	Tolerance float64

	// Step is the size of a gradient step on the logits; 0 means 0.2. Cardei et al. 2025 use 0.2
	// for texts and 1 for molecules.
	Step float64
	// number of gradient steps in an outer loop, all with the same Gumbel noise; 0 means 10. Cardei
	// et al. 2025 use 10 for texts and 100 for molecules.
	Inner int
	// maximum number of outer loops of the search (see [Projector]); 0 means 1000, as in Cardei et
	// al. 2025
	Outer int

	// temperature of the softmax that stands in for a draw of tokens (see [Projector]); 0 means 1
	Temperature float64
}

// Defaults of a Projector. Their sources are stated at the fields. Values without a source were
// chosen by TestGrid.
const (
	defaultStep        = 0.2
	defaultInner       = 10
	defaultOuter       = 1000
	defaultTemperature = 1
	// default margin; its excess over 1 is 10⁴ times the rounding error of a float32 near 1
	defaultLead = 1.001

	firstMu  = 1    // initial μ, the paper's value
	lastMu   = 1000 // largest μ, the paper's value for molecules
	muGrowth = 2    // factor by which μ grows, chosen by TestGrid
)

// fill checks the recipe and sets defaults.
func (k *Projector) fill() error {
	if k.Constraint == nil {
		return fmt.Errorf("lagrange: Constraint is nil")
	}
	if err := check.Given("lagrange", "Constraint", k.Constraint); err != nil {
		return err
	}
	if err := check.Optional("lagrange", "Judge", k.Judge); err != nil {
		return err
	}
	if v, ok := k.Constraint.(Validator); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("lagrange: %w", err)
		}
	}
	if p, ok := k.Constraint.(Partial); ok && !p.Leads() {
		return fmt.Errorf("lagrange: Constraint is a %s without derivatives, want one that leads the way", automata.Name(k.Constraint))
	}
	if n := k.Constraint.Len(); n < 1 {
		return fmt.Errorf("lagrange: Constraint.Len() = %d, want ≥ 1", n)
	}
	if k.Path.Divergence != projection.Forward || k.Path.Revive {
		return fmt.Errorf("lagrange: Path.Divergence = %v, Path.Revive = %v, want forward and false", k.Path.Divergence, k.Path.Revive)
	}
	for _, f := range []struct {
		name     string
		value    *float64
		standard float64
		least    float64
		open     bool
	}{
		{"Tolerance", &k.Tolerance, 0, 0, false},
		{"Step", &k.Step, defaultStep, 0, true},
		{"Temperature", &k.Temperature, defaultTemperature, 0, true},
		{"Path.Margin", &k.Path.Margin, defaultLead, 1, false},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		bound := "≥"
		if f.open {
			bound = ">"
		}
		if v := *f.value; !(v >= f.least) || f.open && v == f.least || math.IsInf(v, 1) {
			return fmt.Errorf("lagrange: %s = %v, want %s %v and finite", f.name, v, bound, f.least)
		}
	}
	for _, f := range []struct {
		name     string
		value    *int
		standard int
	}{
		{"Inner", &k.Inner, defaultInner},
		{"Outer", &k.Outer, defaultOuter},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		if *f.value < 1 {
			return fmt.Errorf("lagrange: %s = %d, want ≥ 1", f.name, *f.value)
		}
	}
	if float32(k.Step) == 0 || float32(k.Temperature) == 0 || math.IsInf(1/k.Temperature, 0) {
		return fmt.Errorf("lagrange: Step = %v, Temperature = %v: out of the range of float32", k.Step, k.Temperature)
	}
	return nil
}

// Bind compiles the Projector for a number of samples, each with the given numbers of sites and
// levels. The result is a *[Projection]. The error names a field that is out of range, or says what
// is wrong with the constraint. Bind also returns the errors of [projection.Path.Compile].
func (k Projector) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	if samples < 1 {
		return nil, fmt.Errorf("lagrange: samples = %d, want ≥ 1", samples)
	}
	a, err := k.compile(ctx, sites, levels, samples)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Compile compiles the Projector for direct calls. (A sampler such as a diffusion calls Bind
// instead.) The result projects a single sample, which has the number 0. Errors are the same as for
// [Projector.Bind].
func (k Projector) Compile(ctx context.Context, sites, levels int) (*Projection, error) {
	return k.compile(ctx, sites, levels, 1)
}

func (k Projector) compile(ctx context.Context, sites, levels, samples int) (*Projection, error) {
	if err := k.fill(); err != nil {
		return nil, err
	}
	free := k.Path.Language == nil
	if free {
		k.Path.Language = constraint.Any{}
	}
	within, err := k.Path.Compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	a := &Projection{
		target: target{
			recipe: k, smooth: k.Constraint, judge: k.Judge, within: within, free: free,
			sites: sites, levels: levels, name: k.Path.Name,
		},
		lambda: make([]float64, samples*k.Constraint.Len()),
	}
	if a.name == "" {
		a.name = automata.Name(k.Constraint)
	}
	if a.judge == nil {
		a.judge = asSet(k.Constraint, sites, levels)
	}
	if n := a.judge.Len(); n < 1 {
		return nil, fmt.Errorf("lagrange: Judge.Len() = %d, want ≥ 1", n)
	}
	for i := range samples {
		a.Reset(i)
	}
	return a, nil
}
