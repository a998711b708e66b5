package sampler

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// tokens is the system of a method on a model.
type tokens struct {
	model         energy.Model
	method        Method
	sites, levels int
}

func newTokens(m energy.Model, method Method) (*tokens, error) {
	if check.Nil(method) {
		return nil, fmt.Errorf("sampler: NewChains: method = nil")
	}
	sites, levels, err := check.Shape("sampler: NewChains", m, 1, BlockSize)
	if err != nil {
		return nil, err
	}
	return &tokens{model: m, method: method, sites: sites, levels: levels}, nil
}

func (t *tokens) Name() string { return "sampler" }

func (t *tokens) String() string { return fingerprint.Name(t.method) }

func (t *tokens) Sites() int { return t.sites }

func (t *tokens) Kernel(ctx context.Context, chains int) (Transition[int32], error) {
	return t.method.Kernel(ctx, t.model, chains)
}

// Start draws every level uniformly, then repairs states without probability
// where the model can, and lets kernels that cannot start everywhere choose.
func (t *tokens) Start(x []int32, r []Stream, kernel Transition[int32]) error {
	for i := range r {
		for j := range t.sites {
			x[i*t.sites+j] = int32(r[i].IntN(t.levels))
		}
	}
	if s, ok := energy.As[energy.Supported](t.model); ok {
		s.Repair(x)
	}
	k, ok := As[Starter](kernel)
	if !ok {
		return nil
	}
	for i := range r {
		if err := k.Start(x[i*t.sites:(i+1)*t.sites], &r[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tokens) Check(x []int32, first int) error {
	for i, l := range x {
		if l < 0 || int(l) >= t.levels {
			return fmt.Errorf("level of site %d of chain %d = %d, want 0 … %d", i%t.sites, first+i/t.sites, l, t.levels-1)
		}
	}
	return nil
}

func (t *tokens) Energy(e []float64, x []int32) { t.model.Energy(e, x) }
