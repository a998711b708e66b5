package series

// curves are autocorrelations; inequality 2j is r_j ≤ upper, 2j+1 is
// lower ≤ r_j.
type curves []autocorrelation

func (c curves) Len() int { return 2 * len(c) }

// Eval implements [constraint.Curved].
func (c curves) Eval(g, z []float64) { eval(c, g, z) }

// Gradient implements [constraint.Curved].
func (c curves) Gradient(dst []float64, j int, z []float64) {
	clear(dst)
	a := c[j/2]
	a.eachSlope(func(t int) float64 { return z[a.index(t)] }, func(t int, slope float64) {
		dst[a.index(t)] = sign(j) * slope
	})
}

func sign(j int) float64 { return float64(1 - 2*(j%2)) }

func eval[T float32 | float64](c curves, g []float64, z []T) {
	for k, a := range c {
		r, _, _ := a.value(func(t int) float64 { return float64(z[a.index(t)]) })
		g[2*k], g[2*k+1] = r-a.upper, a.lower-r
	}
}
