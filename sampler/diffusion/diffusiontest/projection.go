package diffusiontest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// ProjectionOptions states what the documentation of a projector promises; [TestProjector] checks
// it. If only Accepts is set, the projector is for tokens and promises one thing: the most likely
// sequence of a projected prediction is feasible.
type ProjectionOptions struct {
	// Sites and Levels are the shape of a sample; 0 means 4 sites and 3 levels. For reals,
	// Levels is 1.
	Sites, Levels int

	// Accepts reports whether a sequence is feasible. It is required for tokens, and should not
	// share code with the projector.
	Accepts func(x []int32) bool

	// Violation, for reals, returns the violation of a series. It should not share code with the
	// projector. The series is feasible if its violation is at most Tolerance; a Tolerance of 0
	// means 1e-6.
	Violation func(x []float32) float64
	Tolerance float64

	// Nearest promises that a projection is the nearest feasible one. For reals this is the nearest
	// feasible series. For tokens, a distribution y is feasible if one of its most likely sequences
	// is feasible. The projection of a prediction p is the feasible y with the smallest KL(p‖y).
	Nearest bool

	// Search declares that the projection is found by a random search and need not be the nearest.
	// The result may differ between samples, and change when it is projected again.
	Search bool

	// Weight, if not nil, returns the log-weight with which a [diffusion.Drawer] draws a sequence
	// x, given the prediction v. The default is Σ_i v[i, x_i].
	Weight func(v []float32, x []int32) float64

	// Tables is the number of random predictions to project; 0 means 20. Draws is the number of
	// joint draws from each prediction; 0 means 1000.
	Tables, Draws int

	// Last declares that only the last step, which ends at time 0, need give a feasible projection.
	Last bool

	// Conditional declares that Project stores the marginals of the conditional distribution. Their
	// most likely sequence need not be feasible.
	Conditional bool
}

// TestProjector checks a projector against the requirements of [diffusion.Projector] and
// [diffusion.Projection]. A table is a prediction: it holds the log-weights of all levels at all
// sites.
//
//   - bind: Shapes without sites, levels or samples are rejected.
//   - feasible: The most likely sequence of a projected table, or the projected series, is
//     feasible.
//   - untouched: A table whose most likely sequence is feasible by a wide margin does not change.
//   - again: Projecting a second time changes no more than rounding does.
//   - nearest: The divergence equals the minimum found by enumeration, if the options promise this.
//   - slots: A projection depends neither on other samples nor on the sample's index in its batch.
//   - infeasible: If no feasible sequence has weight, the error wraps constraint.ErrInfeasible.
//   - draw: A [diffusion.Drawer] draws from the conditional distribution, returns the right log Z,
//     and does not change v.
func TestProjector(ctx context.Context, p diffusion.Projector, o ProjectionOptions) error {
	part, err := laws.Given("diffusiontest", "p", p)
	if err != nil {
		return err
	}
	for _, d := range []struct {
		v  *int
		to int
	}{{&o.Sites, 4}, {&o.Levels, 3}, {&o.Tables, 20}, {&o.Draws, 1000}} {
		if *d.v == 0 {
			*d.v = d.to
		}
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-6
	}
	c := &projectorChecker{Part: part, p: p, o: o, r: rand.New(rand.NewPCG(39, 20))}
	if o.Levels > 1 {
		if o.Accepts == nil {
			return c.Broken("bind", "Options.Accepts = nil, want what is feasible")
		}
		c.all = laws.States(o.Sites, o.Levels)
	} else if o.Violation == nil {
		return c.Broken("bind", "Options.Violation = nil, want what is feasible")
	}
	return inOrder(ctx, part, law{"bind", c.bind}, law{"feasible", c.project}, law{"slots", c.slots}, law{"infeasible", c.infeasible}, law{"draw", c.draw})
}

type projectorChecker struct {
	laws.Part
	p   diffusion.Projector
	o   ProjectionOptions
	r   *rand.Rand
	all [][]int32
}

func (c *projectorChecker) tokens() bool { return c.o.Levels > 1 }

