package laws

import (
	"fmt"
	"math"
)

// Model is a model whose states can be enumerated. Every energy.Model implements it.
type Model interface {
	Shape() (sites, levels int)
	Energy(e []float64, x []int32)
}

// batch is the number of states per call of Energy. It limits the number of calls and the
// memory, and does not affect results.
const batch = 1024

// Distribution enumerates m. It returns p[k] = exp(−E(x))/Z for the state x with index k, and logZ
// = log Σ_x exp(−E(x)). It panics if an energy is NaN or −Inf, or if all energies are +Inf.
func Distribution(m Model) (p []float64, logZ float64) {
	p = Energies(m)
	for k, e := range p {
		if math.IsNaN(e) || math.IsInf(e, -1) {
			panic(fmt.Sprintf("laws: energy of state %d = %v, want > −Inf", k, e))
		}
		p[k] = -e
	}
	logZ = Normalize(p)
	return p, logZ
}

// Energies returns the energy of every state, by index.
func Energies(m Model) []float64 {
	sites, levels := m.Shape()
	n := Size(sites, levels)
	e := make([]float64, n)
	x := make([]int32, min(n, batch)*sites)
	for lo := 0; lo < n; lo += batch {
		b := min(batch, n-lo)
		for k := range b {
			State(x[k*sites:(k+1)*sites], lo+k, levels)
		}
		m.Energy(e[lo:lo+b], x[:b*sites])
	}
	return e
}

// Normalize replaces log-weights by probabilities and returns the logarithm of the sum of the
// weights. It panics if all log-weights are −Inf.
func Normalize(w []float64) (logZ float64) {
	top := math.Inf(-1)
	for _, v := range w {
		top = math.Max(top, v)
	}
	if math.IsInf(top, 0) || math.IsNaN(top) {
		panic(fmt.Sprintf("laws: largest log-weight = %v, want a finite one", top))
	}
	var z Accumulator
	for k, v := range w {
		w[k] = math.Exp(v - top)
		z.Add(w[k])
	}
	total := z.Value()
	for k := range w {
		w[k] /= total
	}
	return top + math.Log(total)
}

// Expect returns Σ_x p(x) f(x) over all states, where len(p) = levels^sites. The function f must
// not keep x.
func Expect(p []float64, sites, levels int, f func(x []int32) float64) float64 {
	if n := Size(sites, levels); len(p) != n {
		panic(fmt.Sprintf("laws: len(p) = %d, want %d", len(p), n))
	}
	x := make([]int32, sites)
	var s Accumulator
	for k, pk := range p {
		if pk == 0 {
			continue
		}
		State(x, k, levels)
		s.Add(pk * f(x))
	}
	return s.Value()
}

// Sum returns the compensated sum Σ v_i.
func Sum(v []float64) float64 {
	var s Accumulator
	for _, a := range v {
		s.Add(a)
	}
	return s.Value()
}

// Accumulator computes a compensated sum (Neumaier 1974). Its error is about one rounding of the
// sum if Σ|terms| < 2⁵³·|Σ terms|.
type Accumulator struct{ s, c float64 }

// Add adds v to the sum.
func (a *Accumulator) Add(v float64) {
	t := a.s + v
	if math.Abs(a.s) >= math.Abs(v) {
		a.c += (a.s - t) + v
	} else {
		a.c += (v - t) + a.s
	}
	a.s = t
}

// Value returns the compensated sum of all numbers added so far.
func (a *Accumulator) Value() float64 { return a.s + a.c }
