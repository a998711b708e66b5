package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Names in -run of the runs that bound a property of the molecules.
const (
	surface    = "surface"    // polar surface, from below
	accessible = "accessible" // synthetic accessibility, from above
)

// parseNumbers parses a list of numbers in (0, most].
func parseNumbers(option, text string, most float64) ([]float64, error) {
	var all []float64
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v > 0 && v <= most) {
			return nil, fmt.Errorf("%s = %q, want numbers in (0, %g], separated by commas", option, text, most)
		}
		all = append(all, v)
	}
	return all, nil
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
// training strings reach. A string that is not a molecule has no polar surface and never
// satisfies the bound.
func surfaces(c *corpus.Corpus, within projection.Path, shares []float64) []job {
	var all []job
	for _, share := range shares {
		least := threshold(c, share)
		all = append(all, bounded(c, within, -least, func(s string) float64 { return -area(s) },
			fmt.Sprintf("%s %g %%", surface, 100*share), fmt.Sprintf("polar surface ≥ %.2f Å²", least)))
	}
	return all
}

// accessibles returns the runs that require a score of synthetic accessibility of at most the
// given thresholds.
func accessibles(c *corpus.Corpus, within projection.Path, score func(string) float64, thresholds []float64) []job {
	var all []job
	for _, most := range thresholds {
		all = append(all, bounded(c, within, most, score,
			fmt.Sprintf("%s %g", accessible, most), fmt.Sprintf("synthetic accessibility ≤ %g", most)))
	}
	return all
}

// bounded returns a run whose strings have a score of at most most. The network does not know
// about the score: a parser judges whole strings.
func bounded(c *corpus.Corpus, within projection.Path, most float64, score func(string) float64, name, what string) job {
	return job{
		name: name, what: what, projector: within,
		holds: both(func(s string) bool { return score(s) <= most }),
		judge: constraint.Score{Threshold: most, Decide: func(x []int32) float64 { return score(c.Text(x)) }},
	}
}

// inaccessibility returns the score of synthetic accessibility by the fragments of the training
// strings. A string that is not a molecule has the score +Inf. The first call counts the fragments.
func inaccessibility(c *corpus.Corpus) func(string) float64 {
	fragments := sync.OnceValue(func() *corpus.Accessibility { return corpus.NewAccessibility(c.Train) })
	return func(s string) float64 {
		v, err := fragments().Score(s)
		if err != nil {
			return math.Inf(1)
		}
		return v
	}
}
