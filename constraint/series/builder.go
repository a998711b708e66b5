package series

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Builder collects constraints on real-valued series and compiles them to a [System] of
// inequalities. The constraints are given in raw units, and the System refers to standardised
// series (see [Shape]). Times (time steps) and channels count from 0. The methods that add
// constraints return no errors: Build returns the first error.
//
// A Builder is not safe for concurrent use.
type Builder struct {
	shape Shape
	out   System
	err   error
}

// NewBuilder returns a builder for series of the given shape, with no constraints. If the shape is
// invalid, Build returns an error. For example, every Scale must be > 0. The standard deviation of
// a constant series is 0, so it cannot be a Scale.
func NewBuilder(shape Shape) *Builder {
	b := &Builder{shape: shape, out: System{sites: shape.Length * shape.Channels}}
	switch {
	case shape.Length < 1:
		b.refuse("Length", shape.Length, "≥ 1")
	case shape.Channels < 1:
		b.refuse("Channels", shape.Channels, "≥ 1")
	case shape.Length > math.MaxInt32/shape.Channels:
		b.refuse("Length", shape.Length, fmt.Sprintf("at most %d with Channels = %d", math.MaxInt32/shape.Channels, shape.Channels))
	case shape.Names != nil && len(shape.Names) != shape.Channels:
		b.refuse("len(Names)", len(shape.Names), fmt.Sprint(shape.Channels))
	case shape.Shift != nil && len(shape.Shift) != shape.Channels:
		b.refuse("len(Shift)", len(shape.Shift), fmt.Sprint(shape.Channels))
	case shape.Scale != nil && len(shape.Scale) != shape.Channels:
		b.refuse("len(Scale)", len(shape.Scale), fmt.Sprint(shape.Channels))
	}
	if b.err == nil && (shape.Shift != nil || shape.Scale != nil) {
		for c := range shape.Channels {
			if shift, scale := b.shape.affine(c); !check.Finite(shift) || !check.Finite(scale) || !(scale > 0) {
				b.refuse("shift and scale of channel "+b.shape.channel(c), fmt.Sprintf("%v, %v", shift, scale), "finite and > 0: a constant channel has no scale")
			}
		}
	}
	return b
}

// Build returns the compiled system of inequalities, or the first error of the builder's methods.
// Build does not detect constraints that contradict each other; a proximal.Projector does.
func (b *Builder) Build() (*System, error) {
	if b.err != nil {
		return nil, b.err
	}
	s := b.out
	return &s, nil
}

// Mean fixes the mean of channel c to the given value.
func (b *Builder) Mean(c int, value float64) {
	if b.at("Mean", c, 0) {
		b.equal(fmt.Sprintf("mean of %s = %v", b.shape.channel(c), value), b.total(c, 0, b.shape.Length, 1/float64(b.shape.Length)), value)
	}
}

// MeanChange fixes the mean difference of consecutive values of channel c to the given value. The
// mean difference is
//
//	(last value − first value)/(length − 1).
func (b *Builder) MeanChange(c int, value float64) {
	if last := b.shape.Length - 1; b.at("MeanChange", c, 1) {
		b.equal(fmt.Sprintf("mean change of %s = %v", b.shape.channel(c), value), b.difference(c, last, c, 0, 1/float64(last)), value)
	}
}

// Sum fixes the sum of channel c to the given value. The sum runs over the times t with start ≤ t <
// end.
func (b *Builder) Sum(c, start, end int, value float64) {
	if b.within("Sum", c, start, end) {
		b.equal(fmt.Sprintf("sum of %s, %s = %v", b.shape.channel(c), span(start, end), value), b.total(c, start, end, 1), value)
	}
}

// At fixes channel c to the given value at time t.
func (b *Builder) At(c, t int, value float64) {
	if b.at("At", c, t) {
		b.equal(fmt.Sprintf("%s at %d = %v", b.shape.channel(c), t, value), b.total(c, t, t+1, 1), value)
	}
}

// Impute requires every entry of the series to equal the corresponding entry of x, without
// tolerance. The series x has length × channels entries in raw units. Entries that are NaN in x are
// not constrained.
func (b *Builder) Impute(x []float64) {
	if b.err == nil && len(x) != b.out.sites {
		b.refuse("Impute: len(x)", len(x), fmt.Sprint(b.out.sites))
	}
	for i, v := range x {
		if b.err == nil && !math.IsNaN(v) {
			c, t := i%b.shape.Channels, i/b.shape.Channels
			b.row(fmt.Sprintf("%s at %d = %v", b.shape.channel(c), t, v), b.total(c, t, t+1, 1), v, v)
		}
	}
}

