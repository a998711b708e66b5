package main

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/dual"
)

// law is the distribution of portfolios with weights x = softmax(z) and the density
//
//	N(z; 0, I) · exp(−(f0(x) + Σ_j λ_j g_j(x))/β),
//	f0 = −μᵀx / mean_i |μ_i|,   g_j = (x_j(Σx)_j − b) / c̄.
//
// Asset j contributes x_j(Σx)_j to the variance xᵀΣx. Its budget is b, and c̄ is the mean
// contribution at equal weights. One pass over Σ computes all g, a second one Σ_j λ_j∇g_j. A law
// implements energy.Scored and dual.Target.
type law struct {
	*market
	gain   []float64 // scaled expected returns μ / mean |μ|
	unit   float64   // scale 1/c̄ of the contributions
	budget float64   // scaled budget b/c̄
	beta   float64
	own    []float64 // variances of the assets, the diagonal of Σ

	lambda  []float64
	scratch sync.Pool
}

// newLaw returns the law at λ = 0 with the budget b = times·c̄.
func newLaw(m *market, times, beta float64) (*law, error) {
	n := len(m.mean)
	l := &law{market: m, budget: times, beta: beta, lambda: make([]float64, n), gain: make([]float64, n)}
	l.scratch.New = func() any { return newSpace(n) }
	level := 0.0
	for _, v := range m.mean {
		level += math.Abs(v) / float64(n)
	}
	if !(level > 0) {
		return nil, fmt.Errorf("mean returns are all 0, want one that is not")
	}
	for i, v := range m.mean {
		l.own = append(l.own, m.cov.variance(i))
		l.gain[i] = v / level
	}
	x, s := slices.Repeat([]float64{1 / float64(n)}, n), make([]float64, n)
	m.cov.times(s, x, nil, nil)
	variance := dot(x, s)
	if !(variance > 0) {
		return nil, fmt.Errorf("variance of equal weights = %v, want > 0", variance)
	}
	l.unit = float64(n) / variance
	return l, nil
}

// space is scratch space for one state.
type space struct {
	x, s, d, t, w []float64
	fit           fitSpace
}

func newSpace(n int) *space {
	p := &space{fit: newFitSpace(n)}
	for _, v := range []*[]float64{&p.x, &p.s, &p.d, &p.t, &p.w} {
		*v = make([]float64, n)
	}
	return p
}

// softmax stores in x the weights softmax(z).
func softmax(x []float64, z []float32) {
	top := slices.Max(z)
	sum := 0.0
	for i, v := range z {
		x[i] = math.Exp(float64(v) - float64(top))
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// Sites returns the number of assets. It implements energy.Real.
func (l *law) Sites() int { return len(l.mean) }

// Len returns the number of budgets, one per asset. It implements dual.Target.
func (l *law) Len() int { return len(l.mean) }

// Rows returns the name, unit and bound of every budget. It implements dual.Described.
func (l *law) Rows() []dual.Row {
	rows := make([]dual.Row, l.Len())
	for j := range rows {
		rows[j] = dual.Row{Unit: "mean parts of the variance", Bound: l.budget}
		if l.names != nil {
			rows[j].Name = l.names[j]
		}
	}
	return rows
}

// Beta returns the temperature β. It implements dual.Target.
func (l *law) Beta() float64 { return l.beta }

// SetLambda sets the multipliers. It implements dual.Target.
func (l *law) SetLambda(lambda []float64) error {
	for j, v := range lambda {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("multiplier %d = %v, want a finite number ≥ 0", j, v)
		}
	}
	copy(l.lambda, lambda)
	return nil
}

// Energy stores in e the energy of every portfolio in z. It implements energy.Real.
func (l *law) Energy(e []float64, z []float32) {
	p := l.scratch.Get().(*space)
	defer l.scratch.Put(p)
	n := len(l.mean)
	for k := range e {
		z := z[k*n : (k+1)*n]
		softmax(p.x, z)
		l.cov.times(p.s, p.x, nil, nil)
		sum, half := 0.0, 0.0
		for j, x := range p.x {
			sum += l.lambda[j]*(l.unit*x*p.s[j]-l.budget) - l.gain[j]*x
			half += float64(z[j]) * float64(z[j])
		}
		e[k] = half/2 + sum/l.beta
	}
}

// Score stores in s the gradient of −energy with respect to the states z. It implements
// energy.Scored.
func (l *law) Score(s, z []float32) {
	p := l.scratch.Get().(*space)
	defer l.scratch.Put(p)
	n := len(l.mean)
	for k := 0; k < len(z); k += n {
		l.pull(p, z[k:k+n], l.lambda, 1)
		for i, v := range z[k : k+n] {
			s[k+i] = float32(-float64(v) - p.t[i]/l.beta)
		}
	}
}

// pull stores in p.t the gradient of part·f0 + Σ_j w_j·g_j with respect to z. With s = Σx it is
//
//	x∘(d − xᵀd),  d = (w∘s + Σ(w∘x))/c̄ − part·μ/mean|μ|.
func (l *law) pull(p *space, z []float32, w []float64, part float64) {
	softmax(p.x, z)
	for j, x := range p.x {
		p.w[j] = w[j] * x
	}
	l.cov.times(p.s, p.x, p.d, p.w)
	mean := 0.0
	for j, x := range p.x {
		p.d[j] = l.unit*(w[j]*p.s[j]+p.d[j]) - part*l.gain[j]
		mean += x * p.d[j]
	}
	for j, x := range p.x {
		p.t[j] = x * (p.d[j] - mean)
	}
}

// Violation stores in g by how much every asset's contribution to the risk exceeds its budget. It
// implements dual.Target.
func (l *law) Violation(g []float64, z []float32) {
	p := l.scratch.Get().(*space)
	defer l.scratch.Put(p)
	n := len(l.mean)
	for k := 0; k < len(z); k += n {
		softmax(p.x, z[k:k+n])
		l.cov.times(p.s, p.x, nil, nil)
		for j, x := range p.x {
			g[k+j] = l.unit*x*p.s[j] - l.budget
		}
	}
}
