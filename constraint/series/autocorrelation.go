package series

// autocorrelation is a pair of bounds, lower ≤ r ≤ upper, on the autocorrelation
//
//	r = Σ_t u_t·u_{t+lag} / Σ_t u_t²,  u_t = x_t − mean(x),
//
// of one channel. This is the usual (biased) estimate, whose absolute value is at most 1. It
// does not depend on the shift and scale of x. A constant channel has r = 0.
type autocorrelation struct {
	channel, channels, length, lag int
	lower, upper                   float64
}

func (a autocorrelation) index(t int) int { return t*a.channels + a.channel }

// value returns r, the mean and Σ u² of the series x.
func (a autocorrelation) value(x func(t int) float64) (r, mean, square float64) {
	for t := range a.length {
		mean += x(t)
	}
	mean /= float64(a.length)
	cross := 0.0
	for t := range a.length {
		u := x(t) - mean
		square += float64(u * u)
		if t+a.lag < a.length {
			cross += float64(u * (x(t+a.lag) - mean))
		}
	}
	if !(square > 0) {
		return 0, mean, 0
	}
	return cross / square, mean, square
}

// eachSlope calls f with ∂r/∂x_t = (∂cross − r·∂square)/square for every t. Differentiating
// through the mean subtracts the average of the first term. The second term has average 0.
func (a autocorrelation) eachSlope(x func(t int) float64, f func(t int, slope float64)) {
	r, mean, square := a.value(x)
	if square == 0 {
		return
	}
	cross := func(t int) float64 {
		s := 0.0
		if t >= a.lag {
			s += x(t-a.lag) - mean
		}
		if t+a.lag < a.length {
			s += x(t+a.lag) - mean
		}
		return s
	}
	average := 0.0
	for t := range a.length {
		average += cross(t)
	}
	average /= float64(a.length)
	for t := range a.length {
		f(t, (cross(t)-average-float64(2*r*(x(t)-mean)))/square)
	}
}

// curves is a list of autocorrelations as inequalities. Inequality 2j is r_j ≤ upper and 2j+1
// is lower ≤ r_j.
type curves []autocorrelation

func (c curves) Len() int { return 2 * len(c) }

// Eval stores in g the values of all inequalities at the standardised series z. It implements
// [constraint.Curved].
func (c curves) Eval(g, z []float64) { eval(c, g, z) }

// Gradient stores in dst the gradient of inequality j at the standardised series z. It implements
// [constraint.Curved].
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