func (c *projectorChecker) bind(ctx context.Context) error {
	for _, shape := range [][3]int{{0, c.o.Levels, 1}, {-1, c.o.Levels, 1}, {c.o.Sites, 0, 1}, {c.o.Sites, c.o.Levels, 0}, {c.o.Sites, c.o.Levels, -1}} {
		if _, err := c.p.Bind(ctx, shape[0], shape[1], shape[2]); err == nil {
			return c.Broken("bind", "Bind(%d, %d, %d) returns no error", shape[0], shape[1], shape[2])
		}
	}
	return nil
}

// bound returns a new projection for the given number of samples.
func (c *projectorChecker) bound(ctx context.Context, samples int) (diffusion.Projection, error) {
	b, err := c.p.Bind(ctx, c.o.Sites, c.o.Levels, samples)
	if err == nil && b == nil {
		err = errors.New("nil")
	}
	if err != nil {
		return nil, c.Broken("bind", "Bind(%d, %d, %d): %v", c.o.Sites, c.o.Levels, samples, err)
	}
	return b, nil
}

// table returns random log-weights, or a random series.
func (c *projectorChecker) table() []float32 {
	v := make([]float32, c.o.Sites*c.o.Levels)
	for i := range v {
		v[i] = float32(1.5 * c.r.NormFloat64())
	}
	return v
}

// likeliest returns the most likely sequence of the table v. lead is the smallest difference,
// over rows, between the largest and the second largest log-weight.
func (c *projectorChecker) likeliest(v []float32) (x []int32, lead float64) {
	lead = math.Inf(1)
	for i := range c.o.Sites {
		row := v[i*c.o.Levels : (i+1)*c.o.Levels]
		best := 0
		for l, w := range row {
			if w > row[best] {
				best = l
			}
		}
		for l, w := range row {
			if l != best {
				lead = min(lead, float64(row[best]-w))
			}
		}
		x = append(x, int32(best))
	}
	return x, lead
}

// slack is the largest change of a log-weight that rounding to float32 can cause.
const slack = 1e-4

// leads reports whether a feasible sequence is among the most likely ones, counting ties caused
// by rounding.
func (c *projectorChecker) leads(v []float32) bool {
	return slices.ContainsFunc(c.all, func(x []int32) bool {
		for i, l := range x {
			row := v[i*c.o.Levels : (i+1)*c.o.Levels]
			if float64(row[l]) < float64(slices.Max(row))-slack {
				return false
			}
		}
		return c.o.Accepts(slices.Clone(x))
	})
}

// to returns the time at which a projected step ends: 0 if the options require only the last
// step, and t otherwise.
func (c *projectorChecker) to(t float64) float64 {
	if c.o.Last {
		return 0
	}
	return t
}

// source returns the random source for a projection.
func source() rand.Source { return rand.NewPCG(39, 21) }

func (c *projectorChecker) project(ctx context.Context) error {
	b, err := c.bound(ctx, 1)
	if err != nil {
		return err
	}
	for range c.o.Tables {
		before := c.table()
		v := slices.Clone(before)
		violation, err := b.Project(ctx, 0, v, 0.5, c.to(0.4), source())
		if err != nil {
			return c.Broken("feasible", "Project(%v): %v", before, err)
		}
		if slices.ContainsFunc(v, func(w float32) bool { return w != w || math.IsInf(float64(w), 1) }) {
			return c.Broken("feasible", "%v becomes %v", before, v)
		}
		if err := c.feasible(before, v, violation); err != nil {
			return err
		}
		if c.o.Nearest {
			if err := c.nearest(before, v); err != nil {
				return err
			}
		}
		if c.o.Conditional {
			continue
		}
		again := slices.Clone(v)
		if _, err := b.Project(ctx, 0, again, 0.4, c.to(0.3), source()); err != nil {
			return c.Broken("again", "Project(%v), which is projected: %v", v, err)
		}
		if !c.o.Search && !c.close(v, again) {
			return c.Broken("again", "%v is projected, and becomes %v when projected again", v, again)
		}
		if w, ok := c.untouched(before, v); ok && !c.close(before, w) {
			return c.Broken("untouched", "%v is feasible, and becomes %v", before, w)
		}
	}
	return nil
}

