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

// BlockSize is the largest number of consecutive chains that a kernel moves together;
// [Config.Block] returns the number in a run. Workers take whole blocks, and kernels
// adapt per block.
const BlockSize = session.BlockSize

// Method is a recipe for moving chains: a plain struct such as
// DMALA{StepSize: 0.2} whose zero value is the recommended setting.
//
// A checkpoint records the settings of the method, and chains with other settings refuse to load
// the checkpoint. The settings are the fields: numbers and strings by value, languages by content,
// structs field by field, pointers by what they point to, and functions by their name if they are
// [Named]; functions without a name count as equal. A struct that embeds a method and has no other
// field counts as that method unless its name differs, which it should if it moves chains in
// another way. A recipe that its fields do not fully describe has a method
//
//	Settings(add func(name string, value any))
type Method interface {
	// Kernel returns a new kernel for a block of chains (1 … BlockSize) of the model, or an error
	// if the model lacks what the method needs. Compiling a language may take long and stops when
	// ctx ends. The kernel may keep ctx for languages that UnmarshalBinary has to compile again.
	Kernel(ctx context.Context, m energy.Model, chains int) (Kernel, error)
}

// Kernel is a [Transition] of tokens.
type Kernel = Transition[int32]

// Transition is one step of a block of chains on states of tokens (int32) or of reals (float32). It
// must be used by one goroutine at a time.
//
// To write a kernel, keep the model and what is worth caching, and in Step replace each
// row of x by a draw from P(x, ·). This one proposes from a fixed distribution q and
// accepts or rejects:
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
// The example of this type is a complete program.
//
// Kernels may implement optional interfaces: [Adaptive], [Starter], [Tuned], [Costed],
// [Warner], [Lazy], [Companion] and [Exchanger]. [As] finds them in a kernel or in one
// that it wraps.
type Transition[S energy.Site] interface {
	// Reset evaluates the states x (chains × sites) afresh and discards a step that was stopped. It
	// must be called before the first Step and whenever x or the target was changed from outside.
	// If a state has probability zero, it returns a *StartError.
	//
	// If ctl.Stop is set, Reset may return [ErrStopped]. The next Reset with a Stop and the same
	// states then continues; a Reset without a Stop begins anew. Reset reads only the fields Stop
	// and Workers of ctl.
	Reset(ctl Control, x []S) error

	// Step moves every chain once, in place, reports in info (one entry per
	// chain), and returns the number of whole steps made, here 1. r holds one
	// stream per chain. It allocates nothing.
	//
	// A kernel with long steps calls ctl.Stop, and once that returns true Step returns the number
	// of whole steps made, 0 if it is in the middle of the first. The states are then valid, and
	// the next call continues bit for bit where this one stopped; AppendBinary saves the position.
	// Other kernels may ignore ctl.
	Step(ctl Control, info []Info, x []S, r []Stream) (done int)

	// AppendBinary appends to b what the kernel needs to continue bit for bit: caches, scan
	// position, step size. A kernel that appends nothing is Reset instead of restored, see [Base].
	AppendBinary(b []byte) ([]byte, error)

	// UnmarshalBinary restores what AppendBinary wrote, for a kernel of the same method, model and
	// number of chains. Step may follow without a Reset if the saved kernel had been Reset.
	// Restoring the state of a new kernel gives a new kernel.
	UnmarshalBinary(b []byte) error
}

