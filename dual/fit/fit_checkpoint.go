package fit

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings and one with the state, followed by that
// of the chains, if they have one. The magic of the first names the format version.
const (
	magic      = "gibbsite fit 2\n"
	stateMagic = "state\n"
)

// Save writes a checkpoint, followed by that of the chains if they are a dual.Saver:
// after Load the fit goes on to the same bits as if it had not stopped.
func (f *Fit) Save(w io.Writer) error {
	if err := check.Given("fit: Save", "w", w); err != nil {
		return err
	}
	phase, err := f.phase.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("fit: Save: %w", err)
	}
	settings := f.fingerprint()
	known := 0
	if f.res.known {
		known = 1
	}
	body := wire.AppendUint64s(nil, settings.Sum())
	body = wire.AppendInts(body, f.steps, f.res.window, f.res.chunks, f.res.in, known, len(phase))
	body = wire.AppendFloat64s(body, []float64{f.rule.power1, f.rule.power2})
	body = wire.AppendFloat64s(body, f.energies())
	for _, v := range f.vectors() {
		body = wire.AppendFloat64s(body, v)
	}
	body = append(body, phase...)
	if err := wire.Write(w, magic, settings.Append(nil)); err != nil {
		return fmt.Errorf("fit: Save: %w", err)
	}
	if err := wire.Write(w, stateMagic, body); err != nil {
		return fmt.Errorf("fit: Save: %w", err)
	}
	if s, ok := f.cfg.Chains.(dual.Saver); ok {
		return s.Save(w)
	}
	return nil
}

// vectors are what the state has one number per parameter of.
func (f *Fit) vectors() [][]float64 {
	r := &f.res
	return [][]float64{f.theta, f.average, f.rule.m, f.rule.v, r.chunk, r.sum, r.squares, r.mean, r.se}
}

// Load restores what Save wrote, into a fit built with the same arguments; Observe
// and Checkpoint may differ, and the error for others names the first that differs. It sets the
// parameters of the model and reads no more than the checkpoint. On an error nothing
// changes.
func (f *Fit) Load(ctx context.Context, r io.Reader) error {
	if err := check.Given("fit: Load", "r", r); err != nil {
		return err
	}
	if err := f.load(ctx, r); err != nil {
		return fmt.Errorf("fit: Load: %w", err)
	}
	return nil
}

func (f *Fit) load(ctx context.Context, r io.Reader) error {
	sum, err := durable.ReadSettings(r, magic, f.fingerprint())
	if err != nil {
		return err
	}
	body, err := wire.Read(r, stateMagic, math.MaxInt64)
	if err != nil {
		return err
	}
	next, energies, err := f.restored(ctx, body, sum)
	if err != nil {
		return err
	}
	before := f.p.Params()
	if err := f.p.SetParams(next.theta); err != nil {
		return err
	}
	if err = f.same(energies); err == nil {
		if s, ok := f.cfg.Chains.(dual.Saver); ok {
			err = s.Load(ctx, r)
		}
	}
	if err != nil {
		return errors.Join(err, f.p.SetParams(before))
	}
	f.filed = next.steps
	f.steps, f.theta, f.average, f.rule, f.res, f.phase = next.steps, next.theta, next.average, next.rule, next.res, next.phase
	return nil
}

// restored returns a fit like f with the state of the body, and the energies of test
// states by its parameters.
func (f *Fit) restored(ctx context.Context, body []byte, sum uint64) (next *Fit, energies []float64, err error) {
	var words [7]uint64
	body, err = wire.ReadUint64s(body, words[:])
	if err != nil {
		return nil, nil, err
	}
	if words[0] != sum {
		return nil, nil, fmt.Errorf("the state is that of another checkpoint")
	}
	for _, w := range words[1:] {
		if w > math.MaxInt {
			return nil, nil, fmt.Errorf("a count in the checkpoint = %d, want ≤ %d", w, math.MaxInt)
		}
	}
	n := &Fit{}
	size := len(f.theta)
	n.theta, n.average = make([]float64, size), make([]float64, size)
	n.rule, n.res = newAdam(size), newResiduals(size)
	n.steps, n.res.window, n.res.chunks, n.res.in, n.res.known = int(words[1]), int(words[2]), int(words[3]), int(words[4]), words[5] == 1
	if n.res.window < chunksPerWindow || n.res.chunks >= chunksPerWindow || n.res.in >= n.res.window/chunksPerWindow {
		return nil, nil, fmt.Errorf("a window of %d steps with %d parts and %d steps", n.res.window, n.res.chunks, n.res.in)
	}
	var powers [2]float64
	if body, err = wire.ReadFloat64s(body, powers[:]); err != nil {
		return nil, nil, err
	}
	n.rule.power1, n.rule.power2 = powers[0], powers[1]
	energies = make([]float64, probes)
	if body, err = wire.ReadFloat64s(body, energies); err != nil {
		return nil, nil, err
	}
	for _, v := range n.vectors() {
		if body, err = wire.ReadFloat64s(body, v); err != nil {
			return nil, nil, err
		}
	}
	if words[6] != uint64(len(body)) {
		return nil, nil, wire.ErrShort
	}
	if n.phase, err = f.cfg.Objective.Bind(ctx, f.p, f.data, f.cfg.Chains); err != nil {
		return nil, nil, err
	}
	return n, energies, n.phase.UnmarshalBinary(body)
}

// fingerprint returns the settings that a checkpoint must agree on.
func (f *Fit) fingerprint() *fingerprint.List {
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

// probes is the number of states by which models are told apart: the first row of
// data, which has a finite energy, uniform ones and, so that every coupling counts, the
// one of last levels.
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

// probe returns what the energies of test states change by when the parameters do,
// which tells exponential models apart whatever their parameters are.
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

// energies returns those of the test states by the present parameters.
func (f *Fit) energies() []float64 {
	e := make([]float64, probes)
	f.p.Energy(e, f.tests())
	return e
}

// same returns an error unless the energies of test states are those of a checkpoint.
func (f *Fit) same(saved []float64) error {
	return fingerprint.Energies("energies of test states", saved, f.energies(), 0)
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it and the
// one before, which stays as path.old.
func (f *Fit) SaveFile(path string) error {
	return durable.SaveFile("fit", path, f)
}

// LoadFile restores what SaveFile saved, as Load does. If the file path is missing or
// damaged, it restores the generation before it, path.old.
func (f *Fit) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "fit", path, f)
}