// feasible checks that the projection v of the table before is feasible.
func (c *projectorChecker) feasible(before, v []float32, violation float64) error {
	if !c.tokens() {
		if worst := c.o.Violation(v); !(worst <= c.o.Tolerance) {
			return c.Broken("feasible", "%v becomes %v, whose violation is %v", before, v, worst)
		}
		return nil
	}
	if !(violation <= c.o.Tolerance) {
		return c.Broken("feasible", "Project(%v) returns a violation of %v", before, violation)
	}
	if !c.o.Conditional && !c.leads(v) {
		x, _ := c.likeliest(v)
		return c.Broken("feasible", "%v becomes %v, whose likeliest sequence is %v", before, v, x)
	}
	return nil
}

// untouched returns v, the projection of the table before. It also reports whether the projector
// should not have changed this table.
func (c *projectorChecker) untouched(before, v []float32) ([]float32, bool) {
	if !c.tokens() {
		return v, c.o.Violation(before) <= 0
	}
	x, lead := c.likeliest(before)
	return v, lead > 0.5 && c.o.Accepts(x) // a lead of e^0.5 exceeds every margin in use
}

// close reports whether a and b are equal up to rounding. It compares tables as distributions and
// series entry by entry.
func (c *projectorChecker) close(a, b []float32) bool {
	if !c.tokens() {
		for i := range a {
			if math.Abs(float64(a[i]-b[i])) > c.o.Tolerance*(1+math.Abs(float64(a[i]))) {
				return false
			}
		}
		return true
	}
	for i := range c.o.Sites {
		p, q := softmax(a[i*c.o.Levels:(i+1)*c.o.Levels]), softmax(b[i*c.o.Levels:(i+1)*c.o.Levels])
		for l := range p {
			if !(math.Abs(p[l]-q[l]) <= slack) {
				return false
			}
		}
	}
	return true
}

// nearest compares the divergence of a projection with the minimum over all feasible sequences.
func (c *projectorChecker) nearest(before, v []float32) error {
	if !c.tokens() {
		return nil // the tests of package proximal compare with their own oracle
	}
	best := math.Inf(1)
	for _, x := range c.all {
		if !c.o.Accepts(slices.Clone(x)) {
			continue
		}
		cost := 0.0
		for i, l := range x {
			cost += leastDivergence(softmax(before[i*c.o.Levels:(i+1)*c.o.Levels]), int(l))
		}
		best = min(best, cost)
	}
	got := 0.0
	for i := range c.o.Sites {
		q := softmax(v[i*c.o.Levels : (i+1)*c.o.Levels])
		for l, w := range softmax(before[i*c.o.Levels : (i+1)*c.o.Levels]) {
			got += w * math.Log(w/q[l])
		}
	}
	if !(math.Abs(got-best) <= slack*(1+best)) {
		return c.Broken("nearest", "%v moves by a divergence of %v, the least is %v", before, got, best)
	}
	return nil
}

