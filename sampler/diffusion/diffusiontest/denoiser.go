package diffusiontest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DenoiserOptions states what is known about the denoiser that [TestDenoiser] checks.
type DenoiserOptions struct {
	// Joint, if not nil, is the distribution of x_0 for which the denoiser's predictions are exact.
	// Entry k is the probability of the state x with k = Σ_i x_i·levels^i; it is 0 if a token is
	// the mask.
	Joint []float64

	// Mask is the level of masked tokens, or −1 if noise replaces tokens by other tokens. If the
	// denoiser is energy.Masking, its mask is used instead.
	Mask int32

	// Tolerance is the largest allowed error of a probability; 0 means 2⁻¹⁶, which suits
	// predictions in float32.
	Tolerance float64

	// Rounding is the largest relative difference allowed between predicting a state alone and in a
	// batch; 0 means that the bits must be the same. Set it if matrix products round differently
	// for different batch sizes.
	Rounding float64
}

// TestDenoiser checks a denoiser of tokens against the requirements of [energy.Denoiser]. It uses
// three values of the time t and all states of the denoiser's shape, of which there may be at most
// 2¹⁰. A row is the prediction for one site.
//
//   - shape: Sites and levels are ≥ 1 and constant, and calls with slices of wrong lengths panic.
//   - number: Rows have no NaN, no +Inf and at least one finite weight, unless the state is
//     impossible under DenoiserOptions.Joint.
//   - pure: Predicting a batch again gives the same bits, and does not change the batch.
//   - batch: The rows of a state do not depend on other states, their order or sample indices.
//   - timeless: The predictions of an energy.Timeless denoiser do not depend on time.
//   - posterior: Rows equal log p(x_0,i | x_t) by enumeration, also where tokens are marked clean.
//     For a leave-one-out denoiser, x_t,i is excluded.
//   - context: If ctx has ended, the denoiser returns the error of ctx or the usual predictions.
func TestDenoiser(ctx context.Context, d energy.Denoiser[int32], o DenoiserOptions) error {
	part, err := laws.Given("diffusiontest", "d", d)
	if err != nil {
		return err
	}
	if o.Tolerance == 0 {
		o.Tolerance = 0x1p-16
	}
	c := &denoiserChecker[int32]{Part: part, d: d, rounding: o.Rounding, tokens: &o}
	return c.all(ctx)
}

// RealDenoiserOptions states what is known about the denoiser that [TestRealDenoiser] checks.
type RealDenoiserOptions struct {
	// Mean, if not nil, returns E[x_0 | x_t] at signal level alpha. Predictions must equal this
	// mean. Mean should not share code with the denoiser.
	Mean func(x []float32, alpha float64) []float64

	// Tolerance is the largest allowed error of a mean, relative to 1 + |mean|; 0 means 2⁻¹⁶.
	Tolerance float64

	// Rounding is the largest relative difference allowed between predicting a state alone and in a
	// batch; 0 means that the bits must be the same.
	Rounding float64
}

// TestRealDenoiser checks a denoiser of reals at 24 random states. The requirements are those of
// [TestDenoiser], applied to predicted means instead of rows.
func TestRealDenoiser(ctx context.Context, d energy.Denoiser[float32], o RealDenoiserOptions) error {
	part, err := laws.Given("diffusiontest", "d", d)
	if err != nil {
		return err
	}
	if o.Tolerance == 0 {
		o.Tolerance = 0x1p-16
	}
	c := &denoiserChecker[float32]{Part: part, d: d, rounding: o.Rounding, reals: &o}
	return c.all(ctx)
}

type denoiserChecker[S energy.Site] struct {
	laws.Part
	d             energy.Denoiser[S]
	sites, levels int
	rounding      float64
	tokens        *DenoiserOptions // options for tokens; nil for reals
	reals         *RealDenoiserOptions

	x    []S       // states to check
	want []float32 // rows of the states at the current time
}

// moments lists the times and signal levels at which the denoiser is checked.
var moments = [][2]float64{{0.95, 0.06}, {0.5, 0.5}, {0.1, 0.92}}

