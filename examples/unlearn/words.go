package main

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// letters is the number of letters: a, b, c, d. Half of the words follow the standard chain,
// which alternates between letters. The other half follow the dialect, which repeats d.
const letters = 4

// learn is the number of steps that adjust the multiplier per final draw.
const learn = 4

var (
	start    = []float64{0.25, 0.25, 0.25, 0.25}
	standard = []float64{
		0.10, 0.50, 0.30, 0.10,
		0.45, 0.10, 0.35, 0.10,
		0.40, 0.40, 0.10, 0.10,
		0.40, 0.30, 0.25, 0.05,
	}
	dialect = []float64{
		0.25, 0.15, 0.10, 0.50,
		0.15, 0.25, 0.10, 0.50,
		0.10, 0.10, 0.30, 0.50,
		0.10, 0.10, 0.10, 0.70,
	}
)

// words holds the distribution q of all words and the distribution of the dialect.
type words struct {
	length     int
	model, old energy.Model
	u          *unlearn.Problem
	q, dialect []float64
	double     constraint.Automaton // automaton of the words that contain dd
}

func newWords(length int) (*words, error) {
	w := &words{length: length}
	a, err := model.NewMarkov(length, letters, 1, start, standard)
	if err != nil {
		return nil, err
	}
	b, err := model.NewMarkov(length, letters, 1, start, dialect)
	if err != nil {
		return nil, err
	}
	w.old = b
	w.model = energy.Func{Sites: length, Levels: letters, E: func(x []int32) float64 {
		return math.Ln2 - logSum(a.LogProb(x), b.LogProb(x))
	}}
	ctx := context.Background()
	if w.q, _, err = dual.Tabulate(ctx, w.model); err != nil {
		return nil, err
	}
	if w.dialect, _, err = dual.Tabulate(ctx, w.old); err != nil {
		return nil, err
	}
	if w.double, err = constraint.Contains([]int32{3, 3}); err != nil {
		return nil, err
	}
	w.u, err = unlearn.New(w.q, w.dialect)
	return w, err
}

// logSum returns log(e^a + e^b).
func logSum(a, b float64) float64 {
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}

// follows says which distribution the words of the chains follow.
const follows = "the chains have the exact optimum for their multiplier as their stationary distribution; the MCSE is the error of a mean"

// unlearn computes the trade-off curve exactly and then reaches one level by sampling. The
// chains run on the Lagrangian of q with the mean ratio to the dialect bounded.
func (w *words) unlearn(ctx context.Context, o options) (*wordReport, error) {
	r := &wordReport{Letters: w.length, States: len(w.q), Goal: o.goal, Before: w.share(w.q), Exact: follows}
	var err error
	if r.Curve, r.limits, err = curve(ctx, w.u, o.levels); err != nil {
		return nil, err
	}
	exact, err := w.u.Solve(ctx, unlearn.LikelihoodRatio, []float64{o.goal})
	if err != nil {
		return nil, err
	}
	r.ExactLambda, r.KL, r.ExactAfter = exact.Lambda[0], exact.Cost, w.share(exact.P)

	bound, err := unlearn.Ratio(w.model, w.old, 0, 0, o.goal) // both distributions are normalised
	if err != nil {
		return nil, err
	}
	lag, err := dual.NewLagrangian(w.model, bound)
	if err != nil {
		return nil, err
	}
	double := diagnose.NewTrace(func(x []int32) float64 {
		if constraint.Accepts(w.double, x) {
			return 1
		}
		return 0
	}).Name("dd")
	certifying := false
	chains, err := sampler.NewChains(ctx, lag, mcmc.Gibbs{}, sampler.Config{
		Chains: o.chains, Seed: o.seed, Warmup: -1,
		Observe: func(chain, draw int, x []int32, info *sampler.Info) {
			if certifying {
				double.Observe(chain, draw, x, info)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	inf, err := dual.NewInference(ctx, lag, chains, dual.Config{})
	if err != nil {
		return nil, err
	}
	if err := inf.Run(ctx, learn*o.steps); err != nil {
		return nil, err
	}
	certifying = true
	c, err := inf.Certify(ctx, nil, o.steps/10, o.steps)
	if err != nil {
		return nil, err
	}
	r.Lambda = c.Lambda[0]
	r.Unlearned, r.UnlearnedSE = o.goal+c.Violation[0], c.ViolationSE[0]
	row := double.Summary().Rows[0]
	r.After = row.Mean.Value
	if row.MCSE.Defined() {
		r.AfterSE = &row.MCSE.Value
	}
	return r, nil
}

// share returns the probability of the words that contain dd.
func (w *words) share(p []float64) float64 {
	sum := 0.0
	for k, v := range p {
		if constraint.Accepts(w.double, w.word(k)) {
			sum += v
		}
	}
	return sum
}
