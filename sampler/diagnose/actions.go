package diagnose

import (
	"math"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// chainActions sums up the steps of one chain that ended in a draw.
type chainActions struct {
	accept                  float64
	accepts, moved, invalid int64
}

func (a *chainActions) add(info *sampler.Info) {
	a.moved += int64(info.Moved)
	a.invalid += int64(info.Invalid)
	if !math.IsNaN(info.Accept) && !math.IsInf(info.Accept, 0) {
		a.accepts++
		a.accept += info.Accept
	}
}

// actions sums up those of chains; the order does not matter.
type actions struct {
	accept                  exactSum
	accepts, moved, invalid int64
}

func (a *actions) add(c *chainActions) {
	a.accept.add(c.accept)
	a.accepts += c.accepts
	a.moved += c.moved
	a.invalid += c.invalid
}

func (a *actions) merge(o *actions) {
	a.accept.merge(&o.accept)
	a.accepts += o.accepts
	a.moved += o.moved
	a.invalid += o.invalid
}
