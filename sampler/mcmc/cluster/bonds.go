package cluster

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// bonds holds the graph whose edges may be bonds. With J ≥ 0 a bond joins neighbours
// of equal levels, which then change together. With J < 0 it joins neighbours of
// which one has level a and the other level b, and the two levels are swapped (Wang,
// Swendsen and Kotecký 1989). A possible bond exists with probability 1 − e^{−|J|}
// (Fortuin and Kasteleyn 1972).
type bonds struct {
	model         energy.Model
	sites, levels int
	start, adj    []int32
	chance        float64 // 1 − e^{−|J|}
	unequal       bool    // J < 0
	field         []float64
	e             []float64
	price         cost.Memo // of the model, once that was asked for
}

func newBonds(method string, m energy.Model, chains int) (*bonds, error) {
	sites, levels, err := check.Shape("cluster: "+method, m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	matching, ok := energy.As[energy.Matching](m)
	b := apart.New(bonds{model: m, sites: sites, levels: levels, e: apart.Make[float64](chains)})
	coupling := 0.0
	if ok {
		coupling, b.field, ok = matching.Matching()
	}
	if !ok {
		return nil, fmt.Errorf("cluster: %s: model = %T, want an energy.Matching one: the same coupling of all neighbours and the same field at all sites", method, m)
	}
	b.start, b.adj = matching.Graph()
	if b.unequal = coupling < 0; b.unequal {
		coupling = -coupling
	}
	b.chance = -simd.Expm1(-coupling)
	return b, nil
}

// Reset implements [sampler.Transition].
func (b *bonds) Reset(_ sampler.Control, x []int32) error {
	b.model.Energy(b.e, x)
	return sampler.CheckStart(b.e)
}

// pair draws two different levels, every pair equally likely.
func (b *bonds) pair(r *sampler.Stream) (low, high int32) {
	if b.levels == 2 {
		return 0, 1
	}
	return other(int32(r.IntN(b.levels)), b.levels, r)
}

// other returns level and another one, drawn uniformly.
func other(level int32, levels int, r *sampler.Stream) (same, another int32) {
	another = 0
	if levels > 2 {
		another = int32(r.IntN(levels - 1))
	}
	if another >= level {
		another++
	}
	return level, another
}

// finish stores the energies of the states x after a step.
func (b *bonds) finish(info []sampler.Info, x []int32) {
	b.model.Energy(b.e, x)
	for s := range info {
		info[s].Energy = b.e[s]
	}
}

// AppendBinary implements [sampler.Transition]: a step depends on the states and
// the streams only.
func (b *bonds) AppendBinary(p []byte) ([]byte, error) { return p, nil }

// UnmarshalBinary implements [sampler.Transition].
func (b *bonds) UnmarshalBinary(p []byte) error {
	if len(p) != 0 {
		return fmt.Errorf("cluster: %d bytes in the checkpoint of a kernel, want 0", len(p))
	}
	return nil
}
