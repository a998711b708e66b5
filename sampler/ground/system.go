package ground

import "github.com/gibbsite-go/gibbsite/internal/bonds"

// number is the type of differences of energies: integers in a common unit if there is
// one, nats otherwise.
type number interface{ int32 | float64 }

// system is a model of pairs over spins s = 1 − 2x.
type system[T number] struct {
	start  []int32
	adj    []neighbour[T]
	field  []T // E(x_i = 1) − E(x_i = 0) while all others are 0
	reach  T   // no difference is larger
	nought T   // differences up to here are rounding errors; 0 for integers

	mirrored bool // a state and the one with all spins reversed are the same
}

type neighbour[T number] struct {
	to int32
	w  T
}

const (
	// maxReach bounds the tables of acceptance probabilities: models with larger
	// integers are treated as models of reals.
	maxReach = 1 << 12

	// rounding is the part of the largest difference that sums of reals are good to.
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

// symmetric reports whether there are no fields.
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