func (c *denoiserChecker[S]) all(ctx context.Context) error {
	order := []law{{"shape", func(context.Context) error { return c.shape() }}}
	for _, at := range moments {
		check := func(name string, f func(ctx context.Context, t, alpha float64) error) law {
			return law{name, func(ctx context.Context) error { return f(ctx, at[0], at[1]) }}
		}
		order = append(
			order, check("pure", c.pure), check("number", c.number), check("batch", c.batch), check("timeless", c.timeless),
			check("posterior", c.posterior), check("posterior", c.clean), check("context", c.ended),
		)
	}
	if err := inOrder(ctx, c.Part, order...); err != nil {
		return err
	}
	if sites, levels := c.d.Shape(); sites != c.sites || levels != c.levels {
		return c.Broken("shape", "Shape() = %d, %d after some predictions, %d, %d before", sites, levels, c.sites, c.levels)
	}
	return nil
}

func (c *denoiserChecker[S]) shape() error {
	c.sites, c.levels = c.d.Shape()
	if c.sites < 1 || c.levels < 1 || c.reals != nil && c.levels != 1 {
		return c.Broken("shape", "Shape() = %d, %d", c.sites, c.levels)
	}
	if c.reals != nil {
		r := rand.New(rand.NewPCG(39, 12))
		for range 24 * c.sites {
			c.x = append(c.x, S(r.NormFloat64()))
		}
		return nil
	}
	if math.Pow(float64(c.levels), float64(c.sites)) > 1<<10 {
		return c.Broken("shape", "Shape() = %d, %d, want at most 2¹⁰ states", c.sites, c.levels)
	}
	if m, ok := energy.As[energy.Masking](c.d); ok {
		c.tokens.Mask = m.MaskLevel()
	}
	if n := laws.Size(c.sites, c.levels); c.tokens.Joint != nil && len(c.tokens.Joint) != n {
		return c.Broken("shape", "len(Options.Joint) = %d, want %d", len(c.tokens.Joint), n)
	}
	for _, x := range laws.States(c.sites, c.levels) {
		if c.tokens.Joint != nil && c.impossible(x) {
			continue
		}
		for _, l := range x {
			c.x = append(c.x, S(l))
		}
	}
	return nil
}

// oracle returns the exact denoiser of the joint distribution in the options.
func (c *denoiserChecker[S]) oracle() *joint {
	return &joint{sites: c.sites, levels: c.levels, mask: c.tokens.Mask, p: c.tokens.Joint}
}

// impossible reports whether no clean state can be corrupted to x.
func (c *denoiserChecker[S]) impossible(x []int32) bool {
	return math.IsNaN(c.oracle().posterior(x, 0.5, nil, false)[0])
}

// noised returns a batch of the states x at time t and signal level alpha.
func (c *denoiserChecker[S]) noised(x []S, t, alpha float64) energy.Noised[S] {
	n := len(x) / c.sites
	q := energy.Noised[S]{X: slices.Clone(x), Time: slices.Repeat([]float64{t}, n), Alpha: slices.Repeat([]float64{alpha}, n)}
	for s := range n {
		q.Sample = append(q.Sample, s)
		q.Src = append(q.Src, sampler.NewStream(7, uint64(s)))
	}
	return q
}

// predict returns the predictions of the denoiser for a batch.
func (c *denoiserChecker[S]) predict(ctx context.Context, q energy.Noised[S]) ([]float32, error) {
	v := slices.Repeat([]float32{float32(math.NaN())}, len(q.X)*c.levels)
	return v, c.d.Denoise(ctx, v, q)
}

func (c *denoiserChecker[S]) row(v []float32, s int) []float32 {
	size := c.sites * c.levels
	return v[s*size : (s+1)*size]
}

