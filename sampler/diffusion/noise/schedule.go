package noise

// Schedule says how much of the signal is left at a diffusion time: for tokens
// the probability α that one is intact, for reals ᾱ.
type Schedule interface {
	// Alpha returns α(t) for t in [0,1]: non-increasing, in [0,1], exactly 1 at
	// t = 0 whatever the formula says there — otherwise masks would survive
	// the last step.
	Alpha(t float64) float64

	// Time returns the t in [0,1] with Alpha(t) = alpha, 0 for an alpha that
	// is reached only there and 1 for one that is not reached.
	Time(alpha float64) float64
}
