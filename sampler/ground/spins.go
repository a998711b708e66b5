package ground

import (
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// spins holds a state and the loss of each site: the energy change if the site is flipped.
type spins[T number] struct {
	s    []T // spins 1 − 2x, each 1 or −1
	loss []T // per site: E(x with the site flipped) − E(x)
}

func newSpins[T number](g *system[T]) *spins[T] {
	n := g.sites()
	return &spins[T]{make([]T, n), make([]T, n)}
}

func (x *spins[T]) copy(y *spins[T]) {
	copy(x.s, y.s)
	copy(x.loss, y.loss)
}

// random sets x to a uniform random state.
func (x *spins[T]) random(g *system[T], r *sampler.Stream) {
	for i := range x.s {
		x.s[i] = T(1 - 2*int32(r.Uint32()>>31))
	}
	x.compute(g)
}

// set sets x to the state with the given levels.
func (x *spins[T]) set(g *system[T], levels []int32) {
	for i, v := range levels {
		x.s[i] = T(1 - 2*v)
	}
	x.compute(g)
}

// levels sets l to the levels of the state.
func (x *spins[T]) levels(l []int32) {
	for i, s := range x.s {
		l[i] = int32(1-s) / 2
	}
}

// compute computes the losses of all sites from the spins.
func (x *spins[T]) compute(g *system[T]) {
	for i, h := range g.field {
		for _, a := range g.row(i) {
			if x.s[a.to] < 0 {
				h += a.w
			}
		}
		x.loss[i] = T(x.s[i] * h)
	}
}

// flip flips site i and updates the losses of the site and its neighbours.
func (x *spins[T]) flip(g *system[T], i int) {
	s, loss := x.s, x.loss
	loss[i] = -loss[i]
	before := s[i]
	s[i] = -before
	for _, a := range g.adj[g.start[i]:g.start[i+1]] {
		loss[a.to] += T(T(before*s[a.to]) * a.w)
	}
}

// descend visits the sites lo … hi−1 in turn, flips each site whose flip lowers the energy, and
// reports whether any was flipped.
func (x *spins[T]) descend(g *system[T], lo, hi int) (moved bool) {
	for i := lo; i < hi; i++ {
		if x.loss[i] < -g.nought {
			x.flip(g, i)
			moved = true
		}
	}
	return moved
}

// sweep makes a Metropolis update of each of the sites lo … hi−1 in turn, at inverse temperature
// beta. The slice table holds the probabilities that acceptances returns for beta.
func (x *spins[T]) sweep(g *system[T], lo, hi int, beta float64, table []uint32, r *words) {
	switch y := any(x).(type) {
	case *spins[int32]:
		sweepIntegers(any(g).(*system[int32]), y, lo, hi, table, r)
	case *spins[float64]:
		sweepReals(any(g).(*system[float64]), y, lo, hi, beta, r)
	}
}

func sweepIntegers(g *system[int32], x *spins[int32], lo, hi int, table []uint32, r *words) {
	loss := x.loss[:hi]
	for i := lo; i < hi; i++ {
		if l := loss[i]; l > 0 && (int(l) >= len(table) || r.next() >= table[l]) {
			continue
		}
		x.flip(g, i)
	}
}

func sweepReals(g *system[float64], x *spins[float64], lo, hi int, beta float64, r *words) {
	loss := x.loss[:hi]
	never := neverBelow / beta
	for i := lo; i < hi; i++ {
		if l := loss[i]; l > 0 && (l >= never || float64(r.next()) >= float64(two32*simd.Exp(-beta*l))) {
			continue
		}
		x.flip(g, i)
	}
}

const (
	two32      = 0x1p32
	neverBelow = 22.2 // loss times beta above which a flip is never accepted: e^−22.2 < 2⁻³²
)

// acceptances returns the probabilities exp(−beta·l) of accepting the losses l = 0, 1, …, reach, in
// units of 2⁻³². It omits probabilities below one unit, and reuses the memory of table.
func acceptances(table []uint32, beta float64, reach int) []uint32 {
	table = table[:0]
	for l := 0; l <= reach; l++ {
		p := float64(two32 * simd.Exp(-beta*float64(l)))
		if p < 1 {
			break
		}
		table = append(table, uint32(min(p, two32-1)))
	}
	return table
}

// words is a buffer of random words from a stream.
type words struct {
	stream sampler.Stream
	at     int
	buf    [256]uint32
}

func (w *words) next() uint32 {
	if w.at == len(w.buf) {
		w.stream.Uint32s(w.buf[:])
		w.at = 0
	}
	v := w.buf[w.at]
	w.at++
	return v
}

// unit returns a uniform random number in [0, 1), a multiple of 2⁻³².
func (w *words) unit() float64 { return float64(float64(w.next()) / two32) }
