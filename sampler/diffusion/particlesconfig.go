package diffusion

const (
	defaultParticles = 64
	defaultThreshold = 0.5 // of the particles, the usual choice

	// particleTables is how many bytes the predictions of the particles of one
	// sample may take before they are made in parts.
	particleTables = 1 << 29
)

// ParticlesConfig says how [Particles] run.
type ParticlesConfig struct {
	// Config as for a diffusion, with a Projector whose projection is a
	// [Drawer] without a memory, unless there is a Potential. Batch counts samples; ProjectStart,
	// ProjectEvery and Decode must be zero.
	Config

	// Particles is the number of particles per sample; 0 means 64.
	Particles int

	// Threshold is the effective number of particles, as a share of all, below
	// which they are resampled; 0 means ½.
	Threshold float64

	// Potential, if not nil, weighs states beside the projection, or instead of
	// it: it stores log G_t(x_t) for states × sites tokens at their times t. Samples
	// then tend to p(x)·1[x ∈ C]·G_0(x): a score that must hold, or be low. At
	// other times G steers and cancels out in the end; the nearer it is to the
	// mean of G_0 given x_t (a learned value), the fewer particles are wasted.
	// −Inf is weight zero. One goroutine calls it, once per step for all states.
	Potential func(logG []float64, x []int32, t []float64)
}
