package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/projection"
)

// surface is the name by which -run asks for the runs that bound the polar surface.
const surface = "surface"

// parseShares reads shares of the training strings.
func parseShares(text string) ([]float64, error) {
	var shares []float64
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v > 0 && v <= 1) {
			return nil, fmt.Errorf("-surface = %q, want shares in (0, 1], separated by commas", text)
		}
		shares = append(shares, v)
	}
	return shares, nil
}

// measured is the number of training strings that thresholds come from.
const measured = 5000

// surfaces are the runs that ask for a polar surface which only a share of the
// training strings reaches. The network knows nothing of it: a parser judges whole
// strings, and what is no molecule has no surface.
func surfaces(c *corpus.Corpus, within projection.Path, shares []float64) []job {
	var areas []float64
	for _, s := range c.Train[:min(measured, len(c.Train))] {
		if a, err := corpus.PolarSurface(s); err == nil {
			areas = append(areas, a)
		}
	}
	slices.Sort(areas)
	var all []job
	for _, share := range shares {
		least := areas[max(0, len(areas)-max(1, int(share*float64(len(areas)))))]
		area := func(s string) float64 {
			a, err := corpus.PolarSurface(s)
			if err != nil {
				return math.Inf(-1)
			}
			return a
		}
		judge := constraint.Score{Threshold: -least, Decide: func(x []int32) float64 { return -area(c.Text(x)) }}
		all = append(all, job{
			fmt.Sprintf("%s %g %%", surface, 100*share), fmt.Sprintf("polar surface ≥ %.2f Å²", least),
			within, both(func(s string) bool { return area(s) >= least }), judge,
		})
	}
	return all
}
