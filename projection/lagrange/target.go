package lagrange

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
)

// target is what a search is for: a recipe with its defaults, and the shape.
type target struct {
	recipe        Projector
	smooth        constraint.Smooth
	judge         constraint.Set
	within        *projection.PathProjection // the language, or all sequences
	free          bool                       // there is no language
	sites, levels int
	name          string
}

// violationOf returns the largest of g, NaN if one is.
func violationOf(g []float64) float64 {
	worst := math.Inf(-1)
	for _, v := range g {
		if v != v {
			return v
		}
		worst = max(worst, v)
	}
	return worst
}
