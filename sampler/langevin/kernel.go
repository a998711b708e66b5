package langevin

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// kernel moves a block of chains by MALA or ULA.
type kernel struct {
	system *system
	h      float64
	tuner  *tune.Tuner // tunes the step size; nil if it is fixed

	e, f []float64 // energies of the states x and of the proposals y
	s, r []float32 // scores of the states x and of the proposals y
	y    []float32
	xi   []float32

	at sweep.Cursor
}

var (
	_ sampler.Adaptive = (*kernel)(nil)
	_ sampler.Tuned    = (*kernel)(nil)
)

func newKernel(l *system, chains int) *kernel {
	n := chains * l.sites
	return &kernel{system: l, h: l.step,
		e: make([]float64, chains), f: make([]float64, chains),
		s: make([]float32, n), r: make([]float32, n), y: make([]float32, n), xi: make([]float32, l.sites), at: sweep.NewCursor(chains)}
}

func (k *kernel) StepSize() float64 { return k.h }

// Reset evaluates the energies E of the states and their scores −∇E. It returns a
// *[sampler.StartError] if a state has probability zero or no finite score. It implements
// [sampler.Transition].
func (k *kernel) Reset(ctl sampler.Control, x []float32) error {
	n := k.system.sites
	return k.at.Renew(ctl.Stop, 1, k.work(), func(_, lo, hi int) (bool, error) {
		k.system.target.Energy(k.e[lo:hi], x[lo*n:hi*n])
		k.system.target.Score(k.s[lo*n:hi*n], x[lo*n:hi*n])
		for c := lo; c < hi; c++ {
			if err := k.startError(c); err != nil {
				return true, err
			}
		}
		return true, nil
	})
}

// work returns the number of elementary operations of a stage of one chain. Most of them draw
// normal numbers.
func (k *kernel) work() int { return sweep.Times(k.system.sites, sweep.SiteWork) }

// startError returns an error if a chain cannot start from the state of chain c.
func (k *kernel) startError(c int) error {
	e, n := k.e[c], k.system.sites
	if math.IsNaN(e) || math.IsInf(e, 0) {
		return &sampler.StartError{Chain: c, Energy: e}
	}
	if !check.AllFinite(k.s[c*n : (c+1)*n]) {
		return &sampler.StartError{Chain: c, Energy: math.NaN()}
	}
	return nil
}

// Step moves every chain by one step, by calling [kernel.Stage] for each stage. Between stages it
// calls ctl.Stop. It implements [sampler.Transition].
func (k *kernel) Step(ctl sampler.Control, info []sampler.Info, x []float32, r []sampler.Stream) (done int) {
	return sweep.Step(&k.at, ctl, k, info, x, r, 2, k.work())
}

// Stage makes one of the two stages of a step for the chains lo … hi−1. The stages propose states,
// and accept or reject them. It implements [sweep.Staged].
func (k *kernel) Stage(stage, lo, hi int, x []float32, r []sampler.Stream) bool {
	if stage == 0 {
		k.propose(lo, hi, x, r)
	} else {
		k.judge(lo, hi, x, r)
	}
	return true
}

// propose stores in k.y the proposals of the chains lo … hi−1.
func (k *kernel) propose(lo, hi int, x []float32, r []sampler.Stream) {
	l, n := k.system, k.system.sites
	noise := math.Sqrt(2 * k.h)
	for c := lo; c < hi; c++ {
		normal.Fill(k.xi, &r[c])
		for i, xi := range k.xi {
			at := c*n + i
			k.y[at] = float32(float64(x[at]) + float64(k.h*float64(k.s[at])) + float64(noise*float64(xi)))
		}
		if l.project != nil {
			l.project(k.y[c*n : (c+1)*n])
		}
	}
}

