package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// settle is the number of draws per chain that are discarded after the multipliers have been
// fixed.
const settle = 100

// slacks times -tol is the permitted product of a multiplier and the distance of its mean from
// the limit, in units of energy. The limits have their own tolerances.
const slacks = 4

// unmet is the relative excess above which a limit counts as violated after the dual steps. It
// is several times the excess that the default settings leave.
const unmet = 0.05

// path is the sequence of multipliers along which the cost in nats is integrated. At these
// multipliers the bias of the quadrature rule is far below its Monte Carlo error.
var path = dual.Path{Points: 9, Discard: 30, Draws: 100}

// study holds the chains on the Lagrangian of a roster and the results so far.
type study struct {
	*roster
	limits []limit
	tired  float64
	base   energy.Model
	lag    *dual.Lagrangian
	chains *sampler.Chains
	trace  *diagnose.Trace // trace of the current phase; nil while nothing is recorded
	was    *progressed
}

// progressed is the progress of a run. A checkpoint stores it with the multipliers and the
// chains.
type progressed struct {
	Phase        phase
	Until, Draws int // dual steps of the current round, and draws with which it is evaluated
	Rounds       int // number of finished rounds
	// number of rosters, by chain, in which a shift does not have the nurses it needs
	Wrong []int
	Way   course

	Before, After estimates
	Ratio, SE     float64 // log Z(λ) − log Z(0)
}

// phase is the part of a run that is done next.
type phase int

const (
	unlimited phase = iota // phase that evaluates draws without multipliers
	moving                 // phase that adjusts the multipliers
	judging                // phase that evaluates draws at the average multipliers
	comparing              // phase that estimates the ratio of partition sums
	finished
)

