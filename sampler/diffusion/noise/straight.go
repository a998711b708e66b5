package noise

import "math"

// Straight is the schedule of flow matching on straight paths (Lipman, Chen,
// Ben-Hamu, Nickel and Le 2023; Liu, Gong and Liu 2023): x_t in units in which signal
// and noise add up to variance 1 is z_t = (1−t)·x_0 + t·ε over √((1−t)²+t²),
//
//	ᾱ(t) = (1−t)²/((1−t)² + t²).
//
// With it an even grid of DDIM steps (η = 0) is Euler's method for dz/dt = E[ε − x_0 | z].
// ᾱ(1) = 0: the first state is noise and nothing else. Denoisers that divide by √ᾱ,
// such as energy.NoisePredictor, cannot answer there.
type Straight struct{}

// Alpha implements [Schedule].
func (Straight) Alpha(t float64) float64 {
	t = unit(t)
	a, b := float64((1-t)*(1-t)), float64(t*t)
	return a / (a + b)
}

// Time implements [Schedule].
func (Straight) Time(alpha float64) float64 {
	alpha = unit(alpha)
	noise := math.Sqrt(1 - alpha)
	return noise / (noise + math.Sqrt(alpha))
}
