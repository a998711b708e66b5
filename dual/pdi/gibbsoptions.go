package pdi

// GibbsOptions are the settings of [GibbsScore]. The zero value is the
// estimator of the paper.
type GibbsOptions struct {
	Candidates int // K; 0 means 64

	// Center and Spread, if not nil, are the mean and the variances of a
	// Gaussian that resembles the base distribution exp(−f0/β) (one entry per
	// coordinate, or one for all). Terms that are continuous.Linear tilt it
	// with λ. Candidates then come from its posterior given x_t, and weights
	// correct for that: the estimate has the same limit and, if the guess is
	// fair, more candidates that count.
	Center, Spread []float64

	// Antithetic draws candidates in pairs ±ε, which cancels odd terms.
	Antithetic bool

	// Mean estimates the posterior mean by Σ w_k y_k, without gradients,
	// instead of through the score.
	Mean bool

	// Control mixes the two forms, whose difference has mean zero (Stein's
	// identity): the mean form plus c times the difference as a control
	// variate, c by least squares over the candidates. On a Gaussian target
	// it has no variance at all, however few candidates count. On a mixture
	// whose weights have collapsed it need not help: compare by
	// BenchmarkConstrainedMixture, where the paper's form does best.
	Control bool

	// Unscaled takes candidates x_t + σε_k, as the authors' code does. It is
	// not a consistent estimate; it is here for comparison.
	Unscaled bool

	// MinAlpha bounds α from below in divisions; 0 means 1e−3.
	MinAlpha float64
}
