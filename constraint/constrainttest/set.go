package constrainttest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// TestSet checks a set of inequalities against the laws of [constraint.Set] on every sequence of
// Options.Sites tokens:
//
//   - length: Len does not change, and Violation fills all of g and no more;
//   - number: no value is NaN;
//   - batch: a sequence has the same values alone and in a batch, and x is not modified;
//   - sign: all inequalities hold for a sequence if and only if Options.Accepts returns true;
//   - value: g equals the values of Options.Violation, for feasible and infeasible sequences;
//   - shape: calls with slices whose lengths do not divide evenly panic;
//   - concurrent: goroutines that call Violation at the same time get the same values as a single
//     one.
func TestSet(ctx context.Context, s constraint.Set, o Options) error {
	part, err := laws.Given("constrainttest", "s", s)
	if err != nil {
		return err
	}
	n, err := o.size()
	if err != nil {
		return err
	}
	c := &setChecker{Part: part, s: s, o: o, n: s.Len()}
	if c.n < 0 {
		return c.Broken("length", "Len() = %d, want ≥ 0", c.n)
	}
	for _, x := range laws.States(o.Sites, o.Levels) {
		c.x = append(c.x, x...)
	}
	for _, l := range []struct {
		name  string
		check func() error
	}{{"length", c.whole}, {"batch", c.single}, {"sign", c.judge}, {"shape", c.shapes}, {"concurrent", c.together}} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := c.Run(l.name, l.check); err != nil {
			return err
		}
	}
	if s.Len() != c.n {
		return c.Broken("length", "Len() = %d after %d states, %d before", s.Len(), n, c.n)
	}
	return nil
}

type setChecker struct {
	laws.Part
	s constraint.Set
	o Options
	n int
	x []int32   // all states, one after the other
	g []float64 // values of all states, row-major
}

// unset is the value with which g is filled before a call, to detect entries that Violation
// does not overwrite. Its bits are those of a NaN that no computation produces.
var unset = math.Float64frombits(0x7ff8_dead_beef_0000)

// marked returns a slice of n unset values.
func marked(n int) []float64 { return slices.Repeat([]float64{unset}, n) }

func isUnset(v float64) bool { return math.Float64bits(v) == math.Float64bits(unset) }

func (c *setChecker) state(k int) []int32 { return c.x[k*c.o.Sites : (k+1)*c.o.Sites] }

func (c *setChecker) row(k int) []float64 { return c.g[k*c.n : (k+1)*c.n] }

func (c *setChecker) states() int { return len(c.x) / c.o.Sites }

func (c *setChecker) whole() error {
	all := marked(c.states()*c.n + 1)
	c.g = all[: len(all)-1 : len(all)-1]
	x := slices.Clone(c.x)
	c.s.Violation(c.g, x)
	if !slices.Equal(x, c.x) {
		return c.Broken("batch", "Violation changes x")
	}
	for at, v := range c.g {
		if isUnset(v) {
			return c.Broken("length", "Violation leaves g[%d] of state %v as it was", at%c.n, c.state(at/c.n))
		}
		if math.IsNaN(v) {
			return c.Broken("number", "g[%d] of state %v is NaN", at%c.n, c.state(at/c.n))
		}
	}
	return nil
}

func (c *setChecker) single() error {
	for k := range c.states() {
		g := marked(c.n)
		c.s.Violation(g, c.state(k))
		if !slices.Equal(g, c.row(k)) {
			return c.Broken("batch", "state %v has the values %v alone and %v among others", c.state(k), g, c.row(k))
		}
	}
	// Two at a time, the later first.
	g := marked(2 * c.n)
	for k := 1; k < c.states(); k++ {
		c.s.Violation(g, append(slices.Clone(c.state(k)), c.state(k-1)...))
		if !slices.Equal(g[:c.n], c.row(k)) || !slices.Equal(g[c.n:], c.row(k-1)) {
			return c.Broken("batch", "states %v, %v have the values %v together, %v and %v among others", c.state(k), c.state(k-1), g, c.row(k), c.row(k-1))
		}
	}
	c.s.Violation(nil, nil)
	return nil
}

// near reports whether got equals want within 1e-9 times 1+largest, where largest is the
// largest absolute value. The tolerance is far above the rounding errors of any sum over few
// sites, and far below the effect of a wrong weight.
func near(got, want, largest float64) bool {
	return got == want || math.Abs(got-want) <= 1e-9*(1+largest)
}

