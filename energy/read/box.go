package read

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// box holds the bounds of the variables while a file is being read.
type box struct {
	lower, upper []float64 // bounds of each variable; NaN if the file does not state them
	integer      []bool
}

func (b *box) add(integer bool) {
	b.lower, b.upper, b.integer = append(b.lower, math.NaN()), append(b.upper, math.NaN()), append(b.integer, integer)
}

// wide is the number of values at or above which the range of an integer is narrowed by
// constraints.
const wide = 1 << 16

// close sets the ranges of the variables of p. Bounds that the file does not state are 0 and ∞. The
// constraints narrow the ranges of integers with many values. A continuous variable becomes a
// constant if the constraints leave a single value and that is an integer; otherwise it is an
// error.
func (b *box) close(p *Program) error {
	open := make([]bool, len(b.lower))
	for i := range b.lower {
		if math.IsNaN(b.lower[i]) {
			b.lower[i] = 0
		}
		if math.IsNaN(b.upper[i]) {
			b.upper[i] = math.Inf(1)
		}
		if b.integer[i] {
			b.lower[i], b.upper[i] = math.Ceil(b.lower[i]), math.Floor(b.upper[i])
		}
		open[i] = !b.integer[i] || !(b.upper[i]-b.lower[i] < wide)
	}
	const passes = 64 // bounds that halve in each go from 2⁵³ to few values
	for range passes {
		changed := false
		for k := range p.Constraints {
			changed = b.narrow(&p.Constraints[k], open) || changed
		}
		if !changed {
			break
		}
	}
	for i := range p.Variables {
		v := &p.Variables[i]
		if v.Spin {
			continue
		}
		lower, upper := b.lower[i], b.upper[i]
		if constant := lower == upper && lower == math.Trunc(lower); !b.integer[i] && !constant {
			return fmt.Errorf("variable %s is continuous, want it binary or general", check.Quote(v.Name))
		}
		if lower > upper {
			return fmt.Errorf("variable %s has the range %v … %v, which holds no integer", check.Quote(v.Name), lower, upper)
		}
		if !(lower >= -1<<53 && upper <= 1<<53) {
			return fmt.Errorf("variable %s has the range %v … %v, and the linear constraints do not bound it, want finite bounds within ±2^53", check.Quote(v.Name), lower, upper)
		}
		v.Lower, v.Upper = int(lower), int(upper)
	}
	return nil
}

// narrow uses a required constraint to narrow the ranges of those of its variables for which open
// is true. It reports whether a range has changed.
func (b *box) narrow(c *Constraint, open []bool) (changed bool) {
	if c.Weight > 0 {
		return false
	}
	var of []int
	at := map[int]int{}
	var weight []float64
	first := [2]float64{} // smallest and largest sum of the products
	any := false
	for _, m := range c.Sum {
		switch len(m.Of) {
		case 1:
			i := m.Of[0]
			if _, met := at[i]; !met {
				at[i] = len(of)
				of, weight = append(of, i), append(weight, 0)
			}
			weight[at[i]] += m.W
			any = any || open[i]
		default:
			lo, hi := b.product(m)
			first[0], first[1] = first[0]+lo, first[1]+hi
		}
	}
	if !any {
		return false
	}
	// Smallest and largest sum of the linear terms from each position on.
	after := make([][2]float64, len(of)+1)
	for k := len(of) - 1; k >= 0; k-- {
		lo, hi := b.product(Monomial{weight[k], of[k : k+1]})
		after[k] = [2]float64{after[k+1][0] + lo, after[k+1][1] + hi}
	}
	for k, i := range of {
		// Smallest and largest sum of all other terms.
		lo, hi := first[0]+after[k+1][0], first[1]+after[k+1][1]
		if w := weight[k]; open[i] && w != 0 {
			least, most := (c.Lower-hi)/w, (c.Upper-lo)/w
			if w < 0 {
				least, most = most, least
			}
			if b.integer[i] { // tolerance, so that rounding excludes no value
				least = math.Ceil(least - float64(rounding*max(1, math.Abs(least))))
				most = math.Floor(most + float64(rounding*max(1, math.Abs(most))))
			}
			if least > b.lower[i] {
				b.lower[i], changed = least, true
			}
			if most < b.upper[i] {
				b.upper[i], changed = most, true
			}
		}
		lo, hi = b.product(Monomial{weight[k], of[k : k+1]})
		first[0], first[1] = first[0]+lo, first[1]+hi
	}
	return changed
}

// rounding is the relative amount by which narrowed bounds are widened. It is far above the
// rounding error of long sums, and a slightly wider bound does no harm.
const rounding = 1e-6

// product returns the smallest and largest value of a monomial within the bounds.
func (b *box) product(m Monomial) (lo, hi float64) {
	lo, hi = m.W, m.W
	for _, i := range m.Of {
		ends := [4]float64{lo * b.lower[i], lo * b.upper[i], hi * b.lower[i], hi * b.upper[i]}
		for k, v := range ends {
			if math.IsNaN(v) { // 0 times infinity
				ends[k] = 0
			}
		}
		lo, hi = min(ends[0], ends[1], ends[2], ends[3]), max(ends[0], ends[1], ends[2], ends[3])
	}
	return lo, hi
}
