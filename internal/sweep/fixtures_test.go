package sweep

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// withoutBits lets the chains of a block move one by one for the rest of a test.
func withoutBits(t *testing.T) {
	bits, rows := FewestBits, FewestRows
	FewestBits, FewestRows = sampler.BlockSize+1, sampler.BlockSize+1
	t.Cleanup(func() { FewestBits, FewestRows = bits, rows })
}

// Gibbs and Metropolis are the methods of package mcmc, as tests of their engines want them.
type Gibbs struct{ Scan Scan }

// Name implements [sampler.Named]. It returns "gibbs".
func (Gibbs) Name() string { return "gibbs" }

// Kernel implements [sampler.Method].
func (g Gibbs) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, _, err := Request{Method: "Gibbs", Scan: g.Scan, Model: m, Chains: chains}.Kernel()
	return k, err
}

// Metropolis is as [Gibbs]; Automatic is Random.
type Metropolis struct {
	Updates int
	Scan    Scan
}

// Name implements [sampler.Named]. It returns "metropolis".
func (Metropolis) Name() string { return "metropolis" }

// Kernel implements [sampler.Method].
func (m Metropolis) Kernel(_ context.Context, model energy.Model, chains int) (sampler.Kernel, error) {
	if m.Scan == Automatic {
		m.Scan = Random
	}
	k, _, err := Request{Method: "Metropolis", Proposes: true, Scan: m.Scan, Updates: m.Updates, Model: model, Chains: chains}.Kernel()
	return k, err
}
