package trellis

import (
	"context"
	"math"
	"math/big"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Count returns the exact number of accepted sequences; if v is not nil, of
// those without a token of weight −Inf. The error is the cause of the context. It
// panics unless v is nil or has sites·levels entries.
func (g *Graph) Count(ctx context.Context, v []float32) (*big.Int, error) {
	var meter poll.Meter
	if meter.Watch(ctx); meter.Poll() != nil {
		return nil, meter.Err()
	}
	if v != nil {
		g.checkTable("v", len(v))
	}
	ahead := make([]big.Int, len(g.states[g.sites]))
	for q := range ahead {
		ahead[q].SetInt64(1)
	}
	var size, term big.Int
	for t := g.sites - 1; t >= 0; t-- {
		l := g.layers[t]
		here := make([]big.Int, l.n)
		allowed := l.allowed(v, t, g.levels)
		for q := range here {
			if meter.Done(int(l.row[q+1]-l.row[q]) * (1 + len(ahead[0].Bits()))) {
				return nil, meter.Err()
			}
			for e := l.row[q]; e < l.row[q+1]; e++ {
				size.SetInt64(int64(allowed[l.col[e]]))
				here[q].Add(&here[q], term.Mul(&size, &ahead[l.to[e]]))
			}
		}
		ahead = here
	}
	return &ahead[0], nil
}

// allowed returns the number of tokens with weight in each column of site t.
func (l *layer) allowed(v []float32, t, levels int) []int {
	n := make([]int, len(l.live))
	from := int32(0)
	for k, end := range l.end {
		n[k] = int(end - from)
		if v != nil {
			n[k] = 0
			for _, token := range l.tokens[from:end] {
				if !math.IsInf(float64(v[t*levels+int(token)]), -1) {
					n[k]++
				}
			}
		}
		from = end
	}
	return n
}
