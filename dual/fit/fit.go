package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Fit is the loop that fits parameters θ. Each step estimates the gradient, moves θ by Adam,
// applies the penalties, and sets the parameters of the model. The result of a run depends on the
// configuration, the data and the chains, not on the number of workers. Methods must not be called
// concurrently with each other.
type Fit struct {
	cfg   Config
	p     energy.Parametric
	data  []int32
	sites int
	life  session.Session
	state

	g      []float64
	batch  []int32
	chosen []int32
}

// state is the part of a Fit that a checkpoint stores.
type state struct {
	phase   Phase
	theta   []float64
	average []float64 // mean of θ over the steps, with weights ∝ t²
	rule    adam
	steps   int
	res     residuals
}

// newState returns the state before the first step. The state starts at the parameters theta and
// keeps the slice.
func (f *Fit) newState(ctx context.Context, theta []float64) (s state, err error) {
	n := len(theta)
	s = state{theta: theta, average: slices.Clone(theta), rule: newAdam(n), res: newResiduals(n)}
	s.phase, err = f.cfg.Objective.Bind(ctx, f.p, f.data, f.cfg.Chains)
	return s, err
}

// New returns a fit of the parameters of the model p to data. Each row of data has one level per
// site. The fit keeps a reference to the slice data and does not modify it. The fit starts from the
// present parameters of p.
//
// New returns the errors of the objective, and an error in these cases:
//
//   - the model is nil or has no parameters, or a field of the configuration is out of range;
//   - the data do not consist of one or more whole rows;
//   - a level is out of range or a row has probability zero (the error names the row).
func New(ctx context.Context, p energy.Parametric, data []int32, cfg Config) (*Fit, error) {
	sites, levels, err := check.Model("fit", "New", "the model", p)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%sites != 0 {
		return nil, fmt.Errorf("fit: New: len(data) = %d, want a positive multiple of %d sites", len(data), sites)
	}
	for at, l := range data {
		if l < 0 || int(l) >= levels {
			return nil, fmt.Errorf("fit: New: row %d of the data has level %d at site %d, want 0 … %d", at/sites, l, at%sites, levels-1)
		}
	}
	rows := len(data) / sites
	e := make([]float64, rows)
	p.Energy(e, data)
	for r, v := range e {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("fit: New: energy of row %d of the data = %v, want a finite number", r, v)
		}
	}
	f := &Fit{cfg: cfg, p: p, data: data, sites: sites}
	theta := p.Params()
	n := len(theta)
	if n == 0 {
		return nil, fmt.Errorf("fit: New: the model has no parameters")
	}
	if err := f.cfg.fill(n, rows); err != nil {
		return nil, err
	}
	if f.state, err = f.newState(ctx, theta); err != nil {
		return nil, err
	}
	f.life = session.Session{Who: "fit", Checkpoint: cfg.Checkpoint, Len: f.Len, Write: f.write, Read: f.read}
	f.g, f.batch, f.chosen = make([]float64, n), make([]int32, f.cfg.Batch*sites), make([]int32, 0, f.cfg.Batch)
	return f, nil
}

// Run makes n steps. With n = math.MaxInt it continues until ctx ends. When Run returns, the model
// has the present parameters, and the chains have been Reset to them.
//
// If ctx ends, Run returns the error of ctx, and a later Run continues the interrupted step. Run
// also returns an error if the gradient is not finite, if the model rejects the parameters, or if
// the chains return an error. The failed step then does not change the parameters.
func (f *Fit) Run(ctx context.Context, n int) error {
	return f.run(ctx, n, func() bool { return false })
}

// run makes up to n steps like [Fit.Run], but ends after a step for which stop returns true.
func (f *Fit) run(ctx context.Context, n int, stop func() bool) error {
	return f.life.Run(ctx, n, func(int) error {
		if err := f.step(ctx); err != nil {
			return err
		}
		if n--; n > 0 && !stop() {
			return nil
		}
		return cmp.Or(f.phase.Settle(), session.ErrDone)
	})
}

func (f *Fit) step(ctx context.Context) error {
	clear(f.g)
	if err := f.phase.Gradient(ctx, f.g, f.rows(), f.steps, f.cfg.Seed); err != nil {
		return fmt.Errorf("fit: step %d: %w", f.steps, err)
	}
	for k, v := range f.g {
		if !check.Finite(v) {
			return fmt.Errorf("fit: step %d: gradient of parameter %d = %v, want a finite number", f.steps, k, v)
		}
	}
	eta := f.cfg.Rate(f.steps)
	if !(eta >= 0) || !check.Finite(eta) {
		return fmt.Errorf("fit: step %d: Config.Rate = %v, want a finite number ≥ 0", f.steps, eta)
	}
	before := f.p.Params()
	f.rule.step(f.theta, f.g, eta, &f.cfg)
	if err := f.p.SetParams(f.theta); err != nil {
		copy(f.theta, before)
		return fmt.Errorf("fit: step %d: %w", f.steps, err)
	}
	w := 3 / float64(f.steps+3)
	for k, t := range f.theta {
		f.average[k] += float64(w * (t - f.average[k]))
	}
	f.res.add(f.g)
	f.steps++
	if f.cfg.Observe != nil {
		f.cfg.Observe(f.steps-1, f.theta, f.g)
	}
	return nil
}

