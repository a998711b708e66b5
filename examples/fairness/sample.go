package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

const (
	// updates is the number of exchanges per site that a step proposes: most are
	// between two shifts, and refused.
	updates = 4

	// settle is the number of draws per chain that do not count after the
	// multipliers have been fixed.
	settle = 100
)

// unmet is the part of its limit by which a mean may be above it after the dual
// steps before limits are said not to be met: several times what is left by
// default.
const unmet = 0.05

// path is for the cost in nats: the rule's bias is far below its Monte Carlo
// error at these multipliers.
var path = dual.Path{Points: 9, Discard: 30, Draws: 100}

// study is chains on the Lagrangian of a roster and what they were seen to do.
type study struct {
	*roster
	limits []limit
	base   energy.Model
	lag    *dual.Lagrangian
	chains *sampler.Chains
	trace  *diagnose.Trace // of the present phase; nil if nobody looks
	wrong  []int           // rosters that do not meet the shifts, by chain
}

func newStudy(ctx context.Context, o options) (*study, error) {
	r, err := load(o.csv, o.seed)
	if err != nil {
		return nil, err
	}
	s := &study{roster: r, limits: r.limits(o.slack), wrong: make([]int, o.chains)}
	if s.base, err = r.model(o.tired); err != nil {
		return nil, err
	}
	var bounds dual.Bounds
	for _, l := range s.limits {
		m, err := l.model(r.sites())
		if err != nil {
			return nil, err
		}
		bounds = append(bounds, dual.AtMost(m, l.most))
	}
	if s.lag, err = dual.NewLagrangian(s.base, bounds); err != nil {
		return nil, err
	}
	// A roster's exchanges within shifts lead to all others that suit them.
	language, err := r.language(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.lag.Within(ctx, language); err != nil {
		return nil, err
	}
	s.chains, err = sampler.NewChains(s.lag, mcmc.Swap{Within: language, Updates: updates * r.sites()}, sampler.Config{
		Chains: o.chains, Seed: o.seed, Warmup: -1,
		Observe: func(chain, draw int, x []int32, info *sampler.Info) {
			if !r.meets(x) {
				s.wrong[chain]++
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
	var way course
	inf, err := dual.NewInference(s.lag, s.chains, dual.Config{Observe: way.add})
	if err != nil {
		return nil, err
	}
	before, err := s.judge(ctx, inf, make([]float64, len(s.limits)), o)
	if err != nil {
		return nil, err
	}
	after, err := s.certify(ctx, inf, &o)
	if err != nil {
		return nil, err
	}
	for j, l := range s.limits {
		if v := after.cert.Violation[j]; v > unmet*l.most+5*after.cert.ViolationSE[j] {
			return nil, fmt.Errorf("%s: mean = %.3f after %d dual steps, want ≤ %.3f: raise -slack, or -rounds if nurses could make up for it", l.name, l.most+v, inf.Len(), l.most)
		}
	}
	ratio, se, err := dual.Thermodynamic(ctx, s.lag, s.chains, after.cert.Lambda, path)
	if err != nil {
		return nil, err
	}
	out.settle(s, way, before, after, ratio, se)
	out.certified(o, s, after.cert)
	if o.Dir != "" {
		for _, draw := range []func(*study, course) (*picture.Figure, error){drawCourse, out.drawMeans} {
			f, err := draw(s, way)
			if err != nil {
				return nil, err
			}
			out.Add(f)
		}
	}
	return out, nil
}

// certify moves the multipliers until the certificate holds, or for o.rounds
// rounds, each of which doubles the steps so far and the draws that judge them. It
// leaves the number of rounds in o.rounds.
func (s *study) certify(ctx context.Context, inf *dual.Inference[int32], o *options) (*verdict, error) {
	for round := 1; ; round++ {
		err := inf.Run(ctx, max(o.steps, inf.Len()))
		if errors.Is(err, constraint.ErrInfeasible) {
			return nil, fmt.Errorf("the limits exclude each other, raise -slack: %w", err)
		} else if err != nil {
			return nil, err
		}
		after, err := s.judge(ctx, inf, inf.Average(), *o)
		if err != nil || after.cert.Holds(o.tol) || round == o.rounds {
			o.rounds = round
			return after, err
		}
		o.draws *= 2
	}
}

// verdict is what draws at fixed multipliers say.
type verdict struct {
	cert *dual.Certificate

	// Means over draws: the base energy; whether a roster meets every limit by
	// itself; and for those that do e^{λᵀg}, which takes the multipliers out
	// again, alone and times the energy.
	energy, meets, weight, weighted diagnose.Row
}

func (s *study) judge(ctx context.Context, inf *dual.Inference[int32], lambda []float64, o options) (*verdict, error) {
	weight := func(x []int32) float64 {
		sum := 0.0
		for j, l := range s.limits {
			g := l.of(x) - l.most
			if g > 0 {
				return 0
			}
			sum += lambda[j] * g
		}
		return math.Exp(sum)
	}
	base := func(x []int32) float64 {
		var e [1]float64
		s.base.Energy(e[:], x)
		return e[0]
	}
	meets := func(x []int32) float64 {
		if weight(x) > 0 {
			return 1
		}
		return 0
	}
	s.trace = diagnose.NewTrace(base, meets, weight, func(x []int32) float64 { return weight(x) * base(x) }).
		Name("energy", "meets", "weight", "weighted")
	defer func() { s.trace = nil }()
	c, err := inf.Certify(ctx, lambda, settle, o.draws)
	if err != nil {
		return nil, err
	}
	rows := s.trace.Summary().Rows
	return &verdict{c, rows[0], rows[1], rows[2], rows[3]}, nil
}
