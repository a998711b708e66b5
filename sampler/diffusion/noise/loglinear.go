package noise

// LogLinear is α(t) = 1 − (1−ε)t, the schedule of masked diffusion (Sahoo et al.
// 2024), in which tokens are unmasked at a constant rate. The zero value has
// ε = 1e-3.
type LogLinear struct {
	// Epsilon is α(1). 0 means 1e-3, a negative value 0.
	Epsilon float64
}

// Alpha implements [Schedule].
func (c LogLinear) Alpha(t float64) float64 { return 1 - float64((1-epsilon(c.Epsilon))*t) }

// Time implements [Schedule].
func (c LogLinear) Time(alpha float64) float64 { return unit((1 - alpha) / (1 - epsilon(c.Epsilon))) }

// Check implements [Checked].
func (c LogLinear) Check() error { return checkEpsilon("LogLinear", c.Epsilon) }
