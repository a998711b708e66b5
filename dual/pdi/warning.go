package pdi

import (
	"fmt"
	"math"
)

// scarceCandidates is the effective number below which one decides a prediction.
const scarceCandidates = 2

// Ranged is a predictor that was made for some multipliers, as a trained network is;
// the error says in what others are beyond them.
type Ranged interface{ Outside(lambda []float64) error }

// Warning returns a sentence about the last batch if its predictions deserve less
// trust than they ask for, "" otherwise.
//
// Predictions that hung on fewer than two effective candidates are close to the best
// candidate met, whatever the distribution is, and neither samples nor multipliers mean
// much. A guess (GibbsOptions.Center and Spread) or an exact predictor helps; more
// candidates hardly do.
//
// A [Ranged] predictor, as the networks of package network are, is asked whether the multipliers of each step are within what it
// knows; where they are not, it extrapolates.
func (d *Denoiser) Warning() string {
	if _, ok := d.p.Predictor.(Estimator); ok {
		return d.scarce()
	}
	if p, ok := d.p.Predictor.(Ranged); ok {
		return d.outside(p)
	}
	return ""
}

// scarce is the warning about candidates.
func (d *Denoiser) scarce() string {
	few, least := 0, math.Inf(1)
	for _, e := range d.ess {
		if e < scarceCandidates {
			few++
		}
		least = min(least, e)
	}
	if few == 0 {
		return ""
	}
	return fmt.Sprintf("pdi: in %d of %d steps fewer than %d candidates count, %.1f at the least", few, len(d.ess), scarceCandidates, least)
}

// outside is the warning about multipliers, with the first error met.
func (d *Denoiser) outside(p Ranged) string {
	beyond, steps := 0, d.Steps()
	var first error
	for step := range steps {
		for g := range d.groups {
			lambda, _ := d.At(g, step)
			if err := p.Outside(lambda); err != nil {
				beyond++
				if first == nil {
					first = err
				}
				break
			}
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("pdi: in %d of %d steps multipliers are beyond what the predictor knows: %v", beyond, steps, first)
}
