package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// rowKinds says where sites look conditionals up by sums of neighbours:
//
//	E(x_i = 1) − E(x_i = 0) = base + weight·sum
//
// for a site of a kind, sum being bias, plus its neighbours in state 1, less twice those of
// them that are against. Sites of different numbers of neighbours share a table where whole
// multiples of the weight are between them.
type rowKinds struct {
	kind, bias []int32 // by site; kind: −1 where it is fixed
	window     []rowWindow
}

// rowWindow is a kind: sums s stand for base + weight·(s + low), and are high − low at most.
type rowWindow struct {
	base      float64
	low, high int32
}

// mostRowKinds bounds the kinds of sites: models of more have fields of their own at many
// sites.
const mostRowKinds = 256

// newRowKinds returns nil if there are too many kinds, or free sites of too many neighbours.
func newRowKinds(e *equal, fixed []int32) *rowKinds {
	if !(math.Abs(e.weight) > 0) {
		return nil
	}
	k := &rowKinds{kind: make([]int32, len(e.start)-1), bias: make([]int32, len(e.start)-1)}
	for i := range k.kind {
		if fixed != nil && fixed[i] >= 0 {
			k.kind[i] = -1
			continue
		}
		d := e.start[i+1] - e.start[i]
		if d >= simd.RowCounts {
			return nil
		}
		minus := e.negative(i)
		b, size := e.base(i)
		b += float64(e.weight * float64(minus)) // where no neighbour adds or takes away
		size += float64(math.Abs(e.weight) * float64(simd.RowCounts))
		if !k.join(i, b, e.weight, size, -minus, d-minus) {
			if len(k.window) == mostRowKinds {
				return nil
			}
			k.kind[i] = int32(len(k.window))
			k.window = append(k.window, rowWindow{b, -minus, d - minus})
		}
	}
	for i, at := range k.kind {
		if at >= 0 {
			k.bias[i] -= k.window[at].low
		}
	}
	return k
}

// join makes site i, with sums of low … high, one of a kind that there is already.
func (k *rowKinds) join(i int, base, weight, size float64, low, high int32) bool {
	for at := range k.window {
		w := &k.window[at]
		shift := math.Round((base - w.base) / weight)
		if !(math.Abs(shift) < simd.RowCounts) || math.Abs(w.base+float64(weight*shift)-base) > sameBase*(size+math.Abs(base)) {
			continue
		}
		by := int32(shift)
		lowest, highest := min(w.low, low+by), max(w.high, high+by)
		if highest-lowest < simd.RowCounts {
			w.low, w.high = lowest, highest
			k.kind[i], k.bias[i] = int32(at), by
			return true
		}
	}
	return false
}

// tables returns the differences where sums are 0 and the odds by sums, of each kind.
func (k *rowKinds) tables(weight float64) (base []float64, o []simd.RowOdds) {
	for _, w := range k.window {
		p := make([]uint64, w.high-w.low+1)
		for n := range p {
			p[n] = odds(w.base + float64(weight*float64(n+int(w.low))))
		}
		base, o = append(base, w.base+float64(weight*float64(w.low))), append(o, simd.NewRowOdds(p))
	}
	return base, o
}
