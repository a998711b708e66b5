package ground

import "github.com/gibbsite-go/gibbsite/internal/bonds"

// number is the type of energy differences: integers in a common unit if there is one, otherwise
// nats.
type number interface{ int32 | float64 }

// system is a model of pairs over spins s = 1 − 2x, where x holds the levels.
type system[T number] struct {
	start  []int32
	adj    []neighbour[T]
	field  []T // per site: E(x_i = 1) − E(x_i = 0) while all other levels are 0
	reach  T   // upper bound on the energy change of a flip
	nought T   // energy differences up to this value are rounding errors; 0 for integers

	mirrored bool // reversing all spins of a state keeps its energy
}

type neighbour[T number] struct {
	to int32
	w  T
}

const (
	// maxReach is the maximum reach for which tables of acceptance probabilities are used. Models
	// with larger integers are treated as models of reals.
	maxReach = 1 << 12

	// rounding is the relative accuracy of sums of reals: an error divided by the largest
	// difference.
	rounding = 0x1p-40
)

func newSystem[T number](b *bonds.Bonds, weight, field []T) *system[T] {
	g := &system[T]{start: b.Start, adj: make([]neighbour[T], len(weight)), field: field}
	for k, w := range weight {
		g.adj[k] = neighbour[T]{b.Adj[k], w}
	}
	for i, f := range field {
		sum := max(f, -f)
		for _, a := range g.row(i) {
			sum += max(a.w, -a.w)
		}
		g.reach = max(g.reach, sum)
	}
	if r, ok := any(g.reach).(float64); ok {
		g.nought = T(r * rounding)
	}
	g.mirrored = g.symmetric()
	return g
}

func (g *system[T]) sites() int { return len(g.field) }

func (g *system[T]) row(i int) []neighbour[T] { return g.adj[g.start[i]:g.start[i+1]] }

// siteWork is the work of updating a site, which includes its neighbours if it flips. Updating a
// site of a sparse graph is 1.
func (g *system[T]) siteWork() int { return 1 + len(g.adj)/(16*g.sites()) }

// symmetric reports whether the model has no fields on spins.
func (g *system[T]) symmetric() bool {
	for i, f := range g.field {
		twice := f + f
		for _, a := range g.row(i) {
			twice += a.w
		}
		if max(twice, -twice) > g.nought {
			return false
		}
	}
	return true
}