func (c *setChecker) judge() error {
	want := make([]float64, c.n)
	largest := 0.0
	for _, v := range c.g {
		if !math.IsInf(v, 0) {
			largest = max(largest, math.Abs(v))
		}
	}
	for k := range c.states() {
		x, g := c.state(k), c.row(k)
		if c.o.Accepts != nil {
			feasible := !slices.ContainsFunc(g, func(v float64) bool { return v > 0 })
			if feasible != c.o.Accepts(slices.Clone(x)) {
				return c.Broken("sign", "state %v has g = %v, feasible: %v, want %v", x, g, feasible, !feasible)
			}
		}
		if c.o.Violation != nil {
			c.o.Violation(want, slices.Clone(x))
			for j, v := range want {
				if !near(g[j], v, largest) {
					return c.Broken("value", "state %v has g[%d] = %v, want %v", x, j, g[j], v)
				}
			}
		}
	}
	return nil
}

func (c *setChecker) shapes() error {
	if c.n > 1 {
		if laws.Panic(func() { c.s.Violation(make([]float64, c.n+1), make([]int32, c.o.Sites)) }) == nil {
			return c.Broken("shape", "len(g) = %d with Len() = %d does not panic", c.n+1, c.n)
		}
	}
	if c.n > 0 && laws.Panic(func() { c.s.Violation(make([]float64, 2*c.n), make([]int32, 2*c.o.Sites+1)) }) == nil {
		return c.Broken("shape", "2 states in %d sites do not panic", 2*c.o.Sites+1)
	}
	return nil
}

func (c *setChecker) together() error {
	const callers = 4
	got, errs := make([][]float64, callers), make([]error, callers)
	var wg sync.WaitGroup
	for k := range callers {
		wg.Go(func() {
			got[k] = marked(len(c.g))
			errs[k] = c.Run("concurrent", func() error { c.s.Violation(got[k], c.x); return nil })
		})
	}
	wg.Wait()
	for k := range callers {
		if errs[k] != nil {
			return errs[k]
		}
		if !slices.Equal(got[k], c.g) {
			return c.Broken("concurrent", "values change while other goroutines evaluate")
		}
	}
	return nil
}

// TestSmooth checks inequalities with derivatives against the laws of [constraint.Smooth] at random
// points. A point is a table of Options.Sites × Options.Levels probabilities, or a series of Sites
// reals if Levels is 1.
//
//   - length, number: as in [TestSet];
//   - pure: Value and Pull give the same result when repeated, and do not modify v and w;
//   - one-hot: if s is also a [constraint.Set], Value on the one-hot rows of a token sequence
//     equals Violation;
//   - pullback: Pull agrees with the vector–Jacobian product wᵀ·∂g/∂v computed by finite
//     differences, along directions that keep the sum of each row at 1;
//   - adds: Pull adds to dst instead of overwriting dst;
//   - shape: calls with slices of a wrong length panic.
func TestSmooth(ctx context.Context, s constraint.Smooth, o Options) error {
	part, err := laws.Given("constrainttest", "s", s)
	if err != nil {
		return err
	}
	if _, err := o.size(); err != nil {
		return err
	}
	c := &smoothChecker{Part: part, s: s, o: o, n: s.Len(), r: rand.New(rand.NewPCG(39, 1))}
	if c.n < 1 {
		return c.Broken("length", "Len() = %d, want ≥ 1", c.n)
	}
	for _, l := range []struct {
		name  string
		check func() error
	}{{"pure", c.pure}, {"one-hot", c.corners}, {"pullback", c.pullback}, {"shape", c.shapes}} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := c.Run(l.name, l.check); err != nil {
			return err
		}
	}
	return nil
}

type smoothChecker struct {
	laws.Part
	s constraint.Smooth
	o Options
	n int
	r *rand.Rand
}

// points is the number of random points at which each law is checked.
const points = 8

// point returns a random point in the interior of the domain. The entries of rows are multiples
// of 2⁻¹⁶. float32 therefore represents them, and the points at finite-difference steps from
// them, exactly.
func (c *smoothChecker) point() []float32 {
	v := make([]float32, c.o.Sites*c.o.Levels)
	if c.o.Levels == 1 {
		for i := range v {
			v[i] = float32(math.Round(c.r.NormFloat64()*0x1p10) / 0x1p10)
		}
		return v
	}
	for i := 0; i < len(v); i += c.o.Levels {
		row := v[i : i+c.o.Levels]
		left := 1.0
		for l := range len(row) - 1 {
			share := left / float64(len(row)-l) * (0.5 + c.r.Float64())
			share = math.Round(share*0x1p16) / 0x1p16
			row[l] = float32(share)
			left -= share
		}
		row[len(row)-1] = float32(left)
	}
	return v
}

func (c *smoothChecker) value(v []float32) []float64 {
	g := marked(c.n)
	c.s.Value(g, v)
	return g
}

func (c *smoothChecker) pull(v []float32, w []float64) []float32 {
	dst := make([]float32, len(v))
	c.s.Pull(dst, v, w)
	return dst
}

func (c *smoothChecker) weights() []float64 {
	w := make([]float64, c.n)
	for j := range w {
		w[j] = c.r.NormFloat64()
	}
	return w
}