func (c *denoiserChecker[S]) pure(ctx context.Context, t, alpha float64) (err error) {
	q := c.noised(c.x, t, alpha)
	if c.want, err = c.predict(ctx, q); err != nil {
		return c.Broken("pure", "Denoise: %v", err)
	}
	if !slices.Equal(q.X, c.x) || slices.ContainsFunc(q.Time, func(v float64) bool { return v != t }) || slices.ContainsFunc(q.Alpha, func(v float64) bool { return v != alpha }) {
		return c.Broken("pure", "Denoise changes its batch")
	}
	again, err := c.predict(ctx, c.noised(c.x, t, alpha))
	if err != nil {
		return c.Broken("pure", "Denoise, again: %v", err)
	}
	for i, w := range again {
		if math.Float32bits(w) != math.Float32bits(c.want[i]) {
			s := i / (c.sites * c.levels)
			return c.Broken("pure", "state %v at time %v has the row %v, and %v in another prediction", c.state(s), t, c.row(c.want, s), c.row(again, s))
		}
	}
	for _, wrong := range []func(){
		func() { _ = c.d.Denoise(ctx, make([]float32, len(c.want)+1), c.noised(c.x, t, alpha)) },
		func() { _ = c.d.Denoise(ctx, c.want[:len(c.want)-1], c.noised(c.x, t, alpha)) },
		func() {
			q := c.noised(c.x, t, alpha)
			q.Alpha = q.Alpha[1:]
			_ = c.d.Denoise(ctx, slices.Clone(c.want), q)
		},
	} {
		if laws.Panic(wrong) == nil {
			return c.Broken("shape", "slices of a wrong length do not panic")
		}
	}
	return nil
}

func (c *denoiserChecker[S]) state(s int) []S { return c.x[s*c.sites : (s+1)*c.sites] }

func (c *denoiserChecker[S]) number(_ context.Context, t, _ float64) error {
	for s := range len(c.x) / c.sites {
		for i := range c.sites {
			row := c.row(c.want, s)[i*c.levels : (i+1)*c.levels]
			for l, w := range row {
				if w != w || math.IsInf(float64(w), 1) || c.reals != nil && math.IsInf(float64(w), -1) {
					return c.Broken("number", "state %v at time %v: site %d, level %d is %v", c.state(s), t, i, l, w)
				}
			}
			if c.tokens != nil && c.tokens.Joint != nil && math.IsInf(float64(slices.Max(row)), -1) {
				return c.Broken("number", "state %v at time %v: the row of site %d is −Inf, and the state is possible", c.state(s), t, i)
			}
		}
	}
	return nil
}

// alike reports whether the rows got equal the known rows of state s, up to rounding.
func (c *denoiserChecker[S]) alike(got []float32, s int) bool {
	for i, w := range c.row(c.want, s) {
		if got[i] != w && !(math.Abs(float64(got[i]-w)) <= c.rounding*(1+math.Abs(float64(w)))) {
			return false
		}
	}
	return true
}

func (c *denoiserChecker[S]) batch(ctx context.Context, t, alpha float64) error {
	n := len(c.x) / c.sites
	whole := c.noised(c.x, t, alpha)
	for s := 0; s < n; s += 1 + n/16 { // check some of the states alone
		q := c.noised(c.state(s), t, alpha)
		q.Src[0] = whole.Src[s]
		got, err := c.predict(ctx, q)
		if err != nil {
			return c.Broken("batch", "Denoise of state %v alone: %v", c.state(s), err)
		}
		if !c.alike(got, s) {
			return c.Broken("batch", "state %v at time %v has the row %v alone and %v among others", c.state(s), t, got, c.row(c.want, s))
		}
	}
	// all states in reverse order, under other sample numbers
	var back []S
	for s := n - 1; s >= 0; s-- {
		back = append(back, c.state(s)...)
	}
	q := c.noised(back, t, alpha)
	for k := range q.Sample {
		q.Sample[k] = 1000 + 3*k
		q.Src[k] = sampler.NewStream(7, uint64(n-1-k))
	}
	got, err := c.predict(ctx, q)
	if err != nil {
		return c.Broken("batch", "Denoise in the opposite order: %v", err)
	}
	for s := range n {
		if k := n - 1 - s; !c.alike(c.row(got, k), s) {
			return c.Broken("batch", "state %v at time %v has the row %v in place %d and %v in place %d", c.state(s), t, c.row(c.want, s), s, c.row(got, k), k)
		}
	}
	return nil
}