// rows returns the rows of data for the present step. The choice depends only on the seed and the
// step.
func (f *Fit) rows() []int32 {
	all := len(f.data) / f.sites
	if f.cfg.Batch == all {
		return f.data
	}
	r := rand.New(rand.NewPCG(f.cfg.Seed, uint64(f.steps)<<1))
	f.chosen = f.chosen[:0]
	for j := all - f.cfg.Batch; j < all; j++ { // Bentley and Floyd 1987
		v := int32(r.IntN(j + 1))
		at, taken := slices.BinarySearch(f.chosen, v)
		if taken {
			v, at = int32(j), len(f.chosen)
		}
		f.chosen = slices.Insert(f.chosen, at, v)
	}
	for k, v := range f.chosen {
		copy(f.batch[k*f.sites:(k+1)*f.sites], f.data[int(v)*f.sites:])
	}
	return f.batch
}

// Len returns the number of steps made so far.
func (f *Fit) Len() int { return f.steps }

// Params returns a copy of the present parameters of the fit and its model.
func (f *Fit) Params() []float64 { return slices.Clone(f.theta) }

// Average returns the mean of the parameters over the steps, with a weight ∝ t² for step t. The
// mean has less noise than the parameters of the last step.
func (f *Fit) Average() []float64 { return slices.Clone(f.average) }

// UseAverage sets the parameters of the fit and its model to the average of the parameters over all
// steps. Call it at the end of a fit.
func (f *Fit) UseAverage() error {
	if err := f.p.SetParams(f.average); err != nil {
		return fmt.Errorf("fit: UseAverage: %w", err)
	}
	copy(f.theta, f.average)
	return f.phase.Settle()
}

// Constants of Adam (Kingma and Ba 2015): the decay of the first moment, and the ε of the
// denominator.
const (
	beta1   = 0.9
	epsilon = 1e-8
)

// adam is the state of the Adam optimiser: moments m and v, and the powers β₁^t and β₂^t.
type adam struct {
	m, v           []float64
	power1, power2 float64
}

func newAdam(n int) adam {
	return adam{m: make([]float64, n), v: make([]float64, n), power1: 1, power2: 1}
}

// step moves θ against the gradient g of the loss without penalties, at rate eta. It applies the
// penalties as a proximal step in Adam's metric: for D = eta/(√v̂ + ε),
//
//	θ ← argmin_u (u − (θ − D·m̂))²/(2D) + l₁|u| + l₂u²/2.
//
// For every D, a fixed point has m̂ + l₁·sign(θ) + l₂θ = 0 if θ ≠ 0, and |m̂| ≤ l₁ if θ = 0.
func (a *adam) step(theta, g []float64, eta float64, c *Config) {
	memory := c.Memory
	a.power1 = float64(a.power1 * beta1)
	a.power2 = float64(a.power2 * memory)
	c1, c2 := 1/(1-float64(a.power1)), 1/(1-float64(a.power2))
	for k, d := range g {
		a.m[k] = float64(beta1*a.m[k]) + float64((1-beta1)*d)
		a.v[k] = float64(memory*a.v[k]) + float64((1-memory)*float64(d*d))
		if c.Fixed != nil && c.Fixed[k] {
			continue
		}
		scale := eta / (math.Sqrt(float64(c2*a.v[k])) + epsilon)
		l1, l2 := c.penalty(k)
		u := theta[k] - float64(scale*float64(c1*a.m[k]))
		theta[k] = shrink(u, float64(scale*l1)) / (1 + float64(scale*l2))
	}
}

// shrink returns the proximal step of t·|u|, which moves u towards 0 by t, but not past 0.
func shrink(u, t float64) float64 {
	switch {
	case u > t:
		return u - t
	case u < -t:
		return u + t
	}
	return 0
}

// energies returns the energies of the test states at the present parameters.
func (f *Fit) energies() []float64 {
	e := make([]float64, probes)
	f.p.Energy(e, f.tests())
	return e
}

// magic starts a checkpoint of a fit. A checkpoint holds three frames (see [session.Frames]), which
// contain, in order, the settings, the state, and an end mark. The chains' own checkpoint follows,
// if the chains have one.
const magic = "gibbsite fit 3\n"

// frames describes the checkpoint frames that store the state s of the fit. energies holds the
// energies of the test states at the parameters of s.
func (f *Fit) frames(s *state, energies []float64) *session.Frames {
	return &session.Frames{Magic: magic, Settings: f.settings(), Count: 1, Limit: math.MaxInt, Frame: func(w *wire.Fields, _ int) {
		r := &s.res
		w.Counts("steps", &s.steps)
		w.Int("steps of a window", &r.window, chunksPerWindow, math.MaxInt)
		w.Int("parts of a window", &r.chunks, 0, chunksPerWindow-1)
		w.Int("steps of a part", &r.in, 0, r.window/chunksPerWindow-1)
		w.Bool("a whole window", &r.known)
		w.Float64(&s.rule.power1)
		w.Float64(&s.rule.power2)
		for _, v := range [][]float64{energies, s.theta, s.average, s.rule.m, s.rule.v, r.chunk, r.sum, r.squares, r.mean, r.se} {
			w.Float64s(v)
		}
		w.Binary(s.phase, -1)
	}}
}

