package diffusion

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Series is [Gaussian] diffusion under constraints by one of several methods:
// constrained posterior sampling, and what it is compared with. It brings its
// projector along, because methods project at different places; leave that of
// the configuration nil. (For constrained posterior sampling alone, a Gaussian
// and the projector of the configuration do the same.)
//
// Every method but [ByGuidance] and [Unconstrained] ends in the set.
type Series struct {
	Gaussian

	Method    SeriesMethod
	Projector Projector // every method but ByGuidance and Unconstrained

	// Power is that of ByPRODIGY; 0 means 1.
	Power float64

	// Set, Weight and Covariance are for ByGuidance. Weight 0 means 0.1.
	// Covariance, unless nil, stores P·v with P the covariance of x_0 given
	// x_t at signal level ᾱ; √ᾱ/(1−ᾱ)·P is the derivative of the prediction.
	// Without it the derivative counts as the identity.
	Set        constraint.Smooth
	Weight     float64
	Covariance func(dst, v []float64, alpha float64)
}

// SeriesMethod says where a diffusion of series is held to its constraints.
type SeriesMethod uint8

// The methods. x̂_0 is the prediction, x_s the state after a step, Π the
// projection.
const (
	// ByCPS projects x̂_0 and keeps the noise of the prediction (constrained
	// posterior sampling, Narasimhan et al. 2025).
	ByCPS SeriesMethod = iota

	// ByMetric projects x̂_0 and takes the noise from the result: right if the
	// projector measures in the covariance of x_0 given x_t (see
	// proximal.Projector), for then Π(x̂_0) is the conditional mean of a
	// Gaussian law.
	ByMetric

	// ByPDM projects x_s in every step (projected diffusion models,
	// Christopher, Baek and Fioretto 2024).
	ByPDM

	// ByPRODIGY moves x_s the part (1−s)^Power of the way to Π(x_s) (Sharma,
	// Kumar and Trivedi 2024).
	ByPRODIGY

	// ByCOPFT projects the finished sample (Coletta et al. 2023).
	ByCOPFT

	// ByGuidance subtracts Weight·∂/∂x_t Σ_j max(0, g_j(x̂_0))² from x_s.
	ByGuidance

	// ByNoiseCorrection projects x̂_0 as ByCPS does and takes the noise from
	// the result, as ByMetric does. In the Euclidean metric that is much worse.
	ByNoiseCorrection

	// Unconstrained does nothing.
	Unconstrained
)

var seriesMethods = []string{"cps", "cps-metric", "pdm", "prodigy", "cop-ft", "guided", "noise-corrected", "unconstrained"}

// String returns the short name of the method, for instance "cps-metric".
func (m SeriesMethod) String() string {
	if int(m) < len(seriesMethods) {
		return seriesMethods[m]
	}
	return fmt.Sprintf("SeriesMethod(%d)", uint8(m))
}

// SeriesMethods returns all methods in order.
func SeriesMethods() []SeriesMethod {
	out := make([]SeriesMethod, len(seriesMethods))
	for i := range out {
		out[i] = SeriesMethod(i)
	}
	return out
}

// projects reports whether the method needs a projector.
func (m SeriesMethod) projects() bool { return m != ByGuidance && m != Unconstrained }

const (
	defaultPower  = 1
	defaultWeight = 0.1
)

// heldSeries is a bound Series: it belongs to one sample.
type heldSeries struct {
	Series
	process    Process[float32]
	projection Projection
	warm       Warm
	v          []float32
	g, grad    []float64
	pulled     []float32
	back       []float64
}

