package pushdown

import (
	"context"
	"math/big"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// counts is (+, ×) on whole numbers; nil is zero. Values are never modified.
type counts struct{}

func (counts) zero() *big.Int         { return nil }
func (counts) one() *big.Int          { return big.NewInt(1) }
func (counts) isZero(x *big.Int) bool { return x == nil }
func (counts) mul(x, y *big.Int) *big.Int {
	if x == nil || y == nil {
		return nil
	}
	return new(big.Int).Mul(x, y)
}

func (counts) add(x, y *big.Int) *big.Int {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return new(big.Int).Add(x, y)
}

func (c counts) axpy(dst, src []*big.Int, k *big.Int) {
	for i, y := range src {
		if y != nil {
			dst[i] = c.add(dst[i], c.mul(y, k))
		}
	}
}

func (c counts) along(dst, src []*big.Int, es []edge, w []*big.Int) {
	for _, e := range es {
		dst[e.to] = c.add(dst[e.to], c.mul(src[e.from], w[e.w]))
	}
}

func (counts) choose([]*big.Int, *rand.Rand) int { panic("pushdown: counts are not drawn from") }

// Count returns the number of sequences of the given length, of those tokens
// that may stand at their site. The error is the cause of the context.
func (g *Graph) Count(ctx context.Context, sites int, may func(site int, token int32) bool) (*big.Int, error) {
	f := newFilter[*big.Int, counts](g, sites)
	f.meter = new(poll.Meter)
	if f.meter.Watch(ctx); f.meter.Poll() != nil {
		return nil, f.meter.Err()
	}
	for i := range sites {
		class := make([]int64, len(g.members))
		for k, tokens := range g.members {
			for _, t := range tokens {
				if may(i, t) {
					class[k]++
				}
			}
		}
		for w, classes := range g.weights {
			n := int64(0)
			for _, k := range classes {
				n += class[k]
			}
			f.weight[i][w] = nil
			if n > 0 {
				f.weight[i][w] = big.NewInt(n)
			}
		}
	}
	n := f.inside()
	if n == nil {
		n = new(big.Int)
	}
	return n, f.meter.Err()
}

// Cells returns how many sums of spans a runner for the given length keeps at
// most.
func (g *Graph) Cells(sites int) int {
	n := 0
	for _, s := range g.order {
		n += len(g.levels[g.starts[s].level].exits)
	}
	return n * sites * sites / 2
}
