package sampler

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// BlockSize is the largest number of consecutive chains that a kernel moves
// together; [Config.Block] is that of a run. Workers take whole blocks, and kernels
// adapt per block.
const BlockSize = session.BlockSize

// Method is a recipe for moving chains: a plain struct such as
// DMALA{StepSize: 0.2} whose zero value is the recommended setting.
//
// A checkpoint keeps the settings of the method and is refused by chains with
// others. They are its fields: numbers and texts as they are, languages by their
// content, structs field by field, pointers as what they point to, and functions
// by the name they have as [Named] values, or else all alike. A struct that embeds
// a method and has no other field is that method, unless it has another name, which
// it should have if it moves chains in another way. A recipe that is
// not the sum of its fields says what it is by a method
//
//	Settings(add func(name string, value any))
type Method interface {
	// Kernel returns a new kernel for a block of chains (1 … BlockSize) of the
	// model, or an error if the model lacks what the method needs. Compiling a
	// language may take long: it ends with ctx, which the kernel may keep for what
	// UnmarshalBinary compiles again.
	Kernel(ctx context.Context, m energy.Model, chains int) (Kernel, error)
}

// Kernel is a [Transition] of tokens.
type Kernel = Transition[int32]

// Transition is one step of a block of chains on states of tokens (int32) or of
// reals (float32). It belongs to one goroutine at a time.
//
// A kernel of one's own: keep the model and what is worth caching, and in Step
// replace each row of x by a draw from P(x, ·). Sampling from a fixed proposal
// q with an acceptance step takes this much:
//
//	type independence struct {
//		sampler.Base
//		m    energy.Model
//		y    []int32
//		e, f []float64
//	}
//
//	func (k *independence) Reset(_ sampler.Control, x []int32) error { k.m.Energy(k.e, x); return nil }
//
//	func (k *independence) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
//		n := len(k.y) / len(info)
//		for s := range info {
//			for i := range n {
//				k.y[s*n+i] = int32(r[s].IntN(2)) // q: fair coins
//			}
//		}
//		k.m.Energy(k.f, k.y)
//		for s := range info {
//			a := math.Min(1, math.Exp(k.e[s]-k.f[s]))
//			if r[s].Float64() < a {
//				copy(x[s*n:(s+1)*n], k.y[s*n:])
//				k.e[s] = k.f[s]
//			}
//			info[s] = sampler.Info{Energy: k.e[s], Accept: a}
//		}
//		return 1
//	}
//
// The example of this type is the whole of it.
//
// What else a kernel may do is an interface of its own: [Adaptive], [Starter],
// [Tuned], [Costed], [Warner], [Lazy], [Companion] and [Exchanger]. They are found with
// [As], in the kernel or in one that it wraps.
type Transition[S energy.Site] interface {
	// Reset evaluates the states x (chains × sites) afresh. It must be called
	// before the first Step and whenever x or the target changed from outside; a
	// step that was stopped is forgotten. A state without probability is a
	// *StartError.
	//
	// With ctl.Stop it may return [ErrStopped]: the next Reset with a Stop and the
	// same states goes on. A Reset without one begins anew. Only Stop and Workers
	// of ctl count.
	Reset(ctl Control, x []S) error

	// Step moves every chain once, in place, reports in info (one entry per
	// chain), and returns the number of whole steps made, here 1. r holds one
	// stream per chain. It allocates nothing.
	//
	// A kernel whose step is long asks ctl.Stop, and once that is true returns the
	// whole steps that it has made, 0 if it is in the middle of the first. The states
	// are then valid, the next call goes on where this one stopped, to the same bits,
	// and AppendBinary keeps where that is. Others may ignore ctl.
	Step(ctl Control, info []Info, x []S, r []Stream) (done int)

	// AppendBinary appends to b what the kernel needs to go on to the same
	// bits: caches, scan position, step size. A kernel that appends nothing is
	// Reset where others are restored, see [Base].
	AppendBinary(b []byte) ([]byte, error)

	// UnmarshalBinary restores what AppendBinary wrote, for a kernel of the same
	// method, model and number of chains. Step may follow without a Reset, unless
	// there had been none: a kernel restored to what a new one wrote is as new.
	UnmarshalBinary(b []byte) error
}

// Control says how far a call may go and who reads what it leaves behind. The zero
// value asks for one whole step that anybody may read.
type Control struct {
	// Steps is the number of whole steps to make at most; 0 means 1. After more than
	// one, the Info of the chains of a block add up to what changed: the sums of
	// Moved and Invalid over chains and steps are right, whichever chains they are
	// credited to, Accept is the mean over the steps, and Energy may be NaN.
	Steps int

	// Stop is asked about every millisecond; once it is true the call returns
	// early. Nil means never.
	Stop func() bool

	// Unread says that nobody reads the states x and the energies before a later
	// call without it, or Show of a [Lazy] kernel: x may stay as it was.
	Unread bool

	// Workers is the number of goroutines that a step may use; 0 means 1. Results
	// do not depend on it.
	Workers int

	// Company are other blocks of the run, to move by as many steps as the block
	// itself, all of them Unread; of [Companion] kernels only. Each gets the bits
	// that it has alone. A kernel that cannot do so at present returns 0 and leaves
	// all blocks as they are.
	Company []Block
}

