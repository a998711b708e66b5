package twisted

import (
	"fmt"
	"math"
	"runtime"

	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

const (
	defaultSteps     = 200 // where discretisation is below the sampling error of 10 000 samples
	defaultParticles = 64
	defaultThreshold = 0.5 // of the particles, the usual choice
	defaultSweeps    = 2   // a third changes log Ẑ by less than the particles do
	defaultProbes    = 4
)

// Config says how a [Sampler] runs. The zero value is the recommended setting.
type Config struct {
	// Schedule is ᾱ of x_t = √ᾱ·x_0 + √(1−ᾱ)·ε; nil means noise.LinearBeta{}. Particles begin with
	// pure noise, so ᾱ(1) should be far below 1e-3.
	Schedule noise.Schedule

	Steps     int // reverse steps, on an even grid; 0 means 200
	Particles int // particles of a cloud; 0 means 64

	// PerCloud is how many samples are taken of each cloud, 1 … Particles; 0
	// means 1. More cost nothing, but those of one cloud depend on each other.
	PerCloud int

	// Threshold is the effective number of particles, as a share of all, below
	// which they are resampled; 0 means ½.
	Threshold float64

	// Width makes equations, at their middle, of two-sided inequalities that are
	// no wider than this. Each narrow row that stays an inequality loses some
	// particles in the last step.
	Width float64

	// Full asks for the covariance in all directions, not only along the rows: a
	// prediction then costs as much as with as many rows as sites, and fewer steps
	// do.
	Full bool

	Sweeps int // of expectation propagation over the inequalities, per prediction; 0 means 2

	// Probes is how many random directions the trace of the covariance is
	// estimated with for a model that is no [Posterior]; 0 means 4.
	Probes int

	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results
	Seed    uint64 // cloud c has the streams (Seed, c·Particles …)
	First   int    // number of the first cloud: parts of a run give the bits of the whole
	Meta    any    // conditioning for the denoiser, passed through

	// Progress, if not nil, is called from the goroutine of Sample after every
	// step of a cloud with the number of steps done and their total.
	Progress func(done, total int)
}

// fill checks the configuration and replaces zeros by defaults.
func (c *Config) fill() error {
	for _, f := range []struct {
		name  string
		value *int
		usual int
	}{
		{"Steps", &c.Steps, defaultSteps}, {"Particles", &c.Particles, defaultParticles}, {"PerCloud", &c.PerCloud, 1},
		{"Sweeps", &c.Sweeps, defaultSweeps}, {"Probes", &c.Probes, defaultProbes}, {"Workers", &c.Workers, runtime.GOMAXPROCS(0)},
	} {
		if *f.value < 0 {
			return fmt.Errorf("twisted: Config.%s = %d, want ≥ 0", f.name, *f.value)
		}
		if *f.value == 0 {
			*f.value = f.usual
		}
	}
	if c.Threshold == 0 {
		c.Threshold = defaultThreshold
	}
	switch {
	case c.PerCloud > c.Particles:
		return fmt.Errorf("twisted: Config.PerCloud = %d, want ≤ Particles = %d", c.PerCloud, c.Particles)
	case !(c.Threshold > 0 && c.Threshold <= 1):
		return fmt.Errorf("twisted: Config.Threshold = %v, want 0 … 1", c.Threshold)
	case !(c.Width >= 0) || math.IsInf(c.Width, 1):
		return fmt.Errorf("twisted: Config.Width = %v, want finite and ≥ 0", c.Width)
	case c.First < 0 || c.First > math.MaxInt/c.Particles/2:
		return fmt.Errorf("twisted: Config.First = %d, want 0 … %d", c.First, math.MaxInt/c.Particles/2)
	}
	if c.Schedule == nil {
		c.Schedule = noise.LinearBeta{}
	}
	var err error
	c.Schedule, err = noise.Resolve("twisted: Config", c.Schedule)
	return err
}
