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

// surface is the name in -run of the runs with a bound on the polar surface.
const surface = "surface"

// parseShares parses a list of shares of the training strings.
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

// measured is the maximum number of training strings from which thresholds are computed.
const measured = 5000

// area returns the polar surface of a molecule, or −Inf if s is not a molecule.
func area(s string) float64 {
	a, err := corpus.PolarSurface(s)
	if err != nil {
		return math.Inf(-1)
	}
	return a
}

// threshold returns the polar surface that the given share of the training strings reaches, or
// +Inf if none is a molecule.
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

// surfaces returns the runs that require a polar surface which only the given shares of the
// training strings reach. The network does not know about the surface: a parser judges whole
// strings. A string that is not a molecule has no polar surface and never satisfies the bound.
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
