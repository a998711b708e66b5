package energy

// Parametric models have real parameters θ, by which the energy is
// differentiable, and which a learner such as package dual/fit moves.
//
// Models are immutable, because kernels, goroutines and other models share them.
// A Parametric is the exception: a copy that one learner owns. That of a model of
// this module comes from its method Learn (see [Learnable]), so that the model
// that it was made of never changes; one of your own has these three methods.
type Parametric interface {
	Model

	// Params returns a copy of θ.
	Params() []float64

	// ParamGradient adds Σ_s w_s ∂E(x_s)/∂θ_k to g_k, in nats, for the states x
	// and as many weights, which may be 0 or negative; nil means 1 for all.
	// len(g) is that of Params. A state has the same part in the sum whatever
	// its batch, up to rounding.
	ParamGradient(g []float64, x []int32, w []float64)

	// SetParams replaces θ by a copy of theta, of the same length. It must not
	// overlap with any other method, and afterwards every kernel that works on
	// the model must be Reset; states, random streams and step sizes go on. On an
	// error, as for a number that is not finite, nothing changes.
	SetParams(theta []float64) error
}

// Learnable models are immutable and know how to make a copy with parameters of
// its own, which knows of its differences what the model knows.
type Learnable interface {
	Model

	// Learn returns the copy, at the parameters of the model.
	Learn() (Parametric, error)
}
