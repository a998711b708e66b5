package dual

import (
	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// joined is what [Join] returns.
type joined []constraint.Set

// Len returns the number of inequalities.
func (j joined) Len() int {
	n := 0
	for _, s := range j {
		if !check.Nil(s) { // split reports it
			n += s.Len()
		}
	}
	return n
}

// Violation implements constraint.Set.
func (j joined) Violation(g []float64, x []int32) {
	n := j.Len()
	if n == 0 {
		check.Len("dual", "g", len(g), 0)
		return
	}
	states, at := check.Rows("dual", "g", len(g), n), 0
	for _, s := range j {
		if check.Nil(s) {
			continue
		}
		own := scratch.Float64s.Get(states * s.Len())
		s.Violation(*own, x)
		for k, v := range *own {
			g[k/s.Len()*n+at+k%s.Len()] = v
		}
		at += s.Len()
		scratch.Float64s.Put(own)
	}
}
