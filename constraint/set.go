package constraint

import "fmt"

// Set is a system of inequalities g_j(x) ≤ 0 on token sequences. The values g_j are signed: a
// negative g_j(x) means that x satisfies the inequality by the margin −g_j(x). Package
// constrainttest checks implementations.
type Set interface {
	// Len returns the number of inequalities.
	Len() int

	// Violation evaluates all inequalities on len(g)/Len() sequences of equal length, stored in x
	// one after the other. It stores g_j of sequence s in g[s·Len() + j]. It panics if the lengths
	// do not divide evenly.
	Violation(g []float64, x []int32)
}

// Smooth is a system of inequalities g_j(v) ≤ 0 with derivatives, evaluated on one sample v. A
// sample is either a row-major table of sites × levels probabilities, or a series with one real
// number per site.
type Smooth interface {
	// Len returns the number of inequalities.
	Len() int

	// Value stores in g the values of all inequalities at the sample v, g[j] = g_j(v). It panics
	// unless len(g) = Len().
	Value(g []float64, v []float32)

	// Pull adds to dst the vector–Jacobian product wᵀ·∂g/∂v, evaluated at the sample v:
	//
	//	dst[i] += Σ_j w_j·∂g_j/∂v_i.
	//
	// This is the gradient of Σ_j w_j·g_j, as in reverse-mode differentiation. Pull panics unless
	// len(dst) = len(v) and len(w) = Len().
	Pull(dst, v []float32, w []float64)
}

// eachState splits g into rows of n inequalities and x into as many states, and calls f for
// each pair. It panics if the lengths do not divide evenly.
func eachState(n int, g []float64, x []int32, f func(g []float64, x []int32)) {
	if n == 0 {
		if len(g) != 0 {
			panic(fmt.Sprintf("constraint: len(g) = %d, want 0", len(g)))
		}
		return
	}
	if len(g)%n != 0 {
		panic(fmt.Sprintf("constraint: len(g) = %d, want a multiple of %d", len(g), n))
	}
	states := len(g) / n
	if states == 0 {
		return
	}
	if len(x)%states != 0 {
		panic(fmt.Sprintf("constraint: len(x) = %d, want a multiple of %d", len(x), states))
	}
	sites := len(x) / states
	for s := range states {
		f(g[s*n:(s+1)*n], x[s*sites:(s+1)*sites])
	}
}

// Curved is a system of smooth inequalities g_j(z) ≤ 0, in general nonlinear, on a series z of
// float64 numbers. Use it where the float32 precision of a [Smooth] is too low. Methods may be
// called from several goroutines at once.
type Curved interface {
	// Len returns the number of inequalities.
	Len() int

	// Eval stores in g the values of all inequalities at the series z, g[j] = g_j(z).
	Eval(g, z []float64)

	// Gradient stores in dst the gradient of inequality j at the series z, dst[i] = ∂g_j/∂z_i.
	Gradient(dst []float64, j int, z []float64)
}
