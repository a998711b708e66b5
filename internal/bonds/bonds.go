// Package bonds reads the couplings and fields of pairwise models, and converts them to integers
// if they are multiples of a common unit.
package bonds

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Bonds holds the parameters of an [energy.Pairwise] model. Weights w belong to pairs of sites, and
// fields f to single sites. The weights are in compressed sparse rows.
type Bonds struct {
	Start, Adj []int32 // neighbours of site i: Adj[Start[i]:Start[i+1]]
	// weight of every entry of Adj, and field of every site
	Weight, Field []float64
}

// Of returns the weights and fields of m, or nil if m does not implement [energy.Pairwise].
func Of(m energy.Model) *Bonds {
	p, ok := energy.As[energy.Pairwise](m)
	if !ok {
		return nil
	}
	b := &Bonds{}
	if b.Start, b.Adj, b.Weight, b.Field, ok = p.Pairs(); !ok {
		return nil
	}
	return b
}

// Sites returns the number of sites.
func (b *Bonds) Sites() int { return len(b.Field) }

// Check returns an error unless all numbers are finite and form the rows of a sites × sites
// matrix. It does not check that the matrix is symmetric.
func (b *Bonds) Check(sites int) error {
	if len(b.Field) != sites || len(b.Start) != sites+1 {
		return fmt.Errorf("method Pairs returns %d fields and %d rows, want %d and %d", len(b.Field), len(b.Start), sites, sites+1)
	}
	if b.Start[0] != 0 || int(b.Start[sites]) != len(b.Adj) || len(b.Weight) != len(b.Adj) {
		return fmt.Errorf("method Pairs returns rows from %d to %d, %d columns and %d weights, want rows from 0 to as many", b.Start[0], b.Start[sites], len(b.Adj), len(b.Weight))
	}
	for i, f := range b.Field {
		if b.Start[i] > b.Start[i+1] || int(b.Start[i+1]) > len(b.Adj) {
			return fmt.Errorf("method Pairs returns row %d from %d to %d, want ascending numbers", i, b.Start[i], b.Start[i+1])
		}
		last := int32(-1)
		for k := b.Start[i]; k < b.Start[i+1]; k++ {
			if j := b.Adj[k]; j <= last || int(j) >= sites || int(j) == i {
				return fmt.Errorf("method Pairs returns column %d after %d in row %d, want ascending ones < %d without %d", j, last, i, sites, i)
			}
			last = b.Adj[k]
			f += math.Abs(b.Weight[k])
		}
		if !(math.Abs(f) <= math.MaxFloat64) {
			return fmt.Errorf("method Pairs returns numbers of site %d that add up to %v, want a finite number", i, f)
		}
	}
	return nil
}

// Reach returns max_i (Σ_j |w_ij| + |f_i|) over the sites i, where w_ij are the weights and f_i the
// fields. It bounds how much the energy can change when one site changes.
func (b *Bonds) Reach() float64 {
	most := 0.0
	for i, f := range b.Field {
		sum := math.Abs(f)
		for _, w := range b.Weight[b.Start[i]:b.Start[i+1]] {
			sum += math.Abs(w)
		}
		most = max(most, sum)
	}
	return most
}

const (
	// crumb is the size, relative to the largest difference of energies, up to which a remainder
	// in the search for a unit counts as a rounding error.
	crumb = 0x1p-30

	// slack is the tolerance of a multiple of the unit, relative to the largest difference of
	// energies. The numbers are results of a few roundings of 2⁻⁵³ each.
	slack = 0x1p-46
)

// Integers returns the weights and fields as multiples of their largest common unit, up to
// rounding. If all numbers are 0, the unit is 1. The result ok is false if there is no common unit,
// or if [Bonds.Reach] divided by the unit exceeds limit.
func (b *Bonds) Integers(limit int) (weight, field []int32, unit float64, ok bool) {
	reach := b.Reach()
	if !(reach <= math.MaxFloat64) {
		return nil, nil, 0, false
	}
	for _, row := range [][]float64{b.Weight, b.Field} {
		for _, v := range row {
			if unit = common(unit, math.Abs(v), float64(reach*crumb)); unit > 0 && reach/unit > float64(limit)+0.5 {
				return nil, nil, 0, false
			}
		}
	}
	if unit == 0 {
		unit = 1
	}
	unit = b.refine(unit)
	tolerance := float64(reach * slack)
	if weight, ok = multiples(b.Weight, unit, tolerance); !ok {
		return nil, nil, 0, false
	}
	if field, ok = multiples(b.Field, unit, tolerance); !ok {
		return nil, nil, 0, false
	}
	return weight, field, unit, true
}

// common returns the greatest common divisor of a and c, where remainders up to crumb count as 0.
func common(a, c, crumb float64) float64 {
	if a < c {
		a, c = c, a
	}
	for c > crumb {
		r := math.Mod(a, c)
		if c-r <= crumb {
			r = 0
		}
		a, c = c, r
	}
	return a
}

// refine adjusts a unit found by Euclid's algorithm so that the largest number is an exact
// multiple of the unit. This removes the accumulated rounding errors of the algorithm.
func (b *Bonds) refine(unit float64) float64 {
	largest := 0.0
	for _, row := range [][]float64{b.Weight, b.Field} {
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
	}
	if largest == 0 {
		return unit
	}
	return largest / math.Round(largest/unit)
}

// multiples returns the entries of v divided by unit, rounded to integers. It returns ok = false if
// an entry differs from its multiple of unit by more than tolerance.
func multiples(v []float64, unit, tolerance float64) (k []int32, ok bool) {
	k = make([]int32, len(v))
	for i, x := range v {
		m := math.Round(x / unit)
		if math.Abs(x-float64(m*unit)) > tolerance {
			return nil, false
		}
		k[i] = int32(m)
	}
	return k, true
}