// Block is a block of chains that moves along with another one: the kernel, and the
// arguments of its Step.
type Block struct {
	Kernel Kernel
	Info   []Info
	X      []int32
	R      []Stream
}

// ErrStopped says that a Reset returned early because Control.Stop said so.
var ErrStopped = errors.New("sampler: stopped before the end of a Reset")

// Base has the methods of checkpoints: embed it in a kernel. One that keeps nothing
// between steps but caches that its Reset makes needs no more; the runner, and kernels
// that keep others, call Reset where they restore such a kernel. One that keeps more
// names all that Step reads, energies as well, once, where it is made:
//
//	k.Keep(&k.at, k.e)
type Base struct{ kept []any }

// Keep adds what checkpoints hold: pointers to an int or a float64, and slices of int,
// int32, float32 or float64, whose elements are restored in place. It panics on anything
// else.
func (b *Base) Keep(v ...any) {
	for i := range v {
		switch v[i].(type) {
		case *int, *float64, []int, []int32, []float32, []float64:
		default:
			panic(fmt.Sprintf("sampler: Base.Keep: v[%d] is a %T, want *int, *float64, []int, []int32, []float32 or []float64", i, v[i]))
		}
	}
	b.kept = append(b.kept, v...)
}

// fields goes through what is kept.
func (b *Base) fields(f *wire.Fields) {
	for _, v := range b.kept {
		switch v := v.(type) {
		case *int:
			one := []int{*v}
			f.Ints(one)
			*v = one[0]
		case *float64:
			f.Float64(v)
		case []int:
			f.Ints(v)
		case []int32:
			f.Int32s(v)
		case []float32:
			f.Float32s(v)
		case []float64:
			f.Float64s(v)
		}
	}
}

// AppendBinary appends what is kept.
func (b *Base) AppendBinary(to []byte) ([]byte, error) { return wire.AppendFields(to, b.fields) }

// UnmarshalBinary restores what is kept, and returns an error if from has another length.
func (b *Base) UnmarshalBinary(from []byte) error {
	size, err := b.AppendBinary(nil)
	if err != nil {
		return err
	}
	if len(size) != len(from) {
		return fmt.Errorf("sampler: the checkpoint has %d bytes of a kernel that keeps %d", len(from), len(size))
	}
	return wire.ReadFields(from, b.fields)
}

// As returns k as a T, or the first kernel that is one of those that k wraps: a
// wrapper says which by a method
//
//	Unwrap() sampler.Transition[S]
//
// that returns nil if it wraps none at present. T is an interface such as [Lazy], or
// the type of a kernel.
func As[T any, S energy.Site](k Transition[S]) (t T, ok bool) {
	for k != nil {
		if t, ok = k.(T); ok {
			return t, true
		}
		w, wraps := k.(Wrapper[S])
		if !wraps {
			break
		}
		k = w.Unwrap()
	}
	return t, false
}

// Wrapper is a kernel that another one does the work of. What is optional is found
// in that, see [As], unless the wrapper has it itself.
type Wrapper[S energy.Site] interface {
	// Unwrap returns the kernel inside, nil if there is none at present.
	Unwrap() Transition[S]
}

// Adaptive kernels tune themselves during warm-up; afterwards they are frozen,
// since a kernel that goes on adapting no longer leaves its target invariant.
type Adaptive interface {
	// Adapt is called after warm-up step k of n, counted from 0. A later warm-up
	// counts from 0 again.
	Adapt(info []Info, k, n int)
}

// Starter kernels cannot start from every state.
type Starter interface {
	// Start replaces x, one random state, by one that a chain can start from,
	// or returns an error that wraps constraint.ErrInfeasible if there is none.
	// It is called before the first Reset, for chains without a given state.
	Start(x []int32, r *Stream) error
}

// Tuned kernels have a step size to report.
type Tuned interface {
	// StepSize returns it, 0 if there is none at present.
	StepSize() float64
}

// Costed kernels count what a step costs, by which package mcmc/auto chooses.
type Costed interface {
	// Cost returns nanoseconds of one core by fixed prices for what the step that
	// reported info visited, evaluated and drew, all chains of the block together;
	// NaN if that is not known. No clock is read.
	Cost(info []Info) float64
}

// Warner kernels may have been unable to tune themselves as they should.
type Warner interface {
	// Warning says so in a sentence; it is empty if there is nothing to say. See
	// Warnings of [Runner].
	Warning() string
}

