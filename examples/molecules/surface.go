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

// area is the polar surface of a molecule; what is none has no surface.
func area(s string) float64 {
	a, err := corpus.PolarSurface(s)
	if err != nil {
		return math.Inf(-1)
	}
	return a
}

// threshold is the polar surface that a share of the training strings reaches, +Inf if
// none is a molecule.
func threshold(c *corpus.Corpus, share float64) float64 {
	var areas []float64
	for _, s := range c.Train[:min(measured, len(c.Train))] {
		if a := area(s); a >= 0 {
			areas = append(areas, a)
		}
	}
	if len(areas) == 0 {
		return math.Inf(1)
	}
	slices.Sort(areas)
	return areas[max(0, len(areas)-max(1, int(share*float64(len(areas)))))]
}

// surfaces are the runs that ask for a polar surface which only a share of the
// training strings reaches. The network knows nothing of it: a parser judges whole
// strings, and what is no molecule has no surface.
func surfaces(c *corpus.Corpus, within projection.Path, shares []float64) []job {
	var all []job
	for _, share := range shares {
		least := threshold(c, share)
		judge := constraint.Score{Threshold: -least, Decide: func(x []int32) float64 { return -area(c.Text(x)) }}
		all = append(all, job{
			name: fmt.Sprintf("%s %g %%", surface, 100*share), what: fmt.Sprintf("polar surface ≥ %.2f Å²", least),
			projector: within, holds: both(func(s string) bool { return area(s) >= least }), judge: judge,
		})
	}
	return all
}
