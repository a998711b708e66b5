package ground

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/bonds"
)

// reduction removes sites whose best level is a simple function of their neighbours' levels. What
// remains is the kernel, a smaller model. The best levels of the removed sites follow from a state of
// the kernel, and the least energies of both models are the same up to a constant.
type reduction struct {
	kernel *bonds.Bonds
	sites  []int32 // site of the model for each site of the kernel
	stars  []star  // removed sites, in the order of removal
}

// starBonds is the maximum number of neighbours of a removed site.
const starBonds = 3

// star is a removed site with the bonds that it had then, for spins s = 1 − 2x. Given the
// neighbours, the site has the energy s·(h + Σ_k w_k s_k), in quarters.
type star struct {
	site, n int32
	to      [starBonds]int32
	w       [starBonds]float64
	h       float64
}

// reducer is a model during the reduction, with the energy Σ_b w_b s_i s_j + Σ_i h_i s_i.
type reducer struct {
	ends   [][2]int32
	w      []float64
	near   [][]int32 // per site: its bonds; some are outdated
	degree []int32   // per site: number of bonds
	gone   []bool    // per site: it was removed
	h      []float64
	left   int
	ready  [starBonds + 1][]int32 // sites by number of bonds; some entries are outdated
	stars  []star
}

// reduce removes sites that have at most three neighbours. Minimising the energy over a site
// without neighbours leaves a constant, over one with a single neighbour a field, over one with two
// a bond and two fields. Minimising over a site with three neighbours and without a field leaves
// three bonds. This is repeated, because neighbours may come to have fewer bonds. At least one site
// remains. It returns nil if no site can be removed.
func reduce(b *bonds.Bonds) *reduction {
	n := b.Sites()
	r := &reducer{near: make([][]int32, n), degree: make([]int32, n), gone: make([]bool, n), h: make([]float64, n), left: n}
	for i, f := range b.Field {
		r.h[i] = -2 * f
		for _, w := range b.Weight[b.Start[i]:b.Start[i+1]] {
			r.h[i] -= w
			if w != 0 {
				r.degree[i]++
			}
		}
		r.put(int32(i))
	}
	if !slices.ContainsFunc(r.ready[:], func(q []int32) bool { return len(q) > 0 }) {
		return nil
	}
	for i := range n {
		for k := b.Start[i]; k < b.Start[i+1]; k++ {
			if j, w := b.Adj[k], b.Weight[k]; int(j) > i && w != 0 {
				r.join(int32(i), j, w)
			}
		}
	}
	for r.left > 1 {
		i := r.next()
		if i < 0 {
			break
		}
		r.remove(i)
	}
	if len(r.stars) == 0 {
		return nil
	}
	return r.result()
}

// put queues a site that may have become removable.
func (r *reducer) put(i int32) {
	if d := r.degree[i]; d <= starBonds {
		r.ready[d] = append(r.ready[d], i)
	}
}

// next returns a site to remove, of the fewest bonds, or −1 if there is none.
func (r *reducer) next() int32 {
	for d := range r.ready {
		for n := len(r.ready[d]); n > 0; n = len(r.ready[d]) {
			i := r.ready[d][n-1]
			r.ready[d] = r.ready[d][:n-1]
			if !r.gone[i] && int(r.degree[i]) == d && (d < starBonds || r.free(i)) {
				return i
			}
		}
	}
	return -1
}

// free reports whether a site has no field.
func (r *reducer) free(i int32) bool {
	sum := 0.0
	for _, b := range r.live(i) {
		sum += math.Abs(r.w[b])
	}
	return math.Abs(r.h[i]) <= float64(sum*rounding)
}

// live returns the bonds of a site, and forgets outdated ones.
func (r *reducer) live(i int32) []int32 {
	r.near[i] = slices.DeleteFunc(r.near[i], func(b int32) bool { return r.w[b] == 0 })
	return r.near[i]
}

// find returns the bond between i and j, or −1 if there is none. It looks at the latest bonds of i
// first: those between sites that lose many common neighbours are among them. Outdated bonds are
// forgotten when they are more than half of the list.
func (r *reducer) find(i, j int32) int32 {
	if len(r.near[i]) > 2*int(r.degree[i]) {
		r.live(i)
	}
	for _, b := range slices.Backward(r.near[i]) {
		if r.w[b] != 0 && r.other(b, i) == j {
			return b
		}
	}
	return -1
}