// leastDivergence returns min_y KL(p‖y) over the distributions y in which no level is more likely
// than l. At the optimum, l and some of the more likely levels share their mean, and the others
// do not change. The function tries all choices of these levels.
func leastDivergence(p []float64, l int) float64 {
	order := make([]int, 0, len(p))
	for u := range p {
		if u != l {
			order = append(order, u)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	best := math.Inf(1)
	for k := range len(order) + 1 {
		sum := p[l]
		for _, u := range order[:k] {
			sum += p[u]
		}
		share := sum / float64(k+1)
		if k < len(order) && p[order[k]] > share {
			continue // not feasible
		}
		cost := p[l] * math.Log(p[l]/share)
		for _, u := range order[:k] {
			cost += p[u] * math.Log(p[u]/share)
		}
		best = min(best, cost)
	}
	return best
}

// slots projects tables in the slots of one projection, in mixed order, and compares with
// projecting each alone.
func (c *projectorChecker) slots(ctx context.Context) error {
	if c.o.Search {
		return nil
	}
	const samples = 3
	many, err := c.bound(ctx, samples)
	if err != nil {
		return err
	}
	for range 3 {
		var tables [samples][]float32
		for s := range samples {
			tables[s] = c.table()
		}
		for _, s := range []int{2, 0, 1} {
			alone, err := c.bound(ctx, 1)
			if err != nil {
				return err
			}
			a, b := slices.Clone(tables[s]), slices.Clone(tables[s])
			if _, err := alone.Project(ctx, 0, a, 0.5, c.to(0.4), source()); err != nil {
				return c.Broken("slots", "Project(%v): %v", tables[s], err)
			}
			if w, ok := many.(diffusion.Warm); ok {
				w.Reset(s)
			}
			if _, err := many.Project(ctx, s, b, 0.5, c.to(0.4), source()); err != nil {
				return c.Broken("slots", "Project(%v) in slot %d: %v", tables[s], s, err)
			}
			if !slices.Equal(a, b) {
				return c.Broken("slots", "%v becomes %v alone and %v in slot %d after others", tables[s], a, b, s)
			}
		}
	}
	return nil
}

// infeasible draws from tables in which a single infeasible sequence has all the weight.
func (c *projectorChecker) infeasible(ctx context.Context) error {
	if !c.tokens() {
		return nil
	}
	b, err := c.bound(ctx, 1)
	if err != nil {
		return err
	}
	d, draws := b.(diffusion.Drawer)
	if !draws {
		return nil
	}
	tried := 0
	for _, x := range c.all {
		if c.o.Accepts(slices.Clone(x)) || tried == 10 {
			continue
		}
		tried++
		v := slices.Repeat([]float32{float32(math.Inf(-1))}, c.o.Sites*c.o.Levels)
		for i, l := range x {
			v[i*c.o.Levels+int(l)] = 0
		}
		y := make([]int32, c.o.Sites)
		if _, err := d.Draw(ctx, y, v, source()); !errors.Is(err, constraint.ErrInfeasible) {
			return c.Broken("infeasible", "Draw where %v alone has weight: %v (%v), want constraint.ErrInfeasible", x, y, err)
		}
		if logZ, err := d.LogZ(ctx, v); err == nil && !math.IsInf(logZ, -1) || err != nil && !errors.Is(err, constraint.ErrInfeasible) {
			return c.Broken("infeasible", "LogZ where %v alone has weight: %v (%v), want constraint.ErrInfeasible", x, logZ, err)
		}
	}
	return nil
}

// draw compares joint draws with the conditional distribution.
func (c *projectorChecker) draw(ctx context.Context) error {
	b, err := c.bound(ctx, 1)
	if err != nil {
		return err
	}
	d, ok := b.(diffusion.Drawer)
	if !ok || !c.tokens() {
		return nil
	}
	const tables = 6
	for k := range tables {
		v := c.table()
		if k%2 == 1 {
			v[c.r.IntN(len(v))] = float32(math.Inf(-1))
		}
		want := make([]float64, len(c.all))
		for k, x := range c.all {
			want[k] = math.Inf(-1)
			if c.o.Accepts(slices.Clone(x)) {
				want[k] = c.weight(v, x)
			}
		}
		if math.IsInf(slices.Max(want), -1) {
			continue
		}
		logZ := laws.Normalize(want)
		before := slices.Clone(v)
		counts := make([]int, len(want))
		src := rand.NewPCG(39, uint64(k))
		x := make([]int32, c.o.Sites)
		for range c.o.Draws {
			got, err := d.Draw(ctx, x, v, src)
			if err != nil {
				return c.Broken("draw", "Draw(%v): %v", v, err)
			}
			if !(math.Abs(got-logZ) <= slack*(1+math.Abs(logZ))) {
				return c.Broken("draw", "Draw(%v) returns log Z = %v, want %v", v, got, logZ)
			}
			laws.Tally(counts, x, c.o.Sites, c.o.Levels)
		}
		if got, err := d.LogZ(ctx, v); err != nil || !(math.Abs(got-logZ) <= slack*(1+math.Abs(logZ))) {
			return c.Broken("draw", "LogZ(%v) = %v (%v), want %v", v, got, err, logZ)
		}
		if !slices.Equal(v, before) {
			return c.Broken("draw", "Draw changes %v to %v", before, v)
		}
		if p := laws.PValue(counts, want); p < laws.Rate/tables {
			k, _ := laws.WorstCell(counts, want)
			return c.Broken("draw", "draws from %v: p-value %.2g; worst sequence %v, %d of %d draws, want about %.1f", v, p, c.all[k], counts[k], c.o.Draws, want[k]*float64(c.o.Draws))
		}
	}
	return nil
}

func (c *projectorChecker) weight(v []float32, x []int32) float64 {
	if c.o.Weight != nil {
		return c.o.Weight(v, x)
	}
	sum := 0.0
	for i, l := range x {
		sum += float64(v[i*c.o.Levels+int(l)])
	}
	return sum
}
