package ground

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/subgraph"
)

const (
	forestDegree = 3 // maximum mean number of neighbours for which sweeps redraw forests
	forestCovers = 8 // number of times that the forests cover all sites
	forestWork   = 4 // cost of redrawing a site of a forest, relative to an update of a single site
	// maximum exponent of odds, so that products of two odds are finite; beyond it sites move
	// alone
	mostExponent = 300
)

// forest is an induced subgraph without cycles, in which each site comes before its parent.
type forest[T number] []branch[T]

// branch is a site of a forest with its parent. A root is its own parent, with a bond of weight
// 0. The field place is the index of the parent's branch in the forest. For a root, place is the
// length of the forest.
type branch[T number] struct {
	site, parent, place int32
	w                   T // weight of the bond to the parent
}

// newForests returns a sequence of forests such that any few successive forests cover all sites.
// It returns nil if the graph is not sparse.
func newForests[T number](g *system[T]) (all []forest[T]) {
	if len(g.adj) == 0 || len(g.adj) > forestDegree*g.sites() {
		return nil
	}
	adj := make([]int32, len(g.adj))
	for k, a := range g.adj {
		adj[k] = a.to
	}
	graph := subgraph.NewGraph(g.start, adj, nil)
	r := rand.New(rand.NewPCG(44, 3)) // no search draws from r
	place := make([]int32, g.sites())
	for range forestCovers {
		for _, set := range graph.Cover(1, r) {
			f := make(forest[T], len(set))
			for i := range place {
				place[i] = -1
			}
			for k, i := range set {
				place[i] = int32(k)
			}
			for k, i := range set {
				f[k] = branch[T]{site: i, parent: i, place: int32(len(set))}
				for _, a := range g.row(int(i)) {
					if place[a.to] > int32(k) {
						f[k] = branch[T]{i, a.to, place[a.to], a.w}
					}
				}
			}
			all = append(all, f)
		}
	}
	return all
}

// gardener redraws the sites of forests, with its own scratch space.
type gardener[T number] struct {
	own         []T       // per branch: E(x_i = 1) − E(x_i = 0) without the bonds of the forest
	odds, bonds []float64 // per branch: odds of level 1; e^(−beta·w) of the bond
	table       []float64 // for integer weights: e^(−beta·l) for l = −reach … reach
}

// draw redraws the sites of a forest from e^(−beta·E), given the other sites. A message from a
// site to its parent multiplies the parent's odds o of level 1 by (1 + o·e^(−beta·w))/(1 + o).
// Levels are almost random, so draw branches only on sites that change.
func (d *gardener[T]) draw(g *system[T], x *spins[T], f forest[T], beta float64, r *words) {
	if d.own == nil {
		d.own, d.odds, d.bonds = make([]T, g.sites()+1), make([]float64, g.sites()+1), make([]float64, g.sites())
	}
	own, odds, bonds := d.own[:len(f)+1], d.odds[:len(f)+1], d.bonds[:len(f)]
	for k := range f {
		i := f[k].site
		own[k] = T(x.s[i] * x.loss[i])
	}
	for k := range f {
		b := &f[k]
		own[k] -= T(T(b.w*(1-x.s[b.parent])) / 2)
		own[b.place] -= T(T(b.w*(1-x.s[b.site])) / 2)
	}
	d.weigh(g, f, beta)
	odds[len(f)] = 1
	for k := range f {
		o := odds[k]
		odds[f[k].place] *= (1 + float64(o*bonds[k])) / (1 + o)
	}
	for k := len(f) - 1; k >= 0; k-- {
		b := &f[k]
		factor := [2]float64{1, bonds[k]}
		o := float64(odds[k] * factor[int(1-x.s[b.parent])/2&1])
		if one := float64(r.unit()*(1+o)) < o; one != (x.s[b.site] < 0) {
			x.flip(g, int(b.site))
		}
	}
}

// weigh computes the odds and bond factors, which are exponentials, of a forest.
func (d *gardener[T]) weigh(g *system[T], f forest[T], beta float64) {
	if _, reals := any(d.own).([]float64); reals {
		for k := range f {
			d.odds[k], d.bonds[k] = simd.Exp(-beta*float64(d.own[k])), simd.Exp(-beta*float64(f[k].w))
		}
		return
	}
	reach := int(g.reach)
	d.table = d.table[:0]
	for l := -reach; l <= reach; l++ {
		d.table = append(d.table, simd.Exp(-beta*float64(l)))
	}
	for k := range f {
		d.odds[k], d.bonds[k] = d.table[int(d.own[k])+reach], d.table[int(f[k].w)+reach]
	}
}
