package mcmc

import "github.com/gibbsite-go/gibbsite/energy"

// Proposing is a model with a field that is good enough for proposals and cheaper than
// that of [energy.Incremental]. [DMALA] uses it: the exact energy accepts, so any field
// leaves the distribution invariant. An RBM is Proposing, and so is an energy.Affine of an
// RBM.
type Proposing = interface {
	energy.Incremental

	// ProposalFrom is FieldFrom, except that h may be further from the differences of
	// energies. Like that of FieldFrom, h must be a function of y alone, so that the
	// reverse move sees the same h.
	ProposalFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)
}
