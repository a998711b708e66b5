package energy

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Parametric models have real parameters θ, by which the energy is
// differentiable, and which a learner such as package dual/fit moves.
//
// Models are immutable, because kernels, goroutines and other models share them.
// A Parametric is the exception: a copy that one learner owns. That of a model of
// this module comes from its method Learn (see [Learnable]), so that the model
// that it was made of never changes; one of your own has these three methods.
type Parametric interface {
	Model

	// Params returns a copy of θ.
	Params() []float64

	// ParamGradient adds Σ_s w_s ∂E(x_s)/∂θ_k to g_k, in nats, for the states x
	// and as many weights, which may be 0 or negative; nil means 1 for all.
	// len(g) is that of Params. A state has the same part in the sum whatever
	// its batch, up to rounding.
	ParamGradient(g []float64, x []int32, w []float64)

	// SetParams replaces θ by a copy of theta, of the same length. It must not
	// overlap with any other method, and afterwards every kernel that works on
	// the model must be Reset; states, random streams and step sizes go on. On an
	// error, as for a number that is not finite, nothing changes.
	SetParams(theta []float64) error
}

// Learnable models are immutable and know how to make a copy with parameters of
// its own, which knows of its differences what the model knows.
type Learnable interface {
	Model

	// Learn returns the copy, at the parameters of the model.
	Learn() (Parametric, error)
}

// relearned returns what rebuild makes of the copy that l makes, as a
// [Parametric].
func relearned(l Learnable, rebuild func(Model) (Model, error)) (Parametric, error) {
	p, err := l.Learn()
	if err != nil {
		return nil, err
	}
	m, err := rebuild(p)
	if err != nil {
		return nil, err
	}
	return asParametric(m)
}

func asParametric(m Model) (Parametric, error) {
	p, ok := As[Parametric](m)
	if !ok {
		return nil, fmt.Errorf("energy: Learn: %T is no energy.Parametric", m)
	}
	return p, nil
}

// scaledParams is a scaled model as [Parametric]: θ is that of the model.
type scaledParams struct {
	*scaled
	m Parametric
}

// Params implements [Parametric].
func (s scaledParams) Params() []float64 { return s.m.Params() }

// ParamGradient implements [Parametric].
func (s scaledParams) ParamGradient(g []float64, x []int32, w []float64) {
	b := scratch.Float64s.Get(len(g))
	defer scratch.Float64s.Put(b)
	clear(*b)
	s.m.ParamGradient(*b, x, w)
	for k, v := range *b {
		g[k] += float64(s.beta * v)
	}
}

// SetParams implements [Parametric].
func (s scaledParams) SetParams(theta []float64) error { return s.m.SetParams(theta) }

// scaledLearn is a scaled model as [Learnable].
type scaledLearn struct {
	*scaled
	m Learnable
}

// Learn implements [Learnable].
func (s scaledLearn) Learn() (Parametric, error) {
	return relearned(s.m, func(m Model) (Model, error) { return Scale(m, s.beta) })
}

// clampedParams is a clamped model as [Parametric]: states outside the support
// have the gradient of the model inside.
type clampedParams struct {
	*clamped
	m Parametric
}

// Params implements [Parametric].
func (c clampedParams) Params() []float64 { return c.m.Params() }

// ParamGradient implements [Parametric].
func (c clampedParams) ParamGradient(g []float64, x []int32, w []float64) { c.m.ParamGradient(g, x, w) }

// SetParams implements [Parametric].
func (c clampedParams) SetParams(theta []float64) error { return c.m.SetParams(theta) }

// clampedLearn is a clamped model as [Learnable].
type clampedLearn struct {
	*clamped
	m Learnable
}

// Learn implements [Learnable].
func (c clampedLearn) Learn() (Parametric, error) {
	fixed := make(map[int]int32, len(c.which))
	for _, i := range c.which {
		fixed[i] = c.fixed[i]
	}
	return relearned(c.m, func(m Model) (Model, error) { return Clamp(m, fixed) })
}

// sumParams is a sum as [Parametric]: θ is that of the parts that have some, one
// after the other.
type sumParams struct {
	*sum
	m []Parametric
}

// asParametric wants at least one part with parameters.
func (s *sum) asParametric(p *Parametric) bool {
	var parts []Parametric
	for _, m := range s.parts {
		if t, ok := As[Parametric](m); ok {
			parts = append(parts, t)
		}
	}
	if parts != nil {
		*p = sumParams{s, parts}
	}
	return parts != nil
}

// Params implements [Parametric].
func (s sumParams) Params() []float64 {
	var theta []float64
	for _, m := range s.m {
		theta = append(theta, m.Params()...)
	}
	return theta
}

// ParamGradient implements [Parametric].
func (s sumParams) ParamGradient(g []float64, x []int32, w []float64) {
	for _, m := range s.m {
		n := len(m.Params())
		m.ParamGradient(g[:n], x, w)
		g = g[n:]
	}
	check.Len("energy", "g beyond the parameters", len(g), 0)
}

// SetParams implements [Parametric]; a part that refuses leaves all as they were.
func (s sumParams) SetParams(theta []float64) error {
	before := s.Params()
	check.Len("energy", "theta", len(theta), len(before))
	for k, m := range s.m {
		n := len(m.Params())
		if err := m.SetParams(theta[:n]); err != nil {
			for _, m := range s.m[:k] {
				n := len(m.Params())
				if back := m.SetParams(before[:n]); back != nil {
					return back
				}
				before = before[n:]
			}
			return err
		}
		theta = theta[n:]
	}
	if s.bipartite != nil {
		s.offset, s.bipartite = s.visibleOffset()
	}
	return nil
}

// sumLearn is a sum as [Learnable]: parts that are not are kept as they are.
type sumLearn struct{ *sum }

func (s *sum) asLearnable(p *Learnable) bool {
	for _, m := range s.parts {
		if _, ok := As[Learnable](m); ok {
			*p = sumLearn{s}
			return true
		}
	}
	return false
}

// Learn implements [Learnable].
func (s sumLearn) Learn() (Parametric, error) {
	parts := make([]Model, len(s.parts))
	for k, m := range s.parts {
		parts[k] = m
		if l, ok := As[Learnable](m); ok {
			p, err := l.Learn()
			if err != nil {
				return nil, err
			}
			parts[k] = p
		}
	}
	m, err := Sum(parts...)
	if err != nil {
		return nil, err
	}
	return asParametric(m)
}
