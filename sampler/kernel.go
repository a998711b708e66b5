package sampler

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
)

// BlockSize is the largest number of consecutive chains that a kernel moves
// together; [Config.Block] is that of a run. Workers take whole blocks, and kernels
// adapt per block.
const BlockSize = 32

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
	// language may take long: it ends with ctx.
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
//	type independence struct{ m energy.Model; y []int32; e, f []float64 }
//
//	func (k *independence) Reset(x []int32) error { k.m.Energy(k.e, x); return nil }
//
//	func (k *independence) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
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
//	}
//
// The example of this type is the whole of it.
//
// A kernel whose step is long may also have a method that can stop in its
// middle, so that a run ends soon after its context:
//
//	StepUntil(stop func() bool, info []sampler.Info, x []S, r []sampler.Stream) (done bool)
//
// It does what Step does, asks stop about every millisecond, and returns false
// once that is true. The states are then valid, the next call goes on where this
// one stopped, to the same bits, and AppendBinary keeps where that is. Reset
// forgets it: the next step begins anew. Likewise Reset and
//
//	ResetUntil(stop func() bool, x []S) (done bool, err error)
//
// of which the next call goes on if the states are the same.
//
// A kernel may count what a step costs, by a method
//
//	Cost(info []Info) float64
//
// in nanoseconds of one core by fixed prices for what the step that reported info
// visited, evaluated and drew, all chains of the block together; no clock. Package
// mcmc/auto chooses by it.
//
// A kernel with a step size to report has a method StepSize() float64, and one that
// could not tune itself as it should a method Warning() string, which says so and
// is empty otherwise: see Warnings of [Runner]. One that can
// use several goroutines for a large state has a method
//
//	Workers(n int)
//
// by which a run that has fewer blocks than Config.Workers tells it to use up to n
// of them in a step; it must not change results. And one that holds states in a
// form of its own may have the methods
//
//	Defer(on bool)
//	Show(x []S)
//
// After Defer(true) its steps leave x as it was, or wrong, until Show stores the
// states there: the run calls it before anyone reads them. A kernel with these that
// accepts whatever it proposes, and meets no errors, may make many steps at once that
// nobody reads, those of other blocks with its own, by the methods
//
//	Company(blocks int) int
//	Leap(stop func() bool, n int, kernels []Transition[S], x [][]S, r [][]Stream, moved []int) (steps int)
//
// Company says how many of some blocks are best moved together, 0 if steps are best made one
// by one. Leap moves some blocks, of which the first is its own, by up to n whole steps
// each, to the bits that each has alone, and returns how many it made, fewer than n once
// stop is true and 0 if they cannot leap now. It adds to moved[b] the sites of block b that
// changed, all steps and chains together, and leaves states as after Defer(true).
type Transition[S energy.Site] interface {
	// Reset evaluates the states x (chains × sites) afresh. It must be called
	// before the first Step and whenever x or the target changed from outside.
	// A state without probability is a *StartError.
	Reset(x []S) error

	// Step moves every chain once, in place, and reports in info (one entry per
	// chain). r holds one stream per chain. It allocates nothing.
	Step(info []Info, x []S, r []Stream)

	// AppendBinary appends to b what the kernel needs to go on to the same
	// bits: caches, scan position, step size.
	AppendBinary(b []byte) ([]byte, error)

	// UnmarshalBinary restores what AppendBinary wrote, for a kernel of the same
	// method, model and number of chains. Step may follow without a Reset, unless
	// there had been none: a kernel restored to what a new one wrote is as new.
	UnmarshalBinary(b []byte) error
}

// Adaptive kernels tune themselves during warm-up; afterwards they are frozen,
// since a kernel that goes on adapting no longer leaves its target invariant.
type Adaptive interface {
	// Adapt is called after warm-up step k of n, counted from 0.
	Adapt(info []Info, k, n int)
}

// Starter kernels cannot start from every state.
type Starter interface {
	// Start replaces x, one random state, by one that a chain can start from,
	// or returns an error that wraps constraint.ErrInfeasible if there is none.
	// It is called before the first Reset, for chains without a given state.
	Start(x []int32, r *Stream) error
}

// Info is what a kernel reports of the last step of one chain.
type Info struct {
	Energy  float64 // energy in nats after the step; NaN if the kernel does not know it
	Accept  float64 // acceptance probability of the proposal; 1 for kernels that never reject
	Moved   int     // sites whose level changed
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

// Observer is told of every kept draw. Calls for the chains of one block come in
// order from one goroutine at a time; different blocks run concurrently, so an
// observer accumulates per chain. x (one state) and info are overwritten after
// the call.
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

// From returns an observer of chains first, first+1, … that tells o of chains 0,
// 1, …: a part of a run for what has room for its chains only, such as a trace.
func (o Observer) From(first int) Observer {
	if o == nil {
		return nil
	}
	return func(chain, draw int, x []int32, info *Info) { o(chain-first, draw, x, info) }
}

// From is [Observer.From] for reals.
func (o RealObserver) From(first int) RealObserver {
	if o == nil {
		return nil
	}
	return func(chain, draw int, x []float32, info *Info) { o(chain-first, draw, x, info) }
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
