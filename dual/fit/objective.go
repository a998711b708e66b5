package fit

import (
	"context"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
)

// Objective defines the loss and how its gradient is estimated. In general the loss is the mean
// negative log-likelihood of the data. [Persistent], [Contrastive], [Pseudo] and [Exact] are
// objectives. You can also write your own.
type Objective interface {
	// Bind returns the [Phase] that computes gradients for the model p, its data (rows of one level
	// per site) and the chains of the fit. The argument chains is nil if the fit has none.
	Bind(ctx context.Context, p energy.Parametric, data []int32, chains dual.Primal[int32]) (Phase, error)
}

// Phase computes the gradients of an [Objective] for one fit.
type Phase interface {
	// Gradient adds to g the gradient of the loss per row of data, without penalties, at the
	// present parameters. It estimates the gradient from the given rows. The argument step is the
	// index of the step, counted from 0, and seed is the seed of the fit. If ctx ends, Gradient
	// returns the error of ctx. A later call for the same step, with the same initial g, continues
	// where the interrupted call stopped.
	Gradient(ctx context.Context, g []float64, rows []int32, step int, seed uint64) error

	// Settle is called after the last step of a Run and by UseAverage, when the model already
	// has the new parameters. It may, for instance, reset the chains.
	Settle() error

	// AppendBinary appends to b the state that the phase keeps between steps. UnmarshalBinary
	// restores this state.
	AppendBinary(b []byte) ([]byte, error)
	UnmarshalBinary(b []byte) error
}

// Conditioned is implemented by models that can compute the gradient of their pseudo-likelihood in
// closed form, for [Pseudo]. For other models, Pseudo evaluates all states that differ from a row
// of data at one site.
type Conditioned interface {
	energy.Parametric

	// PseudoGradient returns the negative log-pseudo-likelihood of the states in x,
	//
	//	Σ_s Σ_i −log p(x_i | the other sites),
	//
	// summed over states s and sites i. It adds to g the gradient of this sum with respect to θ.
	PseudoGradient(g []float64, x []int32) float64
}

// Exponential is implemented by models whose energies may be linear in θ. If they are, the moments
// of the data are constant.
type Exponential interface {
	energy.Parametric

	// Exponential reports whether the gradient of the energy with respect to θ (the result of
	// ParamGradient) is the same at every θ.
	Exponential() bool
}

// Factored is implemented by models whose energy at the present θ has factors (energy.Factored).
// [Exact] sums over the states of such a model by variable elimination, if the graph of the
// factors has a low tree-width.
type Factored interface {
	energy.Parametric

	// Present returns a model with the energy at the present parameters θ. It is valid until the
	// next call of SetParams. The sites on which each factor depends do not change with θ.
	Present() energy.Factored
}

// moments computes means of ∂E/∂θ over rows of data.
type moments struct {
	p     energy.Parametric
	sites int
	all   []float64 // sum of ∂E/∂θ over all data if it is constant; nil otherwise
	rows  int       // number of rows of all data
}

func newMoments(p energy.Parametric, data []int32) *moments {
	m := &moments{p: p}
	m.sites, _ = p.Shape()
	m.rows = len(data) / m.sites
	if e, ok := energy.As[Exponential](p); ok && e.Exponential() {
		m.all = make([]float64, len(p.Params()))
		p.ParamGradient(m.all, data, nil)
	}
	return m
}

// add adds to g the mean of ∂E/∂θ over the rows.
func (m *moments) add(g []float64, rows []int32) {
	if n := len(rows) / m.sites; m.all != nil && n == m.rows {
		for k, v := range m.all {
			g[k] += v / float64(n)
		}
		return
	}
	m.mean(g, rows, 1)
}

// mean adds to g the mean of ∂E/∂θ over the states x, multiplied by sign.
func (m *moments) mean(g []float64, x []int32, sign float64) {
	sum := make([]float64, len(g))
	m.p.ParamGradient(sum, x, nil)
	c := sign / float64(len(x)/m.sites)
	for k, v := range sum {
		g[k] += float64(c * v)
	}
}

// stateless implements the methods of a [Phase] that keeps no state; phases embed it.
type stateless struct{}

func (stateless) Settle() error                         { return nil }
func (stateless) AppendBinary(b []byte) ([]byte, error) { return b, nil }
