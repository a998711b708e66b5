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

// BlockSize is the largest number of consecutive chains that one kernel moves together. Such a
// group of chains is called a block. [Config.Block] returns the block size of a run.
const BlockSize = session.BlockSize

// Method describes how chains move. It is usually a plain struct such as DMALA{StepSize: 0.2},
// whose zero value is the recommended setting. A struct that only embeds another method counts as
// that method. If it moves chains differently, give it a Name of its own.
//
// Checkpoints record the fields of this struct, and Load refuses a checkpoint with other settings.
// Fields are compared as follows:
//
//   - numbers and strings by value, structs field by field, pointers by what they point to;
//   - languages of package constraint, which are sets of states, by their members;
//   - functions by name if they are [Named]; functions without a name are treated as equal.
//
// If the fields do not describe the method fully, give its type a Go method that declares further
// settings:
//
//	Settings(add func(name string, value any))
type Method interface {
	// Kernel returns a new kernel that moves the given number of chains (1 … BlockSize) together.
	// It returns an error if the model lacks an interface that the method needs.
	//
	// Compiling a constraint of the method can take a long time, but stops when ctx ends. The
	// kernel may keep ctx for UnmarshalBinary, which may compile the constraint again.
	Kernel(ctx context.Context, m energy.Model, chains int) (Kernel, error)
}

// Kernel moves a block of chains whose states consist of integer levels (tokens); see [Transition].
type Kernel = Transition[int32]

// Transition moves a block of chains by one step at a time. The type S of a state's entries is
// int32 for levels and float32 for reals. A Transition must be used by one goroutine at a time.
//
// An implementation stores the model and its caches. Its Step replaces each state in x by a draw
// from the transition distribution P(x, ·). This example proposes a state from a fixed distribution
// q:
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
// A complete program is in the example of Transition.
//
// A kernel may also implement [Adaptive], [Starter], [Confined], [Tuned], [Costed], [Warner],
// [Lazy], [Companion] and [Exchanger]. [As] finds them in a kernel or in a kernel that it wraps.
type Transition[S energy.Site] interface {
	// Reset prepares the kernel for the states x (chains × sites). It evaluates them and discards a
	// step that was interrupted. Call it before the first Step and whenever other code has changed
	// x or the target. If a state has probability zero, Reset returns a *StartError.
	//
	// Once ctl.Stop returns true, Reset may return [ErrStopped]. To continue, call Reset again with
	// a Stop function and the same states. A call without a Stop function starts over. Reset reads
	// only the fields Stop and Workers of ctl.
	Reset(ctl Control, x []S) error

	// Step moves every chain once, in place, and stores a report on each chain in info. The slice r
	// holds one stream per chain. Step returns the number of steps that it completed, normally 1.
	// It allocates nothing.
	//
	// If its steps take a long time, a kernel calls ctl.Stop during a step. Once Stop returns true,
	// Step returns the number of steps completed so far, possibly 0. The states are then valid, and
	// the next call continues bit for bit; AppendBinary saves the position. Other kernels ignore
	// ctl.
	Step(ctl Control, info []Info, x []S, r []Stream) (done int)

	// AppendBinary appends the state of the kernel to b, for a checkpoint. The state is everything
	// that the kernel needs to continue bit for bit, such as caches, scan position and step size. A
	// kernel that appends nothing is only Reset when the checkpoint is loaded; see [Base].
	AppendBinary(b []byte) ([]byte, error)

	// UnmarshalBinary restores what AppendBinary saved for a kernel of the same method, model and
	// number of chains. If that kernel had been Reset, Step may follow. Otherwise call Reset first,
	// as for a new kernel.
	UnmarshalBinary(b []byte) error
}

// Control tells a call of Step how many steps to make, when to stop early, and whether the caller
// will read the resulting states. The zero value asks for one complete step whose results are read.
// Reset uses only Stop and Workers.
type Control struct {
	// Steps is the maximum number of steps to make; 0 means 1. If a call makes several steps, the
	// reports change their meaning. Accept is the mean over the steps, and Energy may be NaN. Moved
	// and Invalid are correct only if summed over all chains of the block.
	Steps int

	// Stop is called about every millisecond. Once it returns true, Step or Reset returns early. If
	// Stop is nil, neither returns early.
	Stop func() bool

	// Unread tells the kernel that it need not store states in x and energies in info during this
	// call. The caller will read neither before a later call without Unread or, if the kernel is
	// [Lazy], a call of Show.
	Unread bool

	// Workers is the number of goroutines that the call may use; 0 means 1. It does not change
	// results.
	Workers int

	// Company lists other blocks that the kernel moves together with its own chains, by the same
	// number of steps. Only [Companion] kernels receive it. Unread applies to all blocks. The
	// states of each block have the same bits as if its own kernel had moved it. If the kernel
	// cannot move the other blocks at present, Step returns 0 and leaves all blocks unchanged.
	Company []Block
}