// ArgMax requires that channel c have its largest value at time t.
func (b *Builder) ArgMax(c, t int) { b.extreme("ArgMax", "largest", c, t, 1) }

// ArgMin requires that channel c have its smallest value at time t.
func (b *Builder) ArgMin(c, t int) { b.extreme("ArgMin", "smallest", c, t, -1) }

// Bounds requires that every value of channel c lie between lower and upper. −Inf and +Inf mean no
// bound.
func (b *Builder) Bounds(c int, lower, upper float64) {
	if !b.at("Bounds", c, 0) {
		return
	}
	for t := range b.shape.Length {
		b.row(fmt.Sprintf("%v ≤ %s at %d ≤ %v", lower, b.shape.channel(c), t, upper), b.total(c, t, t+1, 1), lower, upper)
	}
}

// OHLC requires that the prices of every time step satisfy low ≤ open ≤ high and low ≤ close ≤
// high. The arguments are the indices of four different channels.
func (b *Builder) OHLC(open, high, low, close int) {
	prices := []int{open, high, low, close}
	for _, c := range prices {
		b.at("OHLC", c, 0)
	}
	for i, c := range prices {
		if b.err == nil && slices.Contains(prices[:i], c) {
			b.refuse("OHLC: channel twice", c, "four different ones")
		}
	}
	for _, pair := range [4][2]int{{open, high}, {close, high}, {low, open}, {low, close}} {
		if b.at("OHLC", pair[0], 0) && b.at("OHLC", pair[1], 0) {
			for t := range b.shape.Length {
				b.order(pair[0], t, pair[1], t)
			}
		}
	}
}

// Trend requires channel c to be non-decreasing over the times t with start ≤ t < end. If down is
// true, the channel must be non-increasing instead.
func (b *Builder) Trend(c, start, end int, down bool) {
	if !b.within("Trend", c, start, end) {
		return
	}
	for t := start; t+1 < end; t++ {
		if down {
			b.order(c, t+1, c, t)
		} else {
			b.order(c, t, c, t+1)
		}
	}
}

// Autocorrelation requires that the autocorrelation r of channel c at the given lag equal the given
// value, within the tolerance that the [Shape] sets. With the mean x̄ of the channel,
//
//	r = Σ_t (x_t − x̄)(x_{t+lag} − x̄) / Σ_t (x_t − x̄)².
//
// Unlike the other constraints of a Builder, this constraint is not convex in x.
func (b *Builder) Autocorrelation(c, lag int, value float64) {
	if !b.at("Autocorrelation", c, 0) {
		return
	}
	if lag < 1 || lag >= b.shape.Length {
		b.refuse("Autocorrelation: lag", lag, fmt.Sprintf("1…%d", b.shape.Length-1))
		return
	}
	if !(math.Abs(value) < 1) {
		b.refuse("Autocorrelation: value", value, "between -1 and 1")
		return
	}
	tau := b.shape.tolerance()
	b.out.curves = append(b.out.curves, autocorrelation{c, b.shape.Channels, b.shape.Length, lag, value - tau, value + tau})
	b.out.names = append(b.out.names, fmt.Sprintf("autocorrelation of %s at lag %d = %v", b.shape.channel(c), lag, value))
}

// Row adds the inequality lower ≤ a·x ≤ upper on the raw series x, for instance to combine several
// channels. Entry t·channels + c of x is channel c at time t. The name appears in errors. The unit
// of a violation is the largest scale of the channels that the row combines (see [Shape]).
func (b *Builder) Row(name string, a constraint.Row, lower, upper float64) {
	if b.err != nil {
		return
	}
	one := constraint.Slabs{A: []constraint.Row{a}, Lower: []float64{lower}, Upper: []float64{upper}}
	if err := one.Validate(b.out.sites); err != nil {
		b.err = fmt.Errorf("%s: %w", name, err)
		return
	}
	b.row(name, a, lower, upper)
}

