package constraint

// Curved is a system of smooth inequalities g_j(z) ≤ 0 on a series in float64, for
// consumers that need more digits than a [Smooth] has. Methods are called from several
// goroutines at once.
type Curved interface {
	// Len returns the number of inequalities.
	Len() int

	// Eval stores g[j] = g_j(z).
	Eval(g, z []float64)

	// Gradient stores dst[i] = ∂g_j/∂z_i.
	Gradient(dst []float64, j int, z []float64)
}
