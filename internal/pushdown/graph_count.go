package pushdown

import (
	"context"
	"math/big"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Count returns the number of sequences of the given length, of those tokens
// that may stand at their site. The error is the cause of the context.
func (g *Graph) Count(ctx context.Context, sites int, may func(site int, token int32) bool) (*big.Int, error) {
	f := newFilter[*big.Int, algebra.Counts](g, sites)
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