func (f *Fit) write(w io.Writer) error {
	if err := f.frames(&f.state, f.energies()).Write(w, nil); err != nil {
		return err
	}
	if s, ok := f.cfg.Chains.(dual.Saver); ok {
		return s.Save(w)
	}
	return nil
}

func (f *Fit) read(ctx context.Context, r io.Reader) error {
	energies := make([]float64, probes)
	next, err := f.newState(ctx, make([]float64, len(f.theta)))
	if err == nil {
		err = f.frames(&next, energies).Read(ctx, r, nil)
	}
	if err != nil {
		return err
	}
	before := f.p.Params()
	if err := f.p.SetParams(next.theta); err != nil {
		return err
	}
	err = fingerprint.Energies("energies of test states", energies, f.energies(), 0)
	if s, ok := f.cfg.Chains.(dual.Saver); ok && err == nil {
		err = s.Load(ctx, r)
	}
	if err != nil {
		return errors.Join(err, f.p.SetParams(before))
	}
	f.state = next
	return nil
}

// Save writes a checkpoint to w. If Config.Chains is a [dual.Saver], Save appends the checkpoint of
// the chains. A fit that loads both continues bit for bit.
func (f *Fit) Save(w io.Writer) error { return f.life.Save(w) }

// Load restores a checkpoint written by Save into a fit built with the same arguments. Only Observe
// and Checkpoint may differ. If anything else differs, the error names the first difference. Load
// sets the parameters of the model and reads no further than the end of the checkpoint. If Load
// returns an error, nothing has changed.
func (f *Fit) Load(ctx context.Context, r io.Reader) error { return f.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure.
func (f *Fit) SaveFile(path string) error { return f.life.SaveFile(path) }

// LoadFile restores a checkpoint written by [Fit.SaveFile]. If the file is missing or damaged,
// LoadFile restores the previous checkpoint, path.old. The rules of [Fit.Load] apply.
func (f *Fit) LoadFile(ctx context.Context, path string) error { return f.life.LoadFile(ctx, path) }

// settings returns the settings that must be equal in a checkpoint and in the fit that loads the
// checkpoint.
func (f *Fit) settings() *fingerprint.List {
	l := &fingerprint.List{Sites: f.sites}
	l.Add("parameters", len(f.theta))
	l.Add("sites", f.sites)
	l.Add("rows of data", len(f.data)/f.sites)
	l.Add("sum of data", digest(wire.AppendInt32s(nil, f.data)))
	l.Add("Config.Objective", f.cfg.Objective)
	l.Add("Config.Batch", f.cfg.Batch)
	l.Add("Config.Seed", f.cfg.Seed)
	l.Add("Config.Memory", f.cfg.Memory)
	l.Add("Config.L1", f.cfg.L1)
	l.Add("Config.L2", f.cfg.L2)
	l.Add("sum of Config.Penalty", digest(wire.AppendFloat64s(nil, f.cfg.Penalty)))
	fixed := make([]byte, len(f.cfg.Fixed))
	for k, v := range f.cfg.Fixed {
		if v {
			fixed[k] = 1
		}
	}
	l.Add("sum of Config.Fixed", digest(fixed))
	var rates []float64
	for t := range 40 {
		rates = append(rates, f.cfg.Rate(1<<(t%20)+t))
	}
	l.Add("Config.Rate", rates)
	l.Add("slopes of test states", f.probe())
	return l
}

func digest(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

// probes is the number of test states that identify a model in checkpoints. They are the first
// row of data, which has a finite energy, and random states. The last one has the last level
// everywhere, which involves every coupling.
const probes = 8

func (f *Fit) tests() []int32 {
	_, levels := f.p.Shape()
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]int32, probes*f.sites)
	for k := copy(x, f.data[:f.sites]); k < len(x); k++ {
		x[k] = int32(r.IntN(levels))
	}
	for k := len(x) - f.sites; k < len(x); k++ {
		x[k] = int32(levels - 1)
	}
	return x
}

// probe returns the slopes of the energies of the test states along a random direction of the
// parameters. The slopes identify an exponential model, whatever its parameters. For other models,
// probe returns nil.
func (f *Fit) probe() []float64 {
	if e, ok := energy.As[Exponential](f.p); !ok || !e.Exponential() {
		return nil
	}
	x, r := f.tests(), rand.New(rand.NewPCG(3, 4))
	slopes := make([]float64, probes)
	for s := range slopes {
		g := make([]float64, len(f.theta))
		f.p.ParamGradient(g, x[s*f.sites:(s+1)*f.sites], nil)
		for _, v := range g {
			slopes[s] += float64(v * r.NormFloat64())
		}
	}
	return slopes
}
