package momentum

import (
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Prices, in nanoseconds; see sampler.Costed.
const (
	normalCost = 42  // a site whose momentum is refreshed and which is drawn
	levelCost  = 55  // a level of a site where there are more than two
	entryCost  = 1.2 // an entry of the factor of a curvature
)

// Cost implements [sampler.Costed].
func (k *kernel) Cost(info []sampler.Info) float64 {
	m, n := k.price.Of(k.model), float64(k.sites)
	step := m.Table + float64(normalCost*n)
	if l := m.Levels; l > 2 {
		step += float64(levelCost * n * float64(l))
	}
	if f, ok := k.frame.(*factored); ok {
		step += float64(entryCost * 3 * float64(len(f.l)))
	}
	return float64(len(info)) * step
}
