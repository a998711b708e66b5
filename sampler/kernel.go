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

// BlockSize is the largest number of consecutive chains that a kernel moves together.
// [Config.Block] returns the actual number of a run. A worker moves whole blocks, and a kernel
// adapts per block.
const BlockSize = session.BlockSize

// Method is a recipe for moving chains: a plain struct such as
// DMALA{StepSize: 0.2} whose zero value is the recommended setting.
//
// A checkpoint records the settings of the method, and chains with other settings refuse to load
// the checkpoint. The settings are the fields of the struct. Numbers and strings are compared by
// value, languages by content, structs field by field and pointers by their targets. Functions
// are compared by name if they are [Named]; functions without a name count as equal.
//
// A struct that embeds a method and has no other field counts as that method unless its name
// differs. Its name should differ if it moves chains in another way. If the fields do not fully
// describe a recipe, the recipe has a method
//
//	Settings(add func(name string, value any))
type Method interface {
	// Kernel returns a new kernel for a block of chains (1 … BlockSize) of the model, or an error
	// if the model lacks a capability that the method needs. Compiling a language can take long
	// and stops when ctx ends. The kernel may keep ctx for UnmarshalBinary, which may compile the
	// language again.
	Kernel(ctx context.Context, m energy.Model, chains int) (Kernel, error)
}

// Kernel is a [Transition] on states of tokens.
type Kernel = Transition[int32]

// Transition moves a block of chains by one step, on states of tokens (int32) or of reals
// (float32). It must be used by one goroutine at a time.
//
// A kernel stores the model and its caches. Its Step replaces each row of x by a draw from P(x,
// ·). This example proposes from a fixed distribution q and accepts or rejects:
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
// A complete program with this kernel is in the example of Transition.
//
// Kernels may implement optional interfaces: [Adaptive], [Starter], [Confined], [Tuned],
// [Costed], [Warner], [Lazy], [Companion] and [Exchanger]. [As] finds them in a kernel or in the
// kernel that it wraps.
type Transition[S energy.Site] interface {
	// Reset evaluates the states x (chains × sites) and discards an interrupted step. It must be
	// called before the first Step and after x or the target was changed from outside. If a state
	// has probability zero, it returns a *StartError.
	//
	// If ctl.Stop is set, Reset may return [ErrStopped]. The next Reset with a Stop and the same
	// states then continues the interrupted one; a Reset without a Stop starts over. Reset reads
	// only the fields Stop and Workers of ctl.
	Reset(ctl Control, x []S) error

	// Step moves every chain once, in place, and stores a report in info, one entry per chain. It
	// returns the number of whole steps made, normally 1. r holds one stream per chain. Step
	// allocates nothing.
	//
	// A kernel with long steps calls ctl.Stop. Once Stop returns true, Step returns the number of
	// whole steps made, which is 0 in the middle of the first step. The states are then valid,
	// and the next call continues bit for bit where this one stopped; AppendBinary saves the
	// position. Other kernels may ignore ctl.
	Step(ctl Control, info []Info, x []S, r []Stream) (done int)

	// AppendBinary appends to b the data that the kernel needs to continue bit for bit: caches,
	// scan position, step size. If a kernel appends nothing, it is Reset instead of restored; see
	// [Base].
	AppendBinary(b []byte) ([]byte, error)

	// UnmarshalBinary restores the output of AppendBinary, for a kernel of the same method, model
	// and number of chains. If the saved kernel had been Reset, Step may follow without a Reset.
	// Restoring the state of a new kernel gives a new kernel.
	UnmarshalBinary(b []byte) error
}