func (c *denoiserChecker[S]) timeless(ctx context.Context, t, alpha float64) error {
	if !energy.TimeFree(c.d) {
		return nil
	}
	got, err := c.predict(ctx, c.noised(c.x, t/2, alpha/3))
	if err != nil {
		return c.Broken("timeless", "Denoise: %v", err)
	}
	for s := range len(c.x) / c.sites {
		if !slices.Equal(c.row(got, s), c.row(c.want, s)) {
			return c.Broken("timeless", "state %v has the row %v at time %v and %v at %v", c.state(s), c.row(c.want, s), t, c.row(got, s), t/2)
		}
	}
	return nil
}

func (c *denoiserChecker[S]) posterior(_ context.Context, t, alpha float64) error {
	for s := range len(c.x) / c.sites {
		if err := c.compare(s, c.row(c.want, s), nil, t, alpha); err != nil {
			return err
		}
	}
	return nil
}

// compare checks the rows of state s against Mean or Joint of the options.
func (c *denoiserChecker[S]) compare(s int, row []float32, clean []bool, t, alpha float64) error {
	if c.reals != nil {
		if c.reals.Mean == nil || clean != nil {
			return nil
		}
		x := make([]float32, c.sites)
		for i, v := range c.state(s) {
			x[i] = float32(v)
		}
		for i, m := range c.reals.Mean(x, alpha) {
			if !(math.Abs(float64(row[i])-m) <= c.reals.Tolerance*(1+math.Abs(m))) {
				return c.Broken("posterior", "E[x_0,%d | x_t = %v] at ᾱ = %v is %v, want %v", i, x, alpha, row[i], m)
			}
		}
		return nil
	}
	if c.tokens.Joint == nil {
		return nil
	}
	x := make([]int32, c.sites)
	for i, l := range c.state(s) {
		x[i] = int32(l)
	}
	want := c.oracle().posterior(x, alpha, clean, energy.LeaveOneOut(c.d))
	for i := range c.sites {
		if clean != nil && clean[i] || math.IsNaN(want[i*c.levels]) {
			continue // the row of a clean site is not used; the state may be impossible
		}
		for l, p := range softmax(row[i*c.levels : (i+1)*c.levels]) {
			if w := want[i*c.levels+l]; !(math.Abs(p-w) <= c.tokens.Tolerance) {
				return c.Broken("posterior", "p(x_0,%d = %d | x_t = %v, clean: %v) at time %v is %v, want %v", i, l, x, clean, t, p, w)
			}
		}
	}
	return nil
}

// clean checks predictions where the first site of every state is marked clean, unless it is a
// mask.
func (c *denoiserChecker[S]) clean(ctx context.Context, t, alpha float64) error {
	if c.tokens == nil || c.tokens.Joint == nil {
		return nil
	}
	q := c.noised(c.x, t, alpha)
	q.Clean = make([]bool, len(q.X))
	for at := 0; at < len(q.X); at += c.sites {
		q.Clean[at] = int32(q.X[at]) != c.tokens.Mask
	}
	v, err := c.predict(ctx, q)
	if err != nil {
		return c.Broken("posterior", "Denoise with a token that is marked clean: %v", err)
	}
	for s := range len(c.x) / c.sites {
		if err := c.compare(s, c.row(v, s), q.Clean[s*c.sites:(s+1)*c.sites], t, alpha); err != nil {
			return err
		}
	}
	return nil
}

func (c *denoiserChecker[S]) ended(ctx context.Context, t, alpha float64) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	v, err := c.predict(over, c.noised(c.x, t, alpha))
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			return c.Broken("context", "a context that has ended: %v, want its error", err)
		}
		return nil
	}
	for s := range len(c.x) / c.sites {
		if !c.alike(c.row(v, s), s) {
			return c.Broken("context", "state %v has another row under a context that has ended, and no error", c.state(s))
		}
	}
	return nil
}