// Block is a group of chains that has its own kernel (the field Kernel). The kernel of another
// block can move the group; see Control.Company. Info, X and R are the arguments for Kernel.Step.
type Block struct {
	Kernel Kernel
	Info   []Info
	X      []int32
	R      []Stream
}

// ErrStopped is the error of a Reset that ended early because Control.Stop returned true.
var ErrStopped = errors.New("sampler: stopped before the end of a Reset")

// Base provides AppendBinary and UnmarshalBinary to a kernel that embeds it. By default it saves
// nothing, and Reset is called after a checkpoint is loaded. This suffices if Reset computes
// everything that Step reads. Otherwise the constructor must call Keep once, with all data that
// Step reads, including energies:
//
//	k.Keep(&k.pos, k.e)
type Base struct{ kept []any }

// Keep registers the data that checkpoints save. An argument must be a pointer to an int or a
// float64, or a slice of int, int32, float32 or float64. UnmarshalBinary restores the elements of a
// slice in place. Keep panics on any other type.
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

// AppendBinary appends the values registered with Keep to the given slice, and returns the result.
func (b *Base) AppendBinary(to []byte) ([]byte, error) { return wire.AppendFields(to, b.fields) }

// UnmarshalBinary restores the values registered with Keep. It returns an error if the data have
// the wrong length.
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

// As returns k itself if it is a T, or else the first T among the kernels that k wraps. If there is
// none, ok is false. T is an interface such as [Lazy], or the type of a kernel. A kernel wraps
// another one if it is a [Wrapper], that is, if it has the method
//
//	Unwrap() sampler.Transition[S]
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

// Wrapper is a kernel that delegates its work to another kernel. If the wrapper itself lacks an
// optional interface, [As] looks for it in the wrapped kernel.
type Wrapper[S energy.Site] interface {
	// Unwrap returns the wrapped kernel, or nil if nothing is wrapped at present.
	Unwrap() Transition[S]
}

// Adaptive is a kernel that tunes itself during warm-up. Afterwards it keeps its settings, because
// a kernel that goes on adapting does not leave its target invariant.
type Adaptive interface {
	// Adapt is called after each warm-up step with the reports of that step. The step has the
	// number k, counted from 0, in a warm-up of n steps.
	Adapt(info []Info, k, n int)
}

// Starter is a kernel that can start only from some of the states, and therefore chooses the
// initial state itself.
type Starter interface {
	// Start replaces the random state x by a state from which a chain can start. If there is no
	// such state, it returns an error that wraps constraint.ErrInfeasible. Start is called before
	// the first Reset, but not for initial states that the caller gave.
	Start(x []int32, r *Stream) error
}

// Confined is a kernel that keeps its chains within a set of allowed states, such as the language
// of a constraint. The estimates of log Z in package anneal then sum exp(−E(x)) over these states
// only.
type Confined interface {
	// Allows reports whether the constraint allows a chain to be in the state x, whatever its
	// energy. Reset rejects other states. Allows may be called by several goroutines at a time.
	Allows(x []int32) bool
}

// Tuned is a kernel that has a step size.
type Tuned interface {
	// StepSize returns the current step size, or 0 if the kernel has none at present.
	StepSize() float64
}

// Costed is a kernel that estimates the cost of a step. Package mcmc/auto chooses between kernels
// by this estimate.
type Costed interface {
	// Cost estimates the time that a step took for all chains of the block together, in nanoseconds
	// on one core. The argument info holds the reports of that step. Cost does not read a clock,
	// but multiplies the numbers of site visits, model evaluations and random draws by fixed unit
	// costs. It returns NaN if there is no estimate.
	Cost(info []Info) float64
}

// Warner is a kernel that reports problems with its own settings, such as unsuccessful tuning.
type Warner interface {
	// Warning returns a sentence that describes the problem, or "" if there is none. See
	// [Runner.Warnings].
	Warning() string
}

// Lazy is a kernel that holds states in a private format. It stores them in x only when the caller
// will read them.
type Lazy[S energy.Site] interface {
	// Show stores the current states in x if earlier steps with Control.Unread left x out of date.
	Show(x []S)
}

