package cluster

import (
	"math"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// Prices, in nanoseconds, fitted by the test of prices in package auto; see
// sampler.Costed.
const (
	rootCost  = 45 // a site whose cluster is found
	levelCost = 10 // a weight of the level that a cluster may have in a field
	edgeCost  = 12 // an edge that may be a bond, from either end
	growCost  = 40 // a site that joins a growing cluster
	nearCost  = 15 // and its neighbour
)

// energies returns what the energies of a step cost.
func (b *bonds) energies(info []sampler.Info) float64 {
	return float64(len(info)) * b.price.Of(b.model).Energy
}

// Cost implements [sampler.Costed].
func (k *swendsenWang) Cost(info []sampler.Info) float64 {
	each := float64(rootCost)
	if !k.flat {
		each += float64(levelCost * float64(k.levels))
	}
	step := float64(each*float64(k.sites)) + float64(edgeCost*float64(len(k.adj)))
	return float64(float64(len(info))*step) + k.energies(info)
}

// Cost implements [sampler.Costed]. It takes rejected clusters to be as large as accepted
// ones.
func (k *wolff) Cost(info []sampler.Info) float64 {
	each := growCost + float64(nearCost*float64(len(k.adj))/float64(k.sites))
	sum := 0.0
	for i := range info {
		size := float64(k.updates)
		if info[i].Accept > 0 {
			size = max(size, float64(info[i].Moved)/info[i].Accept)
		}
		sum += float64(size * each)
	}
	return sum + k.energies(info)
}

// Cost implements [sampler.Costed]. It is NaN if Base is not Costed.
func (k *houdayer) Cost(info []sampler.Info) float64 {
	sum := float64(float64(len(info)) * float64(k.sites) * rootCost)
	for _, base := range k.base {
		b, ok := sampler.As[sampler.Costed](base)
		if !ok {
			return math.NaN()
		}
		sum += b.Cost(info)
	}
	return sum
}
