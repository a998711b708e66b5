package fit

import (
	"context"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
)

// Objective is a recipe for the gradient of the loss: [Persistent], [Contrastive],
// [Pseudo] or [Exact], or one of your own.
type Objective interface {
	// Bind returns the gradient for a model, its data (rows of sites) and the chains of the
	// fit; chains is nil if the fit has none.
	Bind(ctx context.Context, p energy.Parametric, data []int32, chains dual.Primal[int32]) (Phase, error)
}

// Phase computes the gradient of an [Objective]; it belongs to one fit.
type Phase interface {
	// Gradient adds to g the gradient of the loss per row of data at the present
	// parameters, estimated from the given rows. step counts from 0, and seed is the seed
	// of the fit. If ctx ends, Gradient returns its error; the next call for the same step,
	// with g as before, continues where this one stopped.
	Gradient(ctx context.Context, g []float64, rows []int32, step int, seed uint64) error

	// Settle is called after the last step of a Run and by UseAverage, once the model has
	// the new parameters.
	Settle() error

	// AppendBinary appends the state that the phase keeps between steps, and
	// UnmarshalBinary restores it.
	AppendBinary(b []byte) ([]byte, error)
	UnmarshalBinary(b []byte) error
}

// Conditioned is implemented by models with a closed-form gradient of their
// pseudo-likelihood, which [Pseudo] uses. For other models Pseudo evaluates the neighbours
// of every state.
type Conditioned interface {
	energy.Parametric

	// PseudoGradient adds Σ_s Σ_i ∂/∂θ −log p(x_i | the other sites) to g, for the states
	// x_s, and returns the sum Σ_s Σ_i −log p(x_i | the other sites).
	PseudoGradient(g []float64, x []int32) float64
}

// Exponential is implemented by models whose energies are linear in θ, so the moments of
// the data never change.
type Exponential interface {
	energy.Parametric

	// Exponential reports that ParamGradient does not depend on θ.
	Exponential() bool
}

// moments are the moments of rows of data.
type moments struct {
	p     energy.Parametric
	sites int
	all   []float64 // of all data, if they never change; else nil
	rows  int       // of all data
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

// add adds the mean of ∂E/∂θ over the rows to g.
func (m *moments) add(g []float64, rows []int32) {
	if n := len(rows) / m.sites; m.all != nil && n == m.rows {
		for k, v := range m.all {
			g[k] += v / float64(n)
		}
		return
	}
	m.mean(g, rows, 1)
}

// mean adds sign times the mean of ∂E/∂θ over the states to g.
func (m *moments) mean(g []float64, x []int32, sign float64) {
	sum := make([]float64, len(g))
	m.p.ParamGradient(sum, x, nil)
	c := sign / float64(len(x)/m.sites)
	for k, v := range sum {
		g[k] += float64(c * v)
	}
}

// stateless is embedded in phases that keep no state.
type stateless struct{}

func (stateless) Settle() error                         { return nil }
func (stateless) AppendBinary(b []byte) ([]byte, error) { return b, nil }
