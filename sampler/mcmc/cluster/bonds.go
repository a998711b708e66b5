package cluster

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// bonds holds the graph whose edges may become bonds. With a coupling J ≥ 0 a bond joins
// neighbours of equal levels, which then change together. With J < 0 it joins neighbours at two
// different levels a and b, and the two levels are swapped (Wang, Swendsen and Kotecký 1989). A
// possible bond exists with probability 1 − e^{−|J|} (Fortuin and Kasteleyn 1972). Models of
// pairs have an individual coupling of either sign for each edge and an individual field for each
// site.
type bonds struct {
	*sweep.Locals // only its energies are used
	start, adj    []int32
	chance        float64 // probability of a possible bond, 1 − e^{−|J|}
	unequal       bool    // the coupling J is negative
	field         []float64
	// individual couplings and fields; nil if there is one coupling and one field for all
	pairs *pairs
}

// pairs holds the couplings J and fields h of a two-level model,
//
//	E(x) = −Σ_{edges ij} J_ij [x_i = x_j] − Σ_i h_i x_i.
type pairs struct {
	chance  []float64 // per entry of adj: probability of a bond, 1 − e^{−|J|}
	unequal []int32   // per entry of adj: 1 if J < 0, else 0
	field   []float64 // per site: field h
}

// gain returns the change of the log-probability, from the site's field alone, when a site at the
// given level changes to the other level.
func (p *pairs) gain(site, level int32) float64 {
	if level == 0 {
		return p.field[site]
	}
	return -p.field[site]
}

// newBonds returns the bonds for kernels that build updates clusters per step.
func newBonds(method string, m energy.Model, chains, updates int) (*bonds, error) {
	if _, _, err := check.Shape("cluster: "+method, m, chains, sampler.BlockSize); err != nil {
		return nil, err
	}
	matching, ok := energy.As[energy.Matching](m)
	b := padded.New(bonds{Locals: sweep.NewEnergies(m, chains, updates)})
	coupling := 0.0
	if ok {
		coupling, b.field, ok = matching.Matching()
	}
	if !ok {
		if b.readPairs(m) {
			return b, nil
		}
		return nil, fmt.Errorf("cluster: %s: model = %T, want an energy.Matching one (one coupling for all neighbours, one field for all sites) or an energy.Pairwise one of two levels, without fixed sites: use mcmc.Gibbs for others", method, m)
	}
	b.start, b.adj = matching.Graph()
	if b.unequal = coupling < 0; b.unequal {
		coupling = -coupling
	}
	b.chance = -simd.Expm1(-coupling)
	return b, nil
}

// readPairs reads couplings and fields from a model of pairs and reports whether m is one. For E(x)
// = Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j, the couplings are J_ij = −w_ij/2 and the fields are h_i =
// −f_i − Σ_j w_ij/2.
func (b *bonds) readPairs(m energy.Model) bool {
	if _, clamped := energy.As[energy.Clamped](m); clamped {
		return false
	}
	start, adj, weight, field, ok := energy.PairsOf(m)
	if !ok {
		return false
	}
	p := &pairs{make([]float64, len(adj)), make([]int32, len(adj)), make([]float64, len(field))}
	for i, f := range field {
		h := -f
		for n := start[i]; n < start[i+1]; n++ {
			w := float64(weight[n] / 2)
			h -= w
			if p.chance[n] = -simd.Expm1(-math.Abs(w)); w > 0 {
				p.unequal[n] = 1
			}
		}
		p.field[i] = h
	}
	b.start, b.adj, b.pairs = start, adj, p
	return true
}

// pair draws two different levels; every pair is equally likely. With two levels it returns 0 and
// 1.
func (b *bonds) pair(r *sampler.Stream) (low, high int32) {
	if b.Levels == 2 {
		return 0, 1
	}
	return other(int32(r.IntN(b.Levels)), b.Levels, r)
}

// other returns the given level and a different level, drawn uniformly.
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

// Unit costs in nanoseconds, fitted by the test of unit costs in package auto. See
// sampler.Costed.
const (
	rootCost  = 45 // to find the cluster of a site
	levelCost = 10 // to weigh one level of a cluster in a field
	edgeCost  = 12 // per edge that may be a bond, counted from either end
	growCost  = 40 // per site that joins a growing cluster
	nearCost  = 15 // per neighbour of a site that joins a growing cluster
)

// energies returns the cost of evaluating the energies of all chains in a step.
func (b *bonds) energies(info []sampler.Info) float64 {
	return float64(len(info)) * b.Price.Of(b.Model).Energy
}

// Cost estimates the time of one step in nanoseconds. A step visits all sites and edges. It
// implements [sampler.Costed].
func (k *swendsenWang) Cost(info []sampler.Info) float64 {
	each := float64(rootCost)
	if !k.flat {
		each += float64(levelCost * float64(k.Levels))
	}
	step := float64(each*float64(k.Sites)) + float64(edgeCost*float64(len(k.adj)))
	return float64(float64(len(info))*step) + k.energies(info)
}

// Cost estimates the time of one step in nanoseconds, from the number of sites that changed. It
// assumes that rejected clusters are as large as accepted ones. It implements [sampler.Costed].
func (k *wolff) Cost(info []sampler.Info) float64 {
	each := growCost + float64(nearCost*float64(len(k.adj))/float64(k.Sites))
	sum := 0.0
	for i := range info {
		size := float64(k.Updates)
		if info[i].Accept > 0 {
			size = max(size, float64(info[i].Moved)/info[i].Accept)
		}
		sum += float64(size * each)
	}
	return sum + k.energies(info)
}

// Cost estimates the time of one step in nanoseconds, or returns NaN if the kernels of Base are not
// Costed. It implements [sampler.Costed].
func (k *houdayer) Cost(info []sampler.Info) float64 {
	clusters := 1 // per chain
	if l, ok := sampler.As[sweep.Laddered](k.base[0]); ok {
		clusters = 0
		for n, times := range [2]int{(k.exchanges + 1) / 2, k.exchanges / 2} { // even and odd exchanges
			from, by := k.rungs(n)
			clusters += times * ((l.Rungs() - from + by - 1) / by)
		}
	}
	sum := float64(float64(len(info)) * float64(clusters) * float64(k.sites) * rootCost)
	for _, base := range k.base {
		b, ok := sampler.As[sampler.Costed](base)
		if !ok {
			return math.NaN()
		}
		sum += b.Cost(info)
	}
	return sum
}