// Bind checks the fields and binds the projector, for one sample.
func (p Series) Bind(sites, levels int) (Process[float32], error) {
	switch {
	case int(p.Method) >= len(seriesMethods):
		return nil, fmt.Errorf("diffusion: Series: Method = %v, want ≤ %v", p.Method, Unconstrained)
	case p.Method.projects() && p.Projector == nil:
		return nil, fmt.Errorf("diffusion: Series: Projector is nil, want one for %v", p.Method)
	case p.Method == ByGuidance && p.Set == nil:
		return nil, fmt.Errorf("diffusion: Series: Set is nil, want one for %v", p.Method)
	case !(p.Power >= 0) || math.IsInf(p.Power, 1):
		return nil, fmt.Errorf("diffusion: Series: Power = %v, want finite and ≥ 0", p.Power)
	case !(p.Weight >= 0) || math.IsInf(p.Weight, 1):
		return nil, fmt.Errorf("diffusion: Series: Weight = %v, want finite and ≥ 0", p.Weight)
	}
	if p.Power == 0 {
		p.Power = defaultPower
	}
	if p.Weight == 0 {
		p.Weight = defaultWeight
	}
	p.Gaussian.Recompute = p.Method == ByMetric || p.Method == ByNoiseCorrection
	s := &heldSeries{Series: p, v: make([]float32, sites)}
	var err error
	if s.process, err = p.Gaussian.Bind(sites, levels); err != nil {
		return nil, err
	}
	if p.Method.projects() {
		if s.projection, err = p.Projector.Bind(context.Background(), sites, levels, 1); err != nil {
			return nil, err
		}
		s.warm, _ = s.projection.(Warm)
	}
	if p.Method == ByGuidance {
		s.g, s.grad, s.back = make([]float64, p.Set.Len()), make([]float64, sites), make([]float64, sites)
		s.pulled = make([]float32, sites)
	}
	return s, nil
}

// Alpha returns ᾱ(t), from the table of the schedule.
func (s *heldSeries) Alpha(t float64) float64 { return s.process.Alpha(t) }

// Prior draws standard normal numbers; a sample begins.
func (s *heldSeries) Prior(x []float32, r *sampler.Stream) {
	if s.warm != nil {
		s.warm.Reset(0)
	}
	s.process.Prior(x, r)
}

// Reverse implements [Process]. v, which a projector of the runner may have
// moved, is not used.
func (s *heldSeries) Reverse(x []float32, raw, _ []float32, t, to float64, r *sampler.Stream) error {
	v := raw
	switch s.Method {
	case ByCPS, ByMetric, ByNoiseCorrection:
		copy(s.v, raw)
		v = s.v
		if err := s.project(v, t, to); err != nil {
			return err
		}
	case ByGuidance:
		s.slope(raw, t)
	}
	if err := s.process.Reverse(x, raw, v, t, to, r); err != nil {
		return err
	}
	switch {
	case s.Method == ByPDM, s.Method == ByCOPFT && to <= 0:
		return s.project(x, t, to)
	case s.Method == ByPRODIGY:
		copy(s.v, x)
		if err := s.project(s.v, t, to); err != nil {
			return err
		}
		part := simd.Exp(s.Power * simd.Log(1-to))
		if to <= 0 {
			part = 1 // exactly
		}
		for i, v := range s.v {
			x[i] = float32(float64((1-part)*float64(x[i])) + float64(part*float64(v)))
		}
	case s.Method == ByGuidance:
		for i, v := range s.back {
			x[i] = float32(float64(x[i]) - float64(s.Weight*v))
		}
	}
	return nil
}

// project moves a series to the set.
func (s *heldSeries) project(v []float32, t, to float64) error {
	_, err := s.projection.Project(context.Background(), 0, v, t, to, nil)
	return err
}

// slope stores ∂/∂x_t Σ max(0, g(x̂_0))² in back.
func (s *heldSeries) slope(raw []float32, t float64) {
	s.Set.Value(s.g, raw)
	for j, g := range s.g {
		s.g[j] = 2 * max(g, 0)
	}
	clear(s.pulled)
	s.Set.Pull(s.pulled, raw, s.g)
	for i, v := range s.pulled {
		s.grad[i] = float64(v)
	}
	if s.Covariance == nil {
		copy(s.back, s.grad)
		return
	}
	alpha := s.Alpha(t)
	s.Covariance(s.back, s.grad, alpha)
	factor := math.Sqrt(alpha) / (1 - alpha)
	for i := range s.back {
		s.back[i] *= factor
	}
}

// SeriesViolation returns, over series of sites entries each, the mean of
// Σ_j max(0, g_j), the violation magnitude, and the largest single g_j, at
// least 0. It panics unless sites divides len(x).
func SeriesViolation(set constraint.Smooth, x []float32, sites int) (mean, worst float64) {
	if sites < 1 || len(x)%sites != 0 {
		panic(fmt.Sprintf("diffusion: len(x) = %d, want a multiple of %d", len(x), sites))
	}
	g := make([]float64, set.Len())
	for v := range slices.Chunk(x, sites) {
		set.Value(g, v)
		for _, e := range g {
			mean += max(e, 0)
			worst = max(worst, e)
		}
	}
	return mean / float64(max(1, len(x)/sites)), worst
}