// Control sets how many steps a call makes, when the call stops early, and whether the caller
// reads the resulting states. The zero value makes one whole step whose results are read.
type Control struct {
	// Steps is the maximum number of whole steps to make; 0 means 1. After more than one step,
	// Moved and Invalid are correct only as sums over the chains of the block and the steps, not
	// per chain; Accept is the mean over the steps, and Energy may be NaN.
	Steps int

	// Stop is called about every millisecond. Once it returns true, the call returns early. A nil
	// Stop never stops the call.
	Stop func() bool

	// Unread promises that the states x and the energies are not read until a later call without
	// Unread, or until Show of a [Lazy] kernel. The kernel therefore need not update x.
	Unread bool

	// Workers is the number of goroutines that a step may use; 0 means 1. It does not change
	// results.
	Workers int

	// Company holds other blocks of the run. The kernel moves them by the same number of steps as
	// its own block, all of them Unread. Only [Companion] kernels receive a Company. Each block
	// gets the same bits as if it moved alone. A kernel that cannot move the other blocks at
	// present returns 0 steps and leaves all blocks unchanged.
	Company []Block
}

// Block is a block of chains that moves along with another block. It holds its kernel and the
// arguments of the kernel's Step.
type Block struct {
	Kernel Kernel
	Info   []Info
	X      []int32
	R      []Stream
}

// ErrStopped is returned by a Reset that ended early because Control.Stop returned true.
var ErrStopped = errors.New("sampler: stopped before the end of a Reset")

// Base implements the checkpoint methods of a kernel that embeds it. If all state between steps
// is caches that Reset computes, embedding Base is enough, because a restored kernel is Reset.
// Any other kernel calls Keep once, when it is created, with everything that Step reads,
// including energies:
//
//	k.Keep(&k.at, k.e)
type Base struct{ kept []any }

// Keep registers values that checkpoints save. They must be pointers to an int or a float64, or
// slices of int, int32, float32 or float64. Slice elements are restored in place. Keep panics on
// any other type.
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

// fields reads or writes the values registered with Keep.
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

// AppendBinary appends the values registered with Keep.
func (b *Base) AppendBinary(to []byte) ([]byte, error) { return wire.AppendFields(to, b.fields) }

// UnmarshalBinary restores the values registered with Keep. It returns an error if from has the
// wrong length.
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

// As returns k itself if it is a T, or else the first T among the kernels that k wraps. A wrapper
// returns the wrapped kernel from a method
//
//	Unwrap() sampler.Transition[S]
//
// which returns nil if nothing is wrapped at present. T is an interface such as [Lazy], or the
// type of a kernel.
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

// Starter kernels cannot start from every state, and choose the initial state themselves.
type Starter interface {
	// Start replaces the random state x by a state from which a chain can start. If there is
	// none, it returns an error that wraps constraint.ErrInfeasible. It is called before the
	// first Reset, for chains whose initial state is not given.
	Start(x []int32, r *Stream) error
}

// Confined kernels keep chains within a language. AIS and stepping stones sum over its states.
type Confined interface {
	// Allows reports whether a chain may be in the state x, whatever its energy. Reset rejects
	// other states. Allows may be called by several goroutines at a time.
	Allows(x []int32) bool
}

// Tuned kernels have a step size.
type Tuned interface {
	// StepSize returns the step size, 0 if there is none at present.
	StepSize() float64
}

// Costed kernels estimate the cost of a step. Package mcmc/auto chooses kernels by this estimate.
type Costed interface {
	// Cost estimates the time, in nanoseconds on one core, of the step that reported info, for
	// all chains of the block together. It multiplies the numbers of visits, evaluations and
	// draws of the step by fixed unit costs and does not read a clock. Cost returns NaN if there
	// is no estimate.
	Cost(info []Info) float64
}

// Warner kernels report problems with their own settings, such as unsuccessful tuning.
type Warner interface {
	// Warning returns a sentence that describes the problem, or "" if there is none. See
	// [Runner.Warnings].
	Warning() string
}

// Lazy kernels hold states in a private format and store them in x only when the caller reads
// them.
type Lazy[S energy.Site] interface {
	// Show stores in x the states that Unread steps left pending, if any.
	Show(x []S)
}

// Companion kernels make many Unread steps in one call and can move other blocks along with their
// own; see Control.Steps and Control.Company. They accept every proposal and cannot fail.
type Companion interface {
	// Company returns how many of the given number of blocks should move together, or 0 if single
	// steps are faster.
	Company(blocks int) int
}