func (c *smoothChecker) pure() error {
	for range points {
		v, w := c.point(), c.weights()
		before, weights := slices.Clone(v), slices.Clone(w)
		g, d := c.value(v), c.pull(v, w)
		for j, y := range g {
			if isUnset(y) {
				return c.Broken("length", "Value leaves g[%d] as it was at v = %v", j, v)
			}
			if math.IsNaN(y) {
				return c.Broken("number", "g[%d] = NaN at v = %v", j, v)
			}
		}
		other := c.point()
		c.value(other)
		c.pull(other, w)
		if !slices.Equal(g, c.value(v)) || !slices.Equal(d, c.pull(v, w)) {
			return c.Broken("pure", "another evaluation at v = %v gives other values", before)
		}
		if !slices.Equal(v, before) || !slices.Equal(w, weights) {
			return c.Broken("pure", "v or w is changed at v = %v", before)
		}
		twice := slices.Clone(d)
		c.s.Pull(twice, v, w)
		for i := range twice {
			if !near32(float64(twice[i]), 2*float64(d[i]), math.Abs(float64(d[i]))) {
				return c.Broken("adds", "dst[%d] = %v after two calls of Pull and %v after one at v = %v", i, twice[i], d[i], v)
			}
		}
	}
	return nil
}

// near32 reports whether two float32 sums of a few terms up to scale agree. The tolerance 2⁻¹⁸
// allows for 2⁶ roundings.
func near32(got, want, scale float64) bool {
	return got == want || math.Abs(got-want) <= 0x1p-18*(scale+math.Abs(want))
}

func (c *smoothChecker) corners() error {
	set, ok := c.s.(constraint.Set)
	if !ok || c.o.Levels == 1 || set.Len() != c.n {
		return nil
	}
	want := make([]float64, c.n)
	for _, x := range laws.States(c.o.Sites, c.o.Levels) {
		v := make([]float32, c.o.Sites*c.o.Levels)
		for i, l := range x {
			v[i*c.o.Levels+int(l)] = 1
		}
		set.Violation(want, x)
		for j, y := range c.value(v) {
			if y != want[j] && math.Abs(y-want[j]) > max(c.o.Rounding, 1e-9)*(1+math.Abs(want[j])) {
				return c.Broken("one-hot", "g[%d] = %v on the rows of %v, and %v is its violation", j, y, x, want[j])
			}
		}
	}
	return nil
}

// pullback compares Pull with central differences of two widths, h and h/2. For smooth
// functions, the difference between the two bounds the error of the narrower one, apart from
// the rounding errors of the values.
func (c *smoothChecker) pullback() error {
	const h = 0x1p-6
	for range points {
		v, w := c.point(), c.weights()
		d := c.pull(v, w)
		scale := 0.0
		for _, y := range d {
			scale = max(scale, math.Abs(float64(y)))
		}
		for i := range v {
			from := -1
			if c.o.Levels > 1 {
				if from = i - i%c.o.Levels; from == i {
					continue
				}
			}
			wide, size := c.slope(v, w, i, from, h)
			narrow, _ := c.slope(v, w, i, from, h/2)
			got := float64(d[i])
			if from >= 0 {
				got -= float64(d[from])
			}
			slack := math.Abs(wide-narrow) + c.o.Rounding*size/h*8 + 0x1p-18*(scale+math.Abs(got))
			if !(math.Abs(got-narrow) <= slack) {
				return c.Broken("pullback", "wᵀ·∂g along entry %d (less entry %d of its row, −1: none) is %v by Pull and %v ± %.2g by differences, at v = %v, w = %v", i, from, got, narrow, slack, v, w)
			}
		}
	}
	return nil
}

// slope returns the central difference of wᵀg when entry i increases by h and entry from
// decreases by h (from < 0: no entry decreases). size is the sum of the absolute terms of wᵀg.
func (c *smoothChecker) slope(v []float32, w []float64, i, from int, h float32) (slope, size float64) {
	at := func(h float32) (sum float64) {
		y := slices.Clone(v)
		y[i] += h
		if from >= 0 {
			y[from] -= h
		}
		for j, g := range c.value(y) {
			sum += w[j] * g
			size += math.Abs(w[j] * g)
		}
		return sum
	}
	return (at(h) - at(-h)) / (2 * float64(h)), size
}

func (c *smoothChecker) shapes() error {
	v, w := c.point(), c.weights()
	for _, f := range []struct {
		what string
		call func()
	}{
		{"Value with a g too long", func() { c.s.Value(make([]float64, c.n+1), v) }},
		{"Pull with a dst too short", func() { c.s.Pull(make([]float32, len(v)-1), v, w) }},
		{"Pull with a w too long", func() { c.s.Pull(make([]float32, len(v)), v, append(w, 0)) }},
	} {
		if laws.Panic(f.call) == nil {
			return c.Broken("shape", "%s does not panic", f.what)
		}
	}
	return nil
}