// extreme requires that sign·x_t be largest at time t of channel c.
func (b *Builder) extreme(method, word string, c, t, sign int) {
	if !b.at(method, c, t) {
		return
	}
	name := fmt.Sprintf("%s at %d is the %s", b.shape.channel(c), t, word)
	for i := range b.shape.Length {
		if i != t {
			b.row(name, b.difference(c, i, c, t, float64(sign)), math.Inf(-1), 0)
		}
	}
}

// order adds the row x[c,t] ≤ x[d,u].
func (b *Builder) order(c, t, d, u int) {
	name := fmt.Sprintf("%s at %d ≤ %s at %d", b.shape.channel(c), t, b.shape.channel(d), u)
	b.row(name, b.difference(c, t, d, u, 1), math.Inf(-1), 0)
}

// equal adds the equation a·x = value, within the tolerance of the shape.
func (b *Builder) equal(name string, a constraint.Row, value float64) {
	tau := float64(b.shape.tolerance() * b.unit(a))
	b.row(name, a, value-tau, value+tau)
}

// row converts a row on raw values to one on standardised values, in units of the largest scale
// among its channels, and adds it.
func (b *Builder) row(name string, a constraint.Row, lower, upper float64) {
	if b.err != nil {
		return
	}
	if math.IsNaN(lower) || math.IsNaN(upper) || math.IsInf(lower, 1) || math.IsInf(upper, -1) || lower > upper {
		b.err = &constraint.ArgumentError{Func: "series.Builder", Arg: name, Value: fmt.Sprintf("%v … %v", lower, upper), Want: "numbers, lower ≤ upper"}
		return
	}
	unit := b.unit(a)
	r := constraint.Row{Index: a.Index, Value: make([]float64, len(a.Value))}
	for k, i := range a.Index {
		shift, scale := b.shape.affine(int(i) % b.shape.Channels)
		r.Value[k] = a.Value[k] * scale / unit
		lower -= float64(a.Value[k] * shift)
		upper -= float64(a.Value[k] * shift)
	}
	s := &b.out.slabs
	at := len(s.A) // names of rows come before those of autocorrelations
	s.A, s.Lower, s.Upper = append(s.A, r), append(s.Lower, lower/unit), append(s.Upper, upper/unit)
	b.out.names = append(b.out.names, "")
	copy(b.out.names[at+1:], b.out.names[at:])
	b.out.names[at] = name
}

// unit returns the largest scale among the channels of a row, or 1 if the row is empty.
func (b *Builder) unit(a constraint.Row) float64 {
	unit := 0.0
	for _, i := range a.Index {
		_, scale := b.shape.affine(int(i) % b.shape.Channels)
		unit = max(unit, scale)
	}
	if unit == 0 {
		return 1
	}
	return unit
}

// total returns the row factor·Σ x[c,t] over start ≤ t < end.
func (b *Builder) total(c, start, end int, factor float64) (r constraint.Row) {
	for t := start; t < end; t++ {
		r.Index, r.Value = append(r.Index, int32(t*b.shape.Channels+c)), append(r.Value, factor)
	}
	return r
}

// difference returns the row factor·(x[c,t] − x[d,u]).
func (b *Builder) difference(c, t, d, u int, factor float64) constraint.Row {
	n := b.shape.Channels
	return constraint.Row{Index: []int32{int32(t*n + c), int32(u*n + d)}, Value: []float64{factor, -factor}}
}

// at reports whether channel c and time t exist, and records an error if they do not.
func (b *Builder) at(method string, c, t int) bool {
	switch {
	case b.err != nil:
	case c < 0 || c >= b.shape.Channels:
		b.refuse(method+": channel", c, fmt.Sprintf("0…%d", b.shape.Channels-1))
	case t < 0 || t >= b.shape.Length:
		b.refuse(method+": time", t, fmt.Sprintf("0…%d", b.shape.Length-1))
	}
	return b.err == nil
}

// within reports whether start ≤ t < end is a nonempty range of times of channel c, and records an
// error if it is not.
func (b *Builder) within(method string, c, start, end int) bool {
	if b.at(method, c, start) && (end <= start || end > b.shape.Length) {
		b.refuse(method+": end", end, fmt.Sprintf("%d…%d", start+1, b.shape.Length))
	}
	return b.err == nil
}

func (b *Builder) refuse(arg string, value any, want string) {
	b.err = &constraint.ArgumentError{Func: "series.Builder", Arg: arg, Value: value, Want: want}
}

// span formats a range of times for names.
func span(from, to int) string { return fmt.Sprintf("t = %d…%d", from, to-1) }
