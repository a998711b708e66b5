package mcmc

import (
	"cmp"
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Scan is the order in which a step of [Gibbs] or [Metropolis] visits the sites.
type Scan int

const (
	// Automatic leaves the order to the method. For Gibbs it is Systematic, unless Chromatic or an
	// order chosen by the kernel is faster for the model.
	Automatic = Scan(sweep.Automatic)

	// Systematic visits sites 0, 1, 2, … in order. It leaves π invariant but is not reversible.
	Systematic = Scan(sweep.Systematic)

	// Random makes as many visits as there are sites, each to a site drawn uniformly. It is
	// reversible and takes about twice as long as Systematic.
	Random = Scan(sweep.Random)

	// Chromatic colours the model's graph greedily, so that sites of one colour do not interact. It
	// visits the sites colour by colour. The model must be energy.Graphical.
	Chromatic = Scan(sweep.Chromatic)
)

// String returns "automatic", "systematic", "random" or "chromatic".
func (s Scan) String() string { return sweep.Scan(s).String() }

// MarshalText returns the name that String returns.
func (s Scan) MarshalText() ([]byte, error) {
	return check.MarshalName("scan", s, Chromatic)
}

// UnmarshalText sets s to the order of the given name. It lets flags and files hold a Scan.
func (s *Scan) UnmarshalText(name []byte) error {
	return check.UnmarshalName("scan", s, Chromatic, name)
}

func (s Scan) check(method string) error {
	return check.If(s < Automatic || s > Chromatic, "mcmc: %s: Scan = %v, want Automatic, Systematic, Random or Chromatic", method, s)
}

// Gibbs redraws one site i at a time from its exact conditional distribution over the levels l
// (heat bath; Geman and Geman 1984),
//
//	p(x_i = l | rest) ∝ exp(−E(x with x_i = l)).
//
// A step is a sweep: it makes as many updates as there are sites. On weakly coupled sparse models
// Gibbs is hard to beat.
//
// Two-level pair models, and Ising and Potts models, have kernels that redraw many sites or chains
// at a time. These kernels round conditional probabilities to multiples of 2⁻⁵³ or finer. Chains of
// one block (see [sampler.Config.Block]) may share their random stream.
type Gibbs struct {
	Scan Scan // order in which a step visits the sites; the zero value, Automatic, is the fastest
}

// Name returns "gibbs"; it implements [sampler.Named].
func (Gibbs) Name() string { return "gibbs" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (g Gibbs) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	_, _, err := check.Shape("mcmc: Gibbs", m, chains, sampler.BlockSize)
	if err = cmp.Or(err, g.Scan.check("Gibbs")); err != nil {
		return nil, err
	}
	return sweeping(sweep.Request{Method: "Gibbs", Scan: sweep.Scan(g.Scan), Model: m, Chains: chains}, true)
}