// Control sets how many steps a call makes and whether its results are read. The zero value asks
// for one whole step whose results are read.
type Control struct {
	// Steps is the maximum number of whole steps to make; 0 means 1. After more than one step,
	// Moved and Invalid are correct only as sums over the chains of the block and the steps, not
	// per chain; Accept is the mean over the steps, and Energy may be NaN.
	Steps int

	// Stop is called about every millisecond. Once it returns true, the call returns early. A nil
	// Stop never stops the call.
	Stop func() bool

	// Unread promises that nobody reads the states x and the energies until a later call without
	// Unread, or until Show of a [Lazy] kernel. The kernel therefore need not update x.
	Unread bool

	// Workers is the number of goroutines that a step may use; 0 means 1. Results
	// do not depend on it.
	Workers int

	// Company holds other blocks of the run, to be moved by the same number of steps as the block
	// itself, all of them Unread. Only [Companion] kernels receive a Company. Each block gets the
	// same bits as if it moved alone. A kernel that cannot move the other blocks at present returns
	// 0 and leaves all blocks unchanged.
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

// ErrStopped is returned by a Reset that Control.Stop ended early.
var ErrStopped = errors.New("sampler: stopped before the end of a Reset")

// Base implements the checkpoint methods of a kernel that embeds it. A kernel whose only state
// between steps is caches made by Reset needs nothing else, because Reset is called after it is
// restored. Any other kernel calls Keep once, when it is created, with everything that Step reads,
// energies included:
//
//	k.Keep(&k.at, k.e)
type Base struct{ kept []any }

// Keep adds values that checkpoints save: pointers to an int or a float64, and slices of int,
// int32, float32 or float64, whose elements are restored in place. It panics on any other type.
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

// fields reads or writes the kept values.
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

// AppendBinary appends the values given to Keep.
func (b *Base) AppendBinary(to []byte) ([]byte, error) { return wire.AppendFields(to, b.fields) }

// UnmarshalBinary restores the values given to Keep. It returns an error if from has the wrong
// length.
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

// As returns k as a T, or else the first T among the kernels that k wraps. A wrapper returns the
// kernel that it wraps from a method
//
//	Unwrap() sampler.Transition[S]
//
// which returns nil if it wraps none at present. T is an interface such as [Lazy], or the type of a
// kernel.
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

// Wrapper is a kernel that delegates its work to another kernel. [As] looks for optional interfaces
// in the wrapper first, then in the wrapped kernel.
type Wrapper[S energy.Site] interface {
	// Unwrap returns the wrapped kernel, or nil if there is none at present.
	Unwrap() Transition[S]
}

// Adaptive kernels tune themselves during warm-up. Afterwards their settings are frozen, because a
// kernel that keeps adapting does not leave its target invariant.
type Adaptive interface {
	// Adapt is called after warm-up step k of n, counted from 0. A later warm-up
	// counts from 0 again.
	Adapt(info []Info, k, n int)
}

// Starter kernels cannot start from every state.
type Starter interface {
	// Start replaces x, one random state, by a state from which a chain can start, or returns an
	// error that wraps constraint.ErrInfeasible if there is none. It is called before the first
	// Reset, for chains without a given state.
	Start(x []int32, r *Stream) error
}

// Tuned kernels have a step size to report.
type Tuned interface {
	// StepSize returns the step size, 0 if there is none at present.
	StepSize() float64
}

// Costed kernels estimate the cost of a step. Package mcmc/auto chooses kernels by this estimate.
type Costed interface {
	// Cost estimates the time, in nanoseconds of one core, of the step that reported info, for all
	// chains of the block together. It multiplies what the step visited, evaluated and drew by
	// fixed unit costs; no clock is read. Cost returns NaN if it has no estimate.
	Cost(info []Info) float64
}

// Warner kernels report problems with their own settings, such as unsuccessful tuning.
type Warner interface {
	// Warning returns a sentence, empty if there is no problem. See [Runner.Warnings].
	Warning() string
}

// Lazy kernels hold states in a form of their own and store them in x only when they are read.
type Lazy[S energy.Site] interface {
	// Show flushes: it stores in x the states that Unread steps left pending, if any.
	Show(x []S)
}

// Companion kernels make many Unread steps at once and can move other blocks along with their own:
// see Control.Steps and Control.Company. They accept every proposal and cannot fail.
type Companion interface {
	// Company returns how many of the given number of blocks are best moved together, or 0 if steps
	// are best made one by one.
	Company(blocks int) int
}

// Exchanger kernels hold states in a form of their own. Two such kernels can exchange chains and
// evaluate each other's states in that form. A method that keeps one kernel per temperature, such
// as mcmc.Tempering, then need not store states, evaluate them or Reset its kernels between steps.
type Exchanger interface {
	Lazy[int32]

	// Exchanges reports whether this kernel, whose target is the other kernel's target to the power
	// beta, can exchange states with the other kernel and with every kernel that can exchange with
	// it. The methods below are called only for such pairs.
	Exchanges(with Exchanger, beta float64) bool

	// Hold makes the kernel keep the states itself. It takes them from x unless it holds them
	// already. Show then stores them in x.
	Hold(x []int32)

	// Exchange exchanges the states of the given chains with those of the other kernel. If moved is
	// not nil, it adds to moved[chain] the number of sites at which the two states differ.
	// Show on either kernel then stores its states.
	Exchange(with Exchanger, chains []int, moved []int)

	// Energies stores the energies, under this kernel's own model, of the states held by the kernel
	// of, which may be this kernel itself.
	Energies(e []float64, of Exchanger)
}

// Info is what a kernel reports about the last step of one chain.
type Info struct {
	Energy  float64 // energy in nats after the step; NaN if the kernel does not know it
	Accept  float64 // acceptance probability of the proposal; 1 for kernels that never reject
	Moved   int     // level changes; a site changed by several updates of a step counts once for each
	Invalid int     // proposals rejected because their energy was NaN or −Inf
	Err     error   // the chain cannot continue; its state is the last one that the kernel could evaluate

	// Rungs gives access to the replicas that a chain has at several inverse temperatures β after
	// the step. It is nil unless the kernel keeps replicas (mcmc.Tempering). Rung j has the
	// distribution p(x) ∝ exp(−β·E(x)), and rung 0 has β = 1. The energy of a rung is E, not β·E.
	// The next step overwrites everything.
	Rungs interface {
		Len() int
		Rung(j int) (beta, energy float64, x []int32)
	}
}

// place holds the chains of a block while it is being moved.
type place[S energy.Site] struct {
	x       []S
	info    []Info
	streams []Stream
}

// Observer is called after every kept draw of every chain. Calls for the chains of one block come
// in order and one at a time, but calls for different blocks run concurrently. So accumulate per
// chain, in a slice indexed by chain (in a part of a run, by chain − Config.First), or protect
// shared data, such as a map, with a mutex. x (one state) and info are overwritten after the call.
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

// ErrNaN is the error of a kernel without an acceptance step that computed a NaN energy or energy
// difference, and of a start from such a state ([StartError]).
var ErrNaN = errors.New("energy or difference of energies is NaN, as +Inf − +Inf is: a state of probability zero has the energy +Inf and nothing else")

// ErrZero is the error of a kernel without an acceptance step that moved to a state of
// probability zero, and of a start from such a state ([StartError]).
var ErrZero = errors.New("energy is +Inf: state has probability zero")

// StartError is the error returned for a chain that cannot start from its state.
type StartError struct {
	Chain  int     // number of the chain in the run
	Energy float64 // its energy: +Inf, −Inf or NaN; 0 if Constraint is set

	// Constraint names the language of the method's Within, if the state is not in that language.
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

// Unwrap returns nil if Constraint is set, [ErrZero] if the energy is +Inf, and [ErrNaN] otherwise.
func (e *StartError) Unwrap() error {
	switch {
	case e.Constraint != "":
		return nil
	case math.IsInf(e.Energy, 1):
		return ErrZero
	}
	return ErrNaN
}

// named corrects the chain number of a *StartError from a block that begins with chain first.
func named(err error, first int) error {
	if start, ok := err.(*StartError); ok {
		return &StartError{Chain: first + start.Chain, Energy: start.Energy, Constraint: start.Constraint}
	}
	return err
}
