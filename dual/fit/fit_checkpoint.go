package fit

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings, one with the state and one for the end, see
// [session.Frames], followed by that of the chains, if they have one.
const magic = "gibbsite fit 3\n"

// frames are those of a state of the fit, at whose parameters the test states have these
// energies.
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

// Save writes a checkpoint, followed by the checkpoint of the chains if they are a
// dual.Saver. After Load the fit continues bit for bit as if it had not stopped.
func (f *Fit) Save(w io.Writer) error { return f.life.Save(w) }

// Load restores a checkpoint written by Save into a fit built with the same arguments. Only
// Observe and Checkpoint may differ; otherwise the error names the first argument that
// differs. Load sets the parameters of the model and reads no more than the checkpoint. On
// an error nothing changes.
func (f *Fit) Load(ctx context.Context, r io.Reader) error { return f.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file path and keeps the previous one as path.old, so
// that no failure loses both.
func (f *Fit) SaveFile(path string) error { return f.life.SaveFile(path) }

// LoadFile restores a checkpoint written by SaveFile, as Load does. If the file path is
// missing or damaged, it restores the previous checkpoint, path.old.
func (f *Fit) LoadFile(ctx context.Context, path string) error { return f.life.LoadFile(ctx, path) }

// settings returns what a checkpoint must agree on.
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

// probes is the number of states by which models are distinguished: the first row of
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
// which distinguishes exponential models whatever their parameters are.
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