func newStudy(ctx context.Context, o options) (*study, error) {
	r, err := load(o.csv, o.seed)
	if err != nil {
		return nil, err
	}
	s := &study{roster: r, limits: r.limits(o.slack, o.tol), tired: o.tired}
	s.was = &progressed{Until: o.steps, Draws: o.draws, Wrong: make([]int, o.chains)}
	if s.base, err = r.model(o.tired); err != nil {
		return nil, err
	}
	if s.lag, err = dual.NewLagrangian(s.base, bounds{r, s.limits}); err != nil {
		return nil, err
	}
	// Proofs that limits exclude each other are about these rosters only.
	language, err := r.language(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.lag.Within(ctx, language); err != nil {
		return nil, err
	}
	s.chains, err = sampler.NewChains(ctx, s.lag, exchange{r, o.tired}, sampler.Config{
		Chains: o.chains, Seed: o.seed, Init: r.starts(o.chains, o.seed), Warmup: -1,
		Observe: func(chain, draw int, x []int32, info *sampler.Info) {
			if !r.meets(x) {
				s.was.Wrong[chain]++
			}
			if s.trace != nil {
				s.trace.Observe(chain, draw, x, info)
			}
		},
	})
	return s, err
}

func run(ctx context.Context, o options) (*report, error) {
	s, err := newStudy(ctx, o)
	if err != nil {
		return nil, err
	}
	out := newReport(o, s)
	inf, err := dual.NewInference(ctx, s.lag, s.chains, dual.Config{Observe: func(step int, lambda, mean []float64) { s.was.Way.add(step, lambda, mean) }})
	if err != nil {
		return nil, err
	}
	saved, err := o.Open(ctx, "inference", inf, checkpoint.Value(o.Identity(), s.was))
	if err != nil {
		return nil, err
	}
	for s.was.Phase != finished {
		if err := s.advance(ctx, inf, o, saved); err != nil {
			return nil, err
		}
		if err := saved.Save(); err != nil {
			return nil, err
		}
	}
	out.settle(s)
	out.certified(o, s)
	if o.Dir != "" {
		for _, draw := range []func(*study, course) (*picture.Figure, error){drawCourse, out.drawMeans} {
			f, err := draw(s, s.was.Way)
			if err != nil {
				return nil, err
			}
			out.Add(f)
		}
	}
	return out, nil
}

// advance runs the current phase and sets the next one. The multipliers are adjusted until the
// certificate holds or o.rounds rounds have passed. After each round, steps and draws grow as
// the certificate's errors require.
func (s *study) advance(ctx context.Context, inf *dual.Inference[int32], o options, saved *checkpoint.File) (err error) {
	was := s.was
	switch was.Phase {
	case unlimited:
		if was.Before, err = s.judge(ctx, inf, make([]float64, len(s.limits))); err == nil {
			was.Phase = moving
		}
	case moving:
		if err = s.move(ctx, inf, saved); err == nil {
			was.Phase = judging
		}
	case judging:
		if was.After, err = s.judge(ctx, inf, inf.Average()); err != nil {
			return err
		}
		if was.Rounds++; was.Rounds < o.rounds && !was.After.Cert.Holds(slacks*o.tol) {
			more := s.growth(was.After.Cert)
			was.Phase, was.Until, was.Draws = moving, int(more*float64(inf.Len())), int(more*float64(was.Draws))
			return nil
		}
		was.Phase = comparing
	case comparing:
		cert := was.After.Cert
		for j, l := range s.limits {
			if v := cert.Violation[j]; v > unmet*l.most+5*cert.ViolationSE[j] {
				return fmt.Errorf("%s: mean = %.3f after %d dual steps, want ≤ %.3f: raise -slack, or -rounds if nurses could make up for it", l.name, l.most+v, inf.Len(), l.most)
			}
		}
		if was.Ratio, was.SE, err = dual.Thermodynamic(ctx, s.lag, s.chains, cert.Lambda, path); err == nil {
			was.Phase = finished
		}
	}
	return err
}

// sure is the number of standard errors by which the certificate is expected to exceed a limit
// when twenty means lie exactly at their limits. The largest of twenty draws is expected 1.9
// errors above. The multipliers have errors of the same size, which multiplies this by √2. The
// certificate adds two errors itself.
const sure = 4.6

// growth returns the factor by which steps and draws must grow for small enough errors, at least
// 2 and at most 8.
func (s *study) growth(c *dual.Certificate) float64 {
	most := 0.0
	for j, l := range s.limits {
		most = max(most, sure*c.ViolationSE[j]/l.tol)
	}
	return min(max(most*most, 2), 8)
}

// looks is the number of times per round that a run checks whether to save a checkpoint.
const looks = 100

// move makes the remaining dual steps of the round.
func (s *study) move(ctx context.Context, inf *dual.Inference[int32], saved *checkpoint.File) error {
	few := max(1, s.was.Until/looks)
	for inf.Len() < s.was.Until {
		err := inf.Run(ctx, min(few, s.was.Until-inf.Len()))
		if errors.Is(err, constraint.ErrInfeasible) {
			return fmt.Errorf("the limits exclude each other, raise -slack: %w", err)
		} else if err != nil {
			return err
		}
		if err := saved.Tick(); err != nil {
			return err
		}
	}
	return nil
}

// estimates holds results from draws at fixed multipliers.
type estimates struct {
	Cert *dual.Certificate

	// Means over draws: the base energy; the share of rosters that satisfy every limit; and,
	// over those rosters, the weight e^{λᵀg}, which undoes the multipliers, alone and times the
	// energy. WeightSE is the standard error of the weight.
	Energy, Meets, Weight, Weighted, WeightSE figure
}

// figure is a number that may be undefined.
type figure struct {
	Value   float64
	Defined bool
}

func figureOf(e diagnose.Estimate) figure {
	if !e.Defined() || math.IsInf(e.Value, 0) {
		return figure{}
	}
	return figure{e.Value, true}
}

func (s *study) judge(ctx context.Context, inf *dual.Inference[int32], lambda []float64) (estimates, error) {
	weight := func(x []int32) float64 {
		sum, g := 0.0, make([]float64, len(s.limits))
		s.violations(g, s.limits, x)
		for j, v := range g {
			if v > 0 {
				return 0
			}
			sum += lambda[j] * v
		}
		return math.Exp(sum)
	}
	costs := s.costs()
	base := func(x []int32) float64 { return s.sum(costs, s.tired, x) }
	s.trace = diagnose.NewTrace(base, weight).Name("cost", "weight")
	defer func() { s.trace = nil }()
	c, err := inf.Certify(ctx, lambda, settle, s.was.Draws)
	if err != nil {
		return estimates{}, err
	}
	energies, err := s.trace.Values("cost")
	if err != nil {
		return estimates{}, err
	}
	weights, err := s.trace.Values("weight")
	if err != nil {
		return estimates{}, err
	}
	meets, weighted, draws := 0.0, 0.0, 0.0
	for c, of := range weights {
		for d, w := range of {
			draws++
			if w > 0 {
				meets++
				weighted += w * energies[c][d]
			}
		}
	}
	rows := s.trace.Summary().Rows
	return estimates{c, figureOf(rows[0].Mean), figure{meets / draws, true}, figureOf(rows[1].Mean), figure{weighted / draws, true}, figureOf(rows[1].MCSE)}, nil
}