// Companion is a kernel that can make many steps in one call of Step without storing the states in
// between (Control.Steps and Control.Unread). In the same call it can also move the chains of other
// blocks (Control.Company), each of which has a kernel of its own. A Companion accepts every
// proposal and cannot fail.
type Companion interface {
	// Company returns how many blocks should move together in one call of Step. The argument is the
	// number of blocks that could. A block is a group of chains with its own kernel. The result 0
	// means that single steps, block by block, are faster.
	Company(blocks int) int
}

// Exchanger is a kernel that can exchange states with another kernel directly. Both kernels hold
// their states in the same private format, and each can evaluate the states of the other. Methods
// with one kernel per temperature, such as mcmc.Tempering, then need not store, evaluate or Reset
// states to exchange them.
type Exchanger interface {
	Lazy[int32]

	// Exchanges reports whether this kernel can exchange states with partner. The caller ensures
	// that this kernel's target is proportional to the beta-th power of the partner's target. If
	// the result is true, this kernel can also exchange with all kernels that partner can exchange
	// with. The methods below are called only for such kernels.
	Exchanges(partner Exchanger, beta float64) bool

	// Hold converts the states x to the kernel's private format and keeps them, unless the
	// kernel already holds them. A later call of Show stores them in x.
	Hold(x []int32)

	// Exchange swaps the states of the listed chains with those of partner. If moved is not nil,
	// Exchange adds to moved[c] the number of sites at which the two states of chain c differ. A
	// later call of Show on either kernel stores its new states.
	Exchange(partner Exchanger, chains []int, moved []int)

	// Energies evaluates the partner's states under this kernel's model, and stores the energies in
	// e. The partner may be this kernel itself.
	Energies(e []float64, partner Exchanger)
}

// Info is a kernel's report on the last step of one chain.
type Info struct {
	Energy float64 // energy in nats after the step; NaN if unknown
	Accept float64 // acceptance probability of the proposal; 1 for kernels that never reject
	// Moved is the number of level changes. A site that changes repeatedly within a step counts
	// each time.
	Moved   int
	Invalid int // number of proposals rejected because their energy was NaN or −Inf
	// Err is the reason why the chain cannot continue, or nil if it can. After an error, the state
	// is the last one that could be evaluated.
	Err error

	// Rungs gives access to the replicas of the chain at several inverse temperatures β_0 = 1, β_1,
	// …. It is nil for kernels without replicas; mcmc.Tempering has them. Replica j, called rung j,
	// has the distribution
	//
	//	p(x) ∝ exp(−β_j·E(x)).
	//
	// The energies that Rungs reports are E, not β·E. The next step overwrites the data.
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

// Observer is a function that is called after every draw of every chain: after every Config.Thin-th
// step since warm-up. The state x and info are overwritten after the call.
//
// Chains of one block (see [Config.Block]) call it one after the other, in order. Chains of
// different blocks call it concurrently. An Observer should therefore accumulate into a slice
// indexed by chain − Config.First, or protect shared data with a mutex.
type Observer func(chain, draw int, x []int32, info *Info)

// RealObserver is an [Observer] of chains whose states are real-valued.
type RealObserver func(chain, draw int, x []float32, info *Info)

// And returns an observer that calls o and then p. Either may be nil.
func (o Observer) And(p Observer) Observer {
	switch {
	case o == nil:
		return p
	case p == nil:
		return o
	}
	return func(chain, draw int, x []int32, info *Info) {
		o(chain, draw, x, info)
		p(chain, draw, x, info)
	}
}

// ErrNaN means that an energy or energy difference is NaN. Kernels without an acceptance step
// report it in Info.Err. If an initial state has such an energy, the [StartError] wraps ErrNaN.
var ErrNaN = errors.New("energy or difference of energies is NaN, such as +Inf − +Inf: the energy of a state of probability zero must be +Inf")

// ErrZero means that a state has probability zero. A kernel without an acceptance step reports it
// in Info.Err when it moves to such a state. If an initial state has probability zero, the
// [StartError] wraps ErrZero.
var ErrZero = errors.New("energy is +Inf: state has probability zero")

// StartError reports a chain that cannot start from its initial state.
type StartError struct {
	Chain  int     // index of the chain in the run
	Energy float64 // energy of the state (+Inf, −Inf or NaN), or 0 if Constraint is set

	// Constraint is the name of the constraint (the method's field Within) that forbids the state.
	// It is empty if the energy is the reason.
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

// named returns err. If err is a *StartError, named adds the index of the block's first chain to
// the error's chain number.
func named(err error, first int) error {
	if start, ok := err.(*StartError); ok {
		return &StartError{Chain: first + start.Chain, Energy: start.Energy, Constraint: start.Constraint}
	}
	return err
}
