package diffusion_test

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// affine is a Gaussian law N(m, C) that affine maps act on.
type affine struct {
	m *mat.VecDense
	c *mat.Dense
}

func identity(n int) *mat.Dense {
	d := mat.NewDense(n, n, nil)
	for i := range n {
		d.Set(i, i, 1)
	}
	return d
}

// apply maps x to g·x + b + √v·noise.
func (a *affine) apply(g *mat.Dense, b *mat.VecDense, v float64) {
	var m mat.VecDense
	m.MulVec(g, a.m)
	m.AddVec(&m, b)
	a.m = &m
	var h, c mat.Dense
	h.Mul(g, a.c)
	c.Mul(&h, g.T())
	n, _ := c.Dims()
	for i := range n {
		c.Set(i, i, c.At(i, i)+v)
	}
	a.c = &c
}

// frechet is the squared distance to a law.
func (a *affine) frechet(b *affine) float64 {
	d, err := distance.FrechetGaussian(a.m.RawVector().Data, a.c.RawMatrix().Data, b.m.RawVector().Data, b.c.RawMatrix().Data)
	if err != nil {
		panic(err)
	}
	return d
}

// problem is the reference problem: an AR(1) prior and equations.
type problem struct {
	n, steps int
	prior    *mat.Dense
	a        *mat.Dense
	y        *mat.VecDense
	alpha    []float64
	gains    []*mat.Dense // x̂_0 = gain·x_t at step t, the prior mean being 0
}

// seriesMethod is a method that holds a diffusion of series to its constraints.
type seriesMethod int

const (
	byCPS seriesMethod = iota
	byMetric
	byPDM
	byPRODIGY
	byCOPFT
	byGuidance
	byNoiseCorrection
	unconstrained
)

var seriesMethods = []string{"cps", "cps-metric", "pdm", "prodigy", "cop-ft", "guided", "noise-corrected", "unconstrained"}

func (m seriesMethod) String() string { return seriesMethods[m] }

// recipe returns the process and the configuration of a method. near measures in
// the Euclidean metric, metric in that of the posterior covariance.
func (m seriesMethod) recipe(g diffusion.Gaussian, c diffusion.Config, near, metric diffusion.Projector, set constraint.Smooth, covariance func(dst, v []float64, alpha float64)) (diffusion.Process[float32], diffusion.Config) {
	c.Projector = near
	switch m {
	case byMetric:
		c.Projector, g.Recompute = metric, true
	case byNoiseCorrection:
		g.Recompute = true
	case byPDM:
		c.ProjectState = true
	case byPRODIGY:
		c.ProjectState, c.ProjectPower = true, 1
	case byCOPFT:
		c.ProjectState, c.ProjectEvery = true, -1
	case byGuidance:
		c.Projector = nil
		return diffusion.Penalised{Process: g, Set: set, Covariance: covariance}, c
	case unconstrained:
		c.Projector = nil
	}
	return g, c
}

// The methods as affine maps, and one more: the penalty form of the paper in
// place of hard equations, (I + γAᵀA)⁻¹(x̂ + γAᵀy).
type method struct {
	by      seriesMethod
	penalty bool
	gamma   func(k int) float64 // of the penalty at step k; nil is that of the paper
	power   float64
	noChain bool // guidance without the derivative of the prediction
}

func reference() *problem {
	const n, steps = 96, 200
	p := &problem{n: n, steps: steps, prior: mat.NewDense(n, n, nil), a: mat.NewDense(6, n, nil), alpha: []float64{1}}
	for i := range n {
		for j := range n {
			p.prior.Set(i, j, math.Pow(0.95, math.Abs(float64(i-j))))
		}
		p.a.Set(5, i, 1.0/n)
	}
	for k, t := range []int{1, 24, 48, 72, 96} {
		p.a.Set(k, t-1, 1)
	}
	p.y = mat.NewVecDense(6, []float64{1, -1, 1, -1, 1, 0.2})
	for t := range steps {
		p.alpha = append(p.alpha, p.alpha[t]*(1-(1e-4+(0.1-1e-4)*float64(t)/(steps-1))))
	}
	return p
}

func inverse(a mat.Matrix) *mat.Dense {
	var d mat.Dense
	if err := d.Inverse(a); err != nil {
		panic(err)
	}
	return &d
}

// plus returns a + s·b.
func plus(a mat.Matrix, s float64, b mat.Matrix) *mat.Dense {
	var d mat.Dense
	d.Scale(s, b)
	d.Add(a, &d)
	return &d
}

func times(a ...mat.Matrix) *mat.Dense {
	out := mat.DenseCopyOf(a[0])
	for _, b := range a[1:] {
		var d mat.Dense
		d.Mul(out, b)
		out = &d
	}
	return out
}