// judge evaluates the proposals of the chains lo … hi−1 and accepts or rejects them.
func (k *kernel) judge(lo, hi int, x []float32, r []sampler.Stream) {
	l, n := k.system, k.system.sites
	l.target.Energy(k.f[lo:hi], k.y[lo*n:hi*n])
	l.target.Score(k.r[lo*n:hi*n], k.y[lo*n:hi*n])
	for c := lo; c < hi; c++ {
		row := func(v []float32) []float32 { return v[c*n : (c+1)*n] }
		valid := !math.IsNaN(k.f[c]) && !math.IsInf(k.f[c], 0) && check.AllFinite(row(k.r))
		accept := 1.0
		pending := &k.at.Info[c]
		*pending = sampler.Info{}
		switch {
		case l.unadjusted && !valid:
			cause, what := sampler.ErrNaN, fmt.Sprintf("energy %v", k.f[c])
			switch {
			case math.IsInf(k.f[c], 1):
				cause = sampler.ErrZero
			case check.Finite(k.f[c]):
				what = "the score is not finite"
			}
			pending.Err = fmt.Errorf("%w (%s), and a chain without an acceptance step cannot refuse it: lower StepSize, or set Unadjusted = false", cause, what)
			continue
		case !valid:
			accept = 0
			if !math.IsInf(k.f[c], 1) {
				pending.Invalid = 1
			}
		case !l.unadjusted:
			back := logProb(row(x), row(k.y), row(k.r), k.h)
			forth := logProb(row(k.y), row(x), row(k.s), k.h)
			accept = min(1, simd.Exp(k.e[c]-k.f[c]+(back-forth)))
		}
		if l.unadjusted || r[c].Float64() < accept {
			copy(row(x), row(k.y))
			copy(row(k.s), row(k.r))
			k.e[c] = k.f[c]
			pending.Moved = n
		}
		pending.Energy, pending.Accept = k.e[c], accept
	}
}

// Adapt tunes the step size unless it is fixed; it implements [sampler.Adaptive].
func (k *kernel) Adapt(info []sampler.Info, step, n int) {
	if k.tuner == nil {
		return
	}
	accept := 0.0
	for i := range info {
		accept += info[i].Accept
	}
	k.h = k.tuner.Adapt(accept/float64(len(info)), step, n)
}

// fields reads or writes the step size, its tuner, energies, scores and progress.
func (k *kernel) fields(f *wire.Fields) {
	f.Float64(&k.h)
	if !(k.h > 0) || k.h > 1e30 {
		f.Fail(fmt.Errorf("langevin: step size in the checkpoint = %v, want 0 < h ≤ 1e30", k.h))
	}
	if k.tuner != nil {
		k.tuner.Fields(f)
	}
	f.Float64s(k.e)
	f.Float32s(k.s)
	position(f, &k.at)
}

func (k *kernel) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

func (k *kernel) UnmarshalBinary(b []byte) error { return wire.ReadFields(b, k.fields) }

// logProb returns log q(y|x) up to a constant, −‖y − x − h·s(x)‖²/4h.
func logProb(y, x, s []float32, h float64) float64 {
	sum := 0.0
	for i, v := range y {
		d := float64(v) - float64(x[i]) - float64(h*float64(s[i]))
		sum += float64(d * d)
	}
	return 0 - sum/(4*h)
}

// position reads or writes the position of a step that was stopped. If a chain fails, the run ends
// with this step.
func position(f *wire.Fields, at *sweep.Cursor) {
	if f.Reading() {
		at.Clear()
	}
	f.Int("chain of a step", &at.Chain, 0, len(at.Info)-1)
	for c := range at.Info[:at.Chain] {
		t := &at.Info[c]
		failed := t.Err != nil
		f.Counts("sites moved", &t.Moved)
		f.Int("invalid proposals", &t.Invalid, 0, 1)
		f.Bool("a failure", &failed)
		f.Float64(&t.Energy)
		f.Float64(&t.Accept)
		if failed && t.Err == nil {
			t.Err = sampler.ErrNaN
		}
	}
}
