// Package twisted draws real-valued samples from the distribution of a diffusion, conditioned on
// linear equations and inequalities.
//
// Use a [Sampler] where a projection is not exact. Projections move every prediction to the
// feasible set. That is exact only for Gaussian data and linear equations; if the data have several
// modes, the modes get wrong weights. A Sampler runs particles whose reverse steps are twisted,
// that is, shifted towards the constraint by means of the prediction (Wu, Trippe, Naesseth, Blei,
// Cunningham 2023). It weights the particles to correct the error of the twist, and resamples them.
//
// A Sampler needs the covariance of the clean state given the noisy one, in the directions that the
// equations and inequalities constrain. A [Posterior] model computes this covariance itself. For a
// denoise.Differentiable, such as a network (neural.Reals), the Sampler uses vector–Jacobian
// products. For any other model it uses differences of predictions.
//
// If the distribution is known in closed form, no diffusion is needed:
// [github.com/gibbsite-go/gibbsite/energy/continuous.Mixture.Where] and
// [github.com/gibbsite-go/gibbsite/energy/denoise.Windows.Where] draw from a mixture or a kernel
// density given equations.
//
// # Caveats
//
// Near pure noise the covariance of a network is inaccurate and may be indefinite. It is then made
// definite, and weights correct for the change, which costs particles. A Posterior that combines
// the network with another covariance, such as that of Gaussian data, can cost far less. The series
// program of the examples has one.
//
// The distribution is exact in the limit of many particles and many steps. Usual numbers are 64
// particles and 200 steps; each additional narrow inequality can require more of both. A few dozen
// inequalities are many for this package. Projections (package projection/proximal) handle
// hundreds.
package twisted

import (
	"cmp"
	"fmt"
	"math"
	"runtime"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

const (
	// default of Steps, for which the discretisation error is below the sampling error of 10⁴
	// samples
	defaultSteps     = 200
	defaultParticles = 64
	defaultThreshold = 0.5 // default of Threshold: the usual fraction of the particles

	// fitSweeps is the number of sweeps of expectation propagation over the inequalities for
	// each prediction. A third sweep changes log Ẑ by less than the noise of the particles.
	fitSweeps = 2

	// probes is the number of random directions used to estimate the trace of the covariance
	// for a model that is not a [Posterior].
	probes = 4
)

// Config holds the settings of a [Sampler]. The zero value is the recommended setting. A cloud is a
// set of particles that are weighted and resampled together.
type Config struct {
	// Schedule is the schedule of ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·ε, with ε standard normal; nil means
	// noise.LinearBeta{}. Particles start from pure noise, so ᾱ(1) should be far below 1e-3. Unless
	// the model is a [Posterior], ᾱ(1) must be positive.
	Schedule noise.Schedule

	Steps     int // number of reverse steps, evenly spaced in time; 0 means 200
	Particles int // number of particles per cloud; 0 means 64

	// PerCloud is the number of samples taken from each cloud, 1 … Particles; 0 means 1. A larger
	// number costs nothing, but samples of the same cloud are dependent.
	PerCloud int

	// Threshold determines when particles are resampled; 0 means ½. Let w be their weights. They
	// are resampled if their effective number (Σw)²/Σw² falls below Threshold·Particles.
	Threshold float64

	// Width turns narrow two-sided inequalities into equations. If the bounds of an inequality
	// differ by at most Width, it becomes an equation at their middle. A narrow inequality that
	// is kept loses some particles in the last step.
	Width float64

	// Full requests the covariance of the clean state in all directions, not only along the rows of
	// the [Set]. A prediction then costs as much as for a set with one row per site, but fewer
	// steps suffice.
	Full bool

	Workers int // number of goroutines; 0 means GOMAXPROCS; does not affect results
	// Seed is the seed of the random streams. Particle k of cloud c draws from stream (Seed,
	// c·Particles + k).
	Seed  uint64
	First int // index of the first cloud; a run in parts gives the same bits as a single run
	Meta  any // conditioning, such as a label or a prompt, that is passed to the denoiser

	// Progress, if not nil, is called by Sample, in the goroutine of the call, after every step of
	// a cloud. It receives the number of completed steps and the total.
	Progress func(done, total int)
}

// fill checks the configuration and replaces zero fields by defaults.
func (c *Config) fill() error {
	const prefix = "twisted: Config."
	if err := check.Defaults(prefix,
		check.Number("Steps", &c.Steps, 0, defaultSteps), check.Number("Particles", &c.Particles, 0, defaultParticles),
		check.Number("PerCloud", &c.PerCloud, 0, 1), check.Number("Workers", &c.Workers, 0, runtime.GOMAXPROCS(0)),
	); err != nil {
		return err
	}
	c.Threshold = cmp.Or(c.Threshold, defaultThreshold)
	most := math.MaxInt / c.Particles / 2
	if err := check.Refuse(prefix,
		check.Rule(c.PerCloud > c.Particles, "PerCloud", c.PerCloud, fmt.Sprintf("≤ Particles = %d", c.Particles)),
		check.Rule(!(c.Threshold > 0 && c.Threshold <= 1), "Threshold", c.Threshold, "0 … 1"),
		check.Rule(!(c.Width >= 0) || math.IsInf(c.Width, 1), "Width", c.Width, "finite and ≥ 0"),
		check.Rule(c.First < 0 || c.First > most, "First", c.First, fmt.Sprintf("0 … %d", most)),
	); err != nil {
		return err
	}
	if c.Schedule == nil {
		c.Schedule = noise.LinearBeta{}
	}
	s, err := noise.Resolve("twisted: Config", c.Schedule)
	c.Schedule = s
	return err
}

// Set is a set of series given by linear equations and inequalities. Each of these is a row of the
// set. Use a constraint.Linear, constraint.Slabs or a *series.System without nonlinear (curved)
// inequalities.
type Set interface {
	Split() (linear constraint.Slabs, curved constraint.Curved)
}

// excess is the largest relative error of an equation that follows from others. It allows for the
// rounding of decimal data.
const excess = 1e-9
