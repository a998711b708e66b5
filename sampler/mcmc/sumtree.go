package mcmc

import "github.com/gibbsite-go/gibbsite/internal/apart"

// sumTree is a complete binary tree over non-negative numbers: entry 1 is the
// root, the children of p are 2p and 2p+1, the leaves are the second half, and
// every parent is the sum of its children. Changing a number and drawing one in
// proportion to its value take logarithmic time. A parent is always added up anew,
// so removing numbers leaves no rounding errors behind.
type sumTree []float64

// leaves returns the number of leaves of a tree over n numbers, a power of 2.
func leaves(n int) int {
	l := 1
	for l < n {
		l *= 2
	}
	return l
}

// leaf returns number i.
func (t sumTree) leaf(i int) float64 { return t[len(t)/2+i] }

// set replaces number i.
func (t sumTree) set(i int, v float64) {
	p := len(t)/2 + i
	t[p] = v
	for p > 1 {
		p /= 2
		t[p] = t[2*p] + t[2*p+1]
	}
}

// sum adds up all parents.
func (t sumTree) sum() {
	for p := len(t)/2 - 1; p >= 1; p-- {
		t[p] = t[2*p] + t[2*p+1]
	}
}

// pick returns i with probability leaf(i)/t[1] for uniform u in [0,1), −1 if the
// total is 0 or NaN. A number that is 0 is never picked.
func (t sumTree) pick(u float64) int {
	if !(t[1] > 0) {
		return -1
	}
	u *= t[1]
	p := 1
	for p < len(t)/2 {
		p *= 2
		if left := t[p]; u >= left && t[p+1] > 0 {
			u -= left
			p++
		}
	}
	return p - len(t)/2
}

// pathWeights are the weights of all changes of a block of states: those of one
// level in rows, those of one site in a tree per state.
type pathWeights struct {
	sites, levels int
	w             []float32 // chains × sites × levels
	trees         []float64 // chains × 2·leaves
	total         []float64 // scratch: chains
}

func newPathWeights(chains, sites, levels int) pathWeights {
	return pathWeights{
		sites: sites, levels: levels,
		w:     apart.Make[float32](chains * sites * levels),
		trees: apart.Make[float64](chains * 2 * leaves(sites)),
		total: apart.Make[float64](chains),
	}
}

func (p *pathWeights) row(s, site int) []float32 {
	i := s*p.sites + site
	return p.w[i*p.levels : (i+1)*p.levels]
}

func (p *pathWeights) tree(s int) sumTree {
	n := 2 * leaves(p.sites)
	return p.trees[s*n : (s+1)*n]
}

// sum fills the trees of states lo … hi−1 from the rows.
func (p *pathWeights) sum(lo, hi int) {
	for s := lo; s < hi; s++ {
		tree := p.tree(s)
		for i := range p.sites {
			total := 0.0
			for _, w := range p.row(s, i) {
				total += float64(w)
			}
			tree[len(tree)/2+i] = total
		}
		tree.sum()
	}
}

// accept copies the weights of state s from next.
func (p *pathWeights) accept(next *pathWeights, s int) {
	n := p.sites * p.levels
	copy(p.w[s*n:(s+1)*n], next.w[s*n:])
	copy(p.tree(s), next.tree(s))
}