func (r *reducer) other(bond, i int32) int32 { return r.ends[bond][0] + r.ends[bond][1] - i }

// bond adds w to the weight of the bond between i and j.
func (r *reducer) bond(i, j int32, w float64) {
	if r.degree[i] > r.degree[j] {
		i, j = j, i
	}
	if b := r.find(i, j); b >= 0 {
		before := r.w[b]
		if r.w[b] += w; math.Abs(r.w[b]) <= float64(math.Abs(before)*rounding) {
			r.cut(b)
		}
		return
	}
	r.join(i, j, w)
	r.degree[i]++
	r.degree[j]++
}

// join adds a bond to the lists of its sites.
func (r *reducer) join(i, j int32, w float64) {
	b := int32(len(r.w))
	r.ends, r.w = append(r.ends, [2]int32{i, j}), append(r.w, w)
	r.near[i], r.near[j] = append(r.near[i], b), append(r.near[j], b)
}

// cut removes a bond.
func (r *reducer) cut(b int32) {
	r.w[b] = 0
	for _, i := range r.ends[b] {
		r.degree[i]--
	}
}

// remove minimises the energy over a site.
func (r *reducer) remove(i int32) {
	s := star{site: i, h: r.h[i]}
	for _, b := range r.live(i) {
		s.to[s.n], s.w[s.n] = r.other(b, i), r.w[b]
		s.n++
		r.cut(b)
	}
	r.near[i], r.gone[i] = nil, true
	r.left--
	r.stars = append(r.stars, s)
	to := s.to[:s.n]
	for k, a := range to {
		r.h[a] += s.coefficient(1 << k)
		for l, b := range to[:k] {
			if w := s.coefficient(1<<k | 1<<l); w != 0 {
				r.bond(a, b, w)
			}
		}
	}
	for _, a := range to {
		r.put(a)
	}
}

// coefficient returns the coefficient of the product of the spins in a set of neighbours in the
// least energy of the site. Rounding errors count as 0.
func (s *star) coefficient(set int) float64 {
	sum, most, share := 0.0, math.Abs(s.h), 1/float64(int(1)<<s.n)
	for _, w := range s.w[:s.n] {
		most += math.Abs(w)
	}
	for state := range 1 << s.n {
		l := s.h
		for k, w := range s.w[:s.n] {
			if state>>k&1 == 1 {
				w = -w
			}
			l += w
		}
		sign := 1 - 2*float64(bits.OnesCount(uint(state&set))&1)
		sum -= float64(float64(sign*share) * math.Abs(l))
	}
	if math.Abs(sum) <= float64(most*rounding) {
		return 0
	}
	return sum
}

// result returns the kernel.
func (r *reducer) result() *reduction {
	out := &reduction{kernel: &bonds.Bonds{Start: make([]int32, 1, r.left+1)}, stars: r.stars}
	place := make([]int32, len(r.gone))
	for i, g := range r.gone {
		if !g {
			place[i] = int32(len(out.sites))
			out.sites = append(out.sites, int32(i))
		}
	}
	k := out.kernel
	for _, i := range out.sites {
		row := r.live(i)
		slices.SortFunc(row, func(a, b int32) int { return int(r.other(a, i)) - int(r.other(b, i)) })
		f := -r.h[i]
		for _, b := range row {
			k.Adj, k.Weight = append(k.Adj, place[r.other(b, i)]), append(k.Weight, r.w[b])
			f -= r.w[b]
		}
		k.Start, k.Field = append(k.Start, int32(len(k.Adj))), append(k.Field, f/2)
	}
	return out
}

// lift sets x to the state of the model that has the levels y of the kernel and the best levels of
// the removed sites.
func (r *reduction) lift(x, y []int32) {
	for k, i := range r.sites {
		x[i] = y[k]
	}
	for k := len(r.stars) - 1; k >= 0; k-- {
		s := &r.stars[k]
		l := s.h
		for n, w := range s.w[:s.n] {
			l += float64(w * float64(1-2*x[s.to[n]]))
		}
		x[s.site] = 0
		if l > 0 {
			x[s.site] = 1
		}
	}
}

// restrict sets y to the levels of the kernel in state x of the model.
func (r *reduction) restrict(y, x []int32) {
	for k, i := range r.sites {
		y[k] = x[i]
	}
}
