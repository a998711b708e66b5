package dual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings, one with the state and one for the end, see
// [session.Frames], followed by the primal's own, if it has one.
const magic = "gibbsite dual 6\n"

// frames are those of a state of the loop.
func (i *Inference[S]) frames(s *state) *session.Frames {
	return &session.Frames{Magic: magic, Settings: i.settings(), Count: 1, Limit: math.MaxInt, Frame: func(f *wire.Fields, _ int) {
		f.Counts("a count of steps", &s.steps, &s.due, &s.streak.steps, &s.streak.proof)
		f.Bool("a step in progress", &s.open)
		f.Float64(&s.streak.margin)
		f.Float64s(s.lambda)
		for j, l := range s.lambda {
			if equal := i.batch.Equal != nil && i.batch.Equal[j]; !(math.Abs(l) <= i.cfg.most) || l < 0 && !equal {
				f.Fail(fmt.Errorf("λ[%d] in the checkpoint = %v, want 0 … Config.Max", j, l))
			}
		}
		f.Sized(s.updater)
		s.way.fields(f)
		s.chains.fields(f)
	}}
}

func (i *Inference[S]) write(w io.Writer) error {
	if !i.open { // a step in progress has not let go of the target
		if err := i.target.SetLambda(i.standing()); err != nil {
			return err
		}
		if err := i.primal.Reset(); err != nil {
			return err
		}
	}
	if err := i.frames(&i.state).Write(w, nil); err != nil {
		return err
	}
	if p, ok := i.primal.(Saver); ok {
		return p.Save(w)
	}
	return nil
}

// standing returns the multipliers that the target and the primal's caches are of.
func (s *state) standing() []float64 {
	if s.open || s.steps == 0 {
		return s.lambda
	}
	return s.way.last
}

func (i *Inference[S]) read(ctx context.Context, r io.Reader) error {
	next, err := i.cfg.newState(ctx, make([]float64, len(i.lambda)), i.batch.States)
	if err == nil {
		err = i.frames(&next).Read(ctx, r, nil)
	}
	if err == nil {
		err = i.target.SetLambda(next.standing())
	}
	if err != nil {
		return err
	}
	if p, ok := i.primal.(Saver); ok {
		if err := p.Load(ctx, r); err != nil {
			return errors.Join(err, i.target.SetLambda(i.standing()))
		}
	}
	i.state = next
	return nil
}

// Save writes a checkpoint of the loop, followed by the primal's checkpoint if it has a
// method Save. After Load the loop continues bit for bit as if it had not stopped. Save
// sets the target to the multipliers of the last dual step, since [Inference.Certify], for
// instance, may have changed them.
func (i *Inference[S]) Save(w io.Writer) error { return i.life.Save(w) }

// Load restores a checkpoint written by Save into a loop built with the same arguments.
// Only Start, Observe and Checkpoint may differ; otherwise the error names the first
// argument that differs. Schedules are compared by their values. Load reads no more than
// the checkpoint. On an error the loop is unchanged, and its target has the multipliers of
// the loop's last step.
func (i *Inference[S]) Load(ctx context.Context, r io.Reader) error { return i.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file path and keeps the previous one as path.old, so
// that no failure loses both; see [sampler.Runner.SaveFile].
func (i *Inference[S]) SaveFile(path string) error { return i.life.SaveFile(path) }

// LoadFile restores a checkpoint written by SaveFile, as Load does. If the file path is
// missing or damaged, it restores the previous checkpoint, path.old.
func (i *Inference[S]) LoadFile(ctx context.Context, path string) error {
	return i.life.LoadFile(ctx, path)
}

// probes is the number of states by which targets are distinguished.
const probes = 4

// settings returns the settings that a checkpoint must agree on.
func (i *Inference[S]) settings() *fingerprint.List {
	l := &fingerprint.List{}
	l.Add("multipliers", len(i.lambda))
	l.Add("states", i.batch.States)
	l.Add("sites", i.target.Sites())
	l.Add("Config.Rule", i.cfg.Rule)
	l.Add("Config.Inner", i.cfg.Inner)
	l.Add("Config.Max", i.cfg.most)
	l.Add("Config.Uniform", i.cfg.Uniform)
	l.Add("Config.Diverge", i.cfg.Diverge)
	l.Add("β of the target", i.target.Beta())
	l.Add("violations of test states", i.probe())
	return l
}

// probe returns the violations of fixed states: uniform levels where the target
// knows their number, standard normal reals, or zeros.
func (i *Inference[S]) probe() []float64 {
	src := rand.NewPCG(probes, 0)
	x := make([]S, probes*i.target.Sites())
	switch x := any(x).(type) {
	case []float32:
		normal.Fill(x, src)
	case []int32:
		if m, ok := i.target.(energy.Shaped); ok {
			_, levels := m.Shape()
			for k := range x {
				x[k] = int32(rand.New(src).IntN(levels))
			}
		}
	}
	g := make([]float64, probes*len(i.lambda))
	i.target.Violation(g, x)
	return g
}