// Lazy kernels hold states in a form of their own and store them in x only where
// somebody reads them.
type Lazy[S energy.Site] interface {
	// Show stores in x the states that Unread steps held back, if there are any.
	Show(x []S)
}

// Companion kernels make many Unread steps at once, those of other blocks with
// their own: see Steps and Company of [Control]. They accept whatever they propose
// and meet no errors.
type Companion interface {
	// Company returns how many of some blocks are best moved together; 0 if steps
	// are best made one by one.
	Company(blocks int) int
}

// Exchanger kernels hold states in a form of their own, in which two of them can exchange
// chains, and know the energies of each other's states: a method that keeps one kernel for
// each of several temperatures, such as mcmc.Tempering, need not show states, evaluate them
// or Reset its kernels between steps.
type Exchanger interface {
	Lazy[int32]

	// Exchanges reports whether the kernel, whose target is that of another one to the
	// power beta, can exchange states with that one and with others that can. The
	// methods that follow are of such kernels, and are given such kernels.
	Exchanges(with Exchanger, beta float64) bool

	// Hold says where the states are kept: it takes them from x unless the kernel holds
	// them in its own form, and Show then stores them there.
	Hold(x []int32)

	// Exchange exchanges the states of some chains with those of the other kernel, and
	// adds to moved, unless that is nil, at how many sites they differ, by chain. Show
	// then stores them in both.
	Exchange(with Exchanger, chains []int, moved []int)

	// Energies stores the energies, of the model of the kernel itself, of the states that
	// another kernel holds, or of its own.
	Energies(e []float64, of Exchanger)
}

// Info is what a kernel reports of the last step of one chain.
type Info struct {
	Energy  float64 // energy in nats after the step; NaN if the kernel does not know it
	Accept  float64 // acceptance probability of the proposal; 1 for kernels that never reject
	Moved   int     // changes of levels: a site that several updates of a step change counts for each
	Invalid int     // proposals whose energy was NaN or −Inf, rejected
	Err     error   // the chain cannot go on; its state is the last one that the kernel could evaluate

	// Rungs shows the replicas that a chain has at several inverse temperatures
	// β after the step, for kernels that keep some (mcmc.Tempering); nil for
	// others. Rung j is at p(x) ∝ exp(−β·E(x)), rung 0 at β = 1; energy is E,
	// not β·E. All of it is overwritten by the next step.
	Rungs interface {
		Len() int
		Rung(j int) (beta, energy float64, x []int32)
	}
}

// place is where the chains of a block are while it moves.
type place[S energy.Site] struct {
	x       []S
	info    []Info
	streams []Stream
}

// Observer is called after every kept draw of every chain. Calls for the chains of one
// block come in order from one goroutine at a time, but calls for different blocks run
// concurrently. So accumulate per chain: index a slice of one entry per chain by chain,
// in a part of a run by chain − Config.First.
// What is shared, such as a map, needs a mutex. x (one state) and info are overwritten
// after the call.
type Observer func(chain, draw int, x []int32, info *Info)

// RealObserver is [Observer] for reals.
type RealObserver func(chain, draw int, x []float32, info *Info)

// And returns an observer that calls o, then next. Either may be nil.
func (o Observer) And(next Observer) Observer {
	if o == nil || next == nil {
		if o == nil {
			return next
		}
		return o
	}
	return func(chain, draw int, x []int32, info *Info) {
		o(chain, draw, x, info)
		next(chain, draw, x, info)
	}
}

// ErrNaN says that a kernel without an acceptance step met an energy or a
// difference that is NaN.
var ErrNaN = errors.New("energy is NaN, as +Inf − +Inf is: a state of probability zero has the energy +Inf and nothing else")

// ErrZero says that a kernel without an acceptance step moved to a state of
// probability zero.
var ErrZero = errors.New("energy is +Inf: state has probability zero")

// StartError says that a chain cannot start from its state.
type StartError struct {
	Chain  int     // number of the chain in the run
	Energy float64 // its energy: +Inf, −Inf or NaN; 0 if Constraint is set

	// Constraint names the language of the method's Within that the state is
	// not in, if that is what is wrong.
	Constraint string
}

func (e *StartError) Error() string {
	if e.Constraint != "" {
		return fmt.Sprintf("sampler: chain %d: the initial state is not in %s", e.Chain, e.Constraint)
	}
	why := "the state has probability zero; set Init to one that has some"
	if !math.IsInf(e.Energy, 1) {
		why = "the model cannot evaluate the state, as where it computes +Inf − +Inf"
	}
	return fmt.Sprintf("sampler: chain %d: energy of the initial state = %v, want a finite number: %s", e.Chain, e.Energy, why)
}

// named numbers the chain of a *StartError of a block that begins with chain first.
func named(err error, first int) error {
	if start, ok := err.(*StartError); ok {
		return &StartError{Chain: first + start.Chain, Energy: start.Energy, Constraint: start.Constraint}
	}
	return err
}
