package dual

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/session"
)

// Primal draws samples from a [Target] at its present multipliers. The chains of package sampler
// are primals. [Resampler] turns any other sampler into a primal.
//
// A primal may also implement [Counter], [Energetic] and [Saver].
type Primal[S energy.Site] interface {
	// Run makes n draws in each chain, at the target's present multipliers.
	Run(ctx context.Context, n int) error

	// Reset is called when the multipliers have changed. The next Run must draw at the new
	// multipliers.
	Reset() error

	// States returns the present states as an array of states × sites. The caller must not modify
	// the slice.
	States() []S

	// SetStates replaces the present states by a copy of x, which has the same length. The next
	// Run starts from these states, and no Reset is necessary before it. Package fit uses
	// SetStates for states from a replay buffer or from data. If the length or a level is wrong,
	// SetStates returns an error and changes nothing.
	SetStates(x []S) error
}

// Counter is a [Primal] that counts its draws. Len returns the number of draws made by each chain.
// If a context ends during a dual step, [Inference] uses Len to continue the step later.
type Counter interface{ Len() int }

// Energetic is implemented by types that compute energies. Energy stores in e[s] the energy of the
// state x[s·sites : (s+1)·sites]. Every energy.Model and energy.Real is Energetic and can serve as
// a statistic of a [Constraint]. A primal may be Energetic too and report the energies of its
// model. [NewInference] can then reject a primal whose model differs from the target.
type Energetic[S energy.Site] interface{ Energy(e []float64, x []S) }

// Saver is a [Primal] with checkpoints. [Inference.Save] writes the primal's checkpoint after the
// checkpoint of the loop, and [Inference.Load] restores it. A primal's method Load must not read
// beyond what its Save wrote, and must change nothing if it returns an error.
type Saver interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

// Resampler is a [Primal] that draws all its states anew each time. It adapts samplers that keep no
// state between draws, such as a diffusion whose denoiser reads the target's multipliers:
//
//	p, err := dual.NewResampler(sites, 256, diffusion.Sample)
type Resampler[S energy.Site] struct {
	sample func(ctx context.Context, x []S) error
	x      []S
	draws  int
	life   session.Session
}

// NewResampler returns a primal with the given number of states. The function sample fills x
// (states × sites) with draws from the target at the target's present multipliers. NewResampler
// returns an error if sites < 1, states < 1 or sample is nil.
func NewResampler[S energy.Site](sites, states int, sample func(ctx context.Context, x []S) error) (*Resampler[S], error) {
	if err := cmp.Or(
		check.If(sites < 1 || states < 1 || sample == nil, "dual: NewResampler: sites = %d, states = %d, sample set = %t, want ≥ 1, ≥ 1 and true", sites, states, sample != nil),
		check.Entries("dual: NewResampler", "sites × states", sites, states),
	); err != nil {
		return nil, err
	}
	r := &Resampler[S]{sample: sample, x: make([]S, sites*states)}
	r.life = session.Session{Who: "dual: Resampler", Len: r.Len}
	return r, nil
}

// Run draws all states n times and keeps the last draw. If the context interrupts a draw, the
// next Run repeats that draw.
func (r *Resampler[S]) Run(ctx context.Context, n int) error {
	return r.life.Run(ctx, n, func(int) error {
		if err := r.sample(ctx, r.x); err != nil {
			return err
		}
		r.draws++
		return nil
	})
}

// Reset does nothing, because no draw depends on earlier draws.
func (r *Resampler[S]) Reset() error { return nil }

// States returns the last draw, or zeros before the first draw. The slice is shared with the
// Resampler; do not modify it.
func (r *Resampler[S]) States() []S { return r.x }

// SetStates replaces the states until the next draw, which does not depend on them. It returns an
// error if x and States differ in length.
func (r *Resampler[S]) SetStates(x []S) error {
	if len(x) != len(r.x) {
		return fmt.Errorf("dual: Resampler: SetStates: len(x) = %d, want %d", len(x), len(r.x))
	}
	copy(r.x, x)
	return nil
}

// Len returns the number of draws made so far. Each draw replaces all states.
func (r *Resampler[S]) Len() int { return r.draws }