func column(a mat.Matrix, x *mat.VecDense) *mat.VecDense {
	var v mat.VecDense
	v.MulVec(a, x)
	return &v
}

// onto returns the projection x → x + PAᵀ(APAᵀ)⁻¹(y − Ax) as a map.
func (p *problem) onto(metric *mat.Dense) (*mat.Dense, *mat.VecDense) {
	gain := times(metric, p.a.T(), inverse(times(p.a, metric, p.a.T())))
	return plus(identity(p.n), -1, times(gain, p.a)), column(gain, p.y)
}

// conditional returns the law of the prior given the equations.
func (p *problem) conditional() *affine {
	g, b := p.onto(p.prior)
	return &affine{b, times(g, p.prior)}
}

// prepare fills the gains.
func (p *problem) prepare() *problem {
	p.gains = make([]*mat.Dense, p.steps+1)
	for k := 1; k <= p.steps; k++ {
		at := p.alpha[k]
		noisy := plus(identity(p.n), at/(1-at), p.prior)
		noisy.Scale(1-at, noisy)
		p.gains[k] = times(p.prior, inverse(noisy))
		p.gains[k].Scale(math.Sqrt(at), p.gains[k])
	}
	return p
}

// gamma is exp(1/(1−ᾱ)), at most 1e5.
func gamma(alpha float64) float64 { return math.Min(math.Exp(1/(1-alpha)), 1e5) }

// penalised returns the penalty form as a map.
func (p *problem) penalised(gamma float64) (*mat.Dense, *mat.VecDense) {
	g := inverse(plus(identity(p.n), gamma, times(p.a.T(), p.a)))
	b := column(times(g, p.a.T()), p.y)
	b.ScaleVec(gamma, b)
	return g, b
}

// step returns step k as the maps that it is made of.
func (p *problem) step(m method, eta float64, k int) (maps []*mat.Dense, shifts []*mat.VecDense, variance float64) {
	n, gain := p.n, p.gains[k]
	at, as := p.alpha[k], p.alpha[k-1]
	variance = eta * eta * (1 - as) / (1 - at) * (1 - at/as)
	rest := math.Sqrt(math.Max(0, 1-as-variance))
	g, b := identity(n), mat.NewVecDense(n, nil)
	recompute := false
	switch m.by {
	case byCPS, byNoiseCorrection:
		if g, b = p.onto(identity(n)); m.penalty {
			weight := gamma(as)
			if m.gamma != nil {
				weight = m.gamma(k)
			}
			g, b = p.penalised(weight)
		}
		recompute = m.by == byNoiseCorrection
	case byMetric:
		g, b = p.onto(plus(p.prior, -math.Sqrt(at), times(gain, p.prior)))
		recompute = true
	}
	clean, noise, noiseShift := times(g, gain), gain, mat.NewVecDense(n, nil)
	if recompute {
		noise, noiseShift = clean, b
	}
	one := plus(identity(n), -math.Sqrt(at), noise)
	one.Scale(rest/math.Sqrt(1-at), one)
	one = plus(one, math.Sqrt(as), clean)
	var off mat.VecDense
	off.ScaleVec(math.Sqrt(as), b)
	off.AddScaledVec(&off, -rest*math.Sqrt(at/(1-at)), noiseShift)
	if m.by == byGuidance {
		slope, target := times(p.a.T(), p.a, gain), column(p.a.T(), p.y)
		if !m.noChain {
			slope, target = times(gain.T(), slope), column(gain.T(), target)
		}
		one = plus(one, -0.2, slope)
		off.AddScaledVec(&off, 0.2, target)
	}
	maps, shifts = append(maps, one), append(shifts, &off)
	part := 0.0
	switch {
	case m.by == byPDM, m.by == byCOPFT && k == 1:
		part = 1
	case m.by == byPRODIGY:
		part = math.Pow(float64(p.steps-k+1)/float64(p.steps), m.power)
	}
	if part > 0 {
		h, hb := p.onto(identity(n))
		var some mat.VecDense
		some.ScaleVec(part, hb)
		maps = append(maps, plus(identity(n), part, plus(h, -1, identity(n))))
		shifts = append(shifts, &some)
	}
	return maps, shifts, variance
}

// law returns the law of the samples of a method.
func (p *problem) law(m method, eta float64) *affine {
	law := &affine{mat.NewVecDense(p.n, nil), identity(p.n)}
	for k := p.steps; k > 0; k-- {
		maps, shifts, variance := p.step(m, eta, k)
		for i, g := range maps {
			law.apply(g, shifts[i], variance)
			variance = 0
		}
	}
	return law
}
