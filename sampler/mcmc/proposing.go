package mcmc

import "github.com/gibbsite-go/gibbsite/energy"

// Proposing models have a field that is good enough to propose by and cheaper than
// that of [energy.Incremental]. [DMALA] asks for it: what accepts is the energy, so that
// every field leaves the distribution invariant. An RBM is one, and so is an energy.Affine of
// one.
type Proposing = interface {
	energy.Incremental

	// ProposalFrom is FieldFrom but for h, which may be further from the differences
	// of energies. It is a function of y alone, like that of FieldFrom: the reverse of
	// a move has to find the h that it was proposed by.
	ProposalFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)
}
