package lagrange

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// saddle is a constraint that is not linear: products of neighbouring
// probabilities, and their squares.
func saddle(sites, levels int, threshold float64) constraint.Score {
	weight := func(i, a, b int) float64 { return math.Sin(float64(1 + i + 3*a + 7*b)) }
	return constraint.Score{
		F: func(v []float32) float64 {
			sum := 0.0
			for i := range sites - 1 {
				for a := range levels {
					p := float64(v[i*levels+a])
					sum += p * p / 2
					for b := range levels {
						sum += weight(i, a, b) * p * float64(v[(i+1)*levels+b])
					}
				}
			}
			return sum
		},
		Gradient: func(dst, v []float32, w float64) {
			for i := range sites - 1 {
				for a := range levels {
					p := float64(v[i*levels+a])
					dst[i*levels+a] += float32(w * p)
					for b := range levels {
						q := float64(v[(i+1)*levels+b])
						dst[i*levels+a] += float32(w * weight(i, a, b) * q)
						dst[(i+1)*levels+b] += float32(w * weight(i, a, b) * p)
					}
				}
			}
		},
		Threshold: threshold,
	}
}

// valueOf is L(z) by the book, in float64.
func valueOf(l *lagrangian, z []float64) float64 {
	k := l.levels
	softmax := func(f func(i int) float64, row int) []float64 {
		p, total := make([]float64, k), 0.0
		for i := range p {
			p[i] = math.Exp(f(row*k + i))
			total += p[i]
		}
		for i := range p {
			p[i] /= total
		}
		return p
	}
	sum := 0.0
	phi := make([]float32, len(z))
	for row := range len(z) / k {
		y := softmax(func(i int) float64 { return z[i] }, row)
		for i, p := range y {
			if x := float64(l.x[row*k+i]); x > 0 {
				sum += x * math.Log(x/p)
			}
		}
		for i, p := range softmax(func(i int) float64 { return (z[i] + float64(l.noise[i])) / float64(l.theta) }, row) {
			phi[row*k+i] = float32(p)
		}
	}
	g := make([]float64, l.smooth.Len())
	l.smooth.Value(g, phi)
	for j := range g {
		d := max(0, g[j]+l.raise[j])
		sum += l.lambda[j]*d + l.mu/2*d*d
	}
	return sum
}

// The gradient is that of the function, by central differences. ϕ is rounded to
// float32, which leaves an error of about 2⁻²⁴·‖G‖/h in the difference, and the
// difference itself errs by O(h²).
func TestLagrangianGradient(t *testing.T) {
	const sites, levels, h = 3, 4, 1e-2
	rng := rand.New(rand.NewPCG(7, 1))
	for trial := range 40 {
		a, err := Projector{Constraint: saddle(sites, levels, -4), Temperature: []float64{.3, .5, 1, 2}[trial%4]}.Compile(t.Context(), sites, levels)
		assert.NoError(t, err)
		s := newSearch(&a.target)
		v := make([]float32, sites*levels)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			s.z[i] = float32(rng.NormFloat64())
		}
		v[5], s.z[5] = float32(math.Inf(-1)), float32(math.Inf(-1)) // a mask
		assert.NoError(t, s.load(v))
		s.draw(rng)
		l := &s.loss
		l.lambda[0], l.mu, l.raise[0] = 2*rng.Float64(), 3*rng.Float64(), rng.Float64()
		if trial%5 == 0 {
			l.raise[0] = -100 // satisfied: KL alone
		}
		l.gradient(s.z)
		z := make([]float64, len(v))
		for i := range z {
			z[i] = float64(s.z[i])
		}
		for i := range z {
			if math.IsInf(z[i], -1) {
				assert.Zero(t, l.grad[i], "a masked logit")
				continue
			}
			at := z[i]
			z[i] = at + h
			up := valueOf(l, z)
			z[i] = at - h
			down := valueOf(l, z)
			z[i] = at
			scale := 1 + (l.lambda[0]+l.mu*max(0, l.g[0]))*(1+1/float64(l.theta*l.theta*l.theta))
			assert.InDelta(t, (up-down)/(2*h), l.grad[i], 1e-3*scale, "trial %d, entry %d", trial, i)
		}
	}
}

// That test distinguishes a gradient without the factor 1/θ from the right one.
func TestLagrangianGradientOfTheWrongTemperature(t *testing.T) {
	const sites, levels, h = 2, 3, 1e-2
	rng := rand.New(rand.NewPCG(3, 3))
	a, err := Projector{Constraint: saddle(sites, levels, -4), Temperature: .5}.Compile(t.Context(), sites, levels)
	assert.NoError(t, err)
	s := newSearch(&a.target)
	assert.NoError(t, s.load(make([]float32, sites*levels)))
	s.draw(rng)
	s.loss.lambda[0], s.loss.mu = 3, 1
	s.loss.gradient(s.z)
	worst := 0.0
	z := make([]float64, len(s.z))
	for i := range z {
		z[i] = h
		up := valueOf(&s.loss, z)
		z[i] = -h
		down := valueOf(&s.loss, z)
		z[i] = 0
		pull := float64(s.loss.grad[i] - s.loss.y[i] + s.loss.x[i])
		wrong := float64(s.loss.grad[i]) - pull/2
		worst = max(worst, math.Abs((up-down)/(2*h)-wrong))
	}
	assert.Greater(t, worst, .1)
}