// Exchanger kernels hold states in a private format. Two such kernels can exchange the states of
// chains and evaluate each other's states in that format. A method with one kernel per
// temperature, such as mcmc.Tempering, then need not store states, evaluate them or Reset its
// kernels between steps.
type Exchanger interface {
	Lazy[int32]

	// Exchanges reports whether this kernel can exchange states with the other kernel, and with
	// every kernel with which the other one can. The caller ensures that this kernel's target is
	// the other kernel's target to the power beta. The methods below are called only for kernels
	// that can exchange states.
	Exchanges(with Exchanger, beta float64) bool

	// Hold makes the kernel keep the states itself, in its private format. It reads the states from
	// x unless it already holds them. Show then stores the states in x.
	Hold(x []int32)

	// Exchange swaps the states of the given chains with those of the other kernel. If moved is
	// not nil, Exchange adds to moved[chain] the number of sites at which the two states differ.
	// Afterwards, Show on either kernel stores the states that the kernel now holds.
	Exchange(with Exchanger, chains []int, moved []int)

	// Energies stores in e the energies, under this kernel's model, of the states that another
	// kernel holds. The other kernel may be this kernel itself.
	Energies(e []float64, of Exchanger)
}

// Info is a kernel's report on the last step of one chain.
type Info struct {
	Energy float64 // energy in nats after the step; NaN if unknown
	Accept float64 // acceptance probability of the proposal; 1 for kernels that never reject
	// number of level changes; a site that changes repeatedly within a step counts each time
	Moved   int
	Invalid int // proposals rejected because their energy was NaN or −Inf
	// non-nil if the chain cannot continue; its state is then the last one that could be
	// evaluated
	Err error

	// Rungs gives access to the replicas of a chain at several inverse temperatures β, as they are
	// after the step. It is nil unless the kernel keeps replicas (mcmc.Tempering). Rung j has the
	// distribution p(x) ∝ exp(−β_j·E(x)), and rung 0 has β_0 = 1. The energy that Rung returns is
	// E, not β·E. The next step overwrites everything.
	Rungs interface {
		Len() int
		Rung(j int) (beta, energy float64, x []int32)
	}
}

// place holds the states, reports and streams of a block's chains while the block moves.
type place[S energy.Site] struct {
	x       []S
	info    []Info
	streams []Stream
}

// Observer is called after every kept draw of every chain. Calls for the chains of one block come
// in order and one at a time, but calls for different blocks run concurrently. Either accumulate
// per chain, in a slice indexed by chain (in a part of a run, by chain − Config.First), or
// protect shared data, such as a map, with a mutex. x (one state) and info are overwritten after
// the call.
type Observer func(chain, draw int, x []int32, info *Info)

// RealObserver is the [Observer] of chains on real-valued states.
type RealObserver func(chain, draw int, x []float32, info *Info)

// And returns an observer that calls o and then next. Either may be nil.
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
// difference. A [StartError] wraps it if an initial state has such an energy.
var ErrNaN = errors.New("energy or difference of energies is NaN, as +Inf − +Inf is: a state of probability zero has the energy +Inf and nothing else")

// ErrZero is the error of a kernel without an acceptance step that moved to a state of
// probability zero. A [StartError] wraps it if an initial state has probability zero.
var ErrZero = errors.New("energy is +Inf: state has probability zero")

// StartError reports a chain that cannot start from its initial state.
type StartError struct {
	Chain  int     // number of the chain in the run
	Energy float64 // energy of the state: +Inf, −Inf or NaN; 0 if Constraint is set

	// Constraint names the language of the method's Within, if the state is not in that language,
	// and is empty otherwise.
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

// named returns err. If err is a *StartError, named adds the number of the block's first chain to
// the error's chain number.
func named(err error, first int) error {
	if start, ok := err.(*StartError); ok {
		return &StartError{Chain: first + start.Chain, Energy: start.Energy, Constraint: start.Constraint}
	}
	return err
}
