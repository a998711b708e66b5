package energy

// Shaped is what has a number of sites and of levels per site: a [Model], a [Denoiser].
// Whoever is given anything, such as a name of a run, asks for it to tell languages
// apart by their content.
type Shaped interface{ Shape() (sites, levels int) }

var _ Shaped = Model(nil)

// Model is an unnormalised log-density over {0,…,levels−1}^sites,
// p(x) ∝ exp(−E(x)).
//
// A model of your own needs these two methods and nothing else; see [Func] for
// the version in one line. Implementations must be safe for concurrent use.
type Model interface {
	// Shape returns the number of sites and of levels per site, both ≥ 1.
	Shape() (sites, levels int)

	// Energy stores in e[s] the energy in nats of the state
	// x[s·sites : (s+1)·sites], for every s. It reads x and keeps neither
	// slice. It panics unless len(x) = len(e)·sites.
	Energy(e []float64, x []int32)
}
