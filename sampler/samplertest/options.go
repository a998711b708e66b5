package samplertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Options describes what a method promises and how it is checked. The zero value suits a method
// that leaves exp(−E) invariant and reaches every state of positive probability. Its kernel must
// have no internal state except caches.
type Options struct {
	// Models are the models on which the method is checked; nil means the result of the function
	// [Models]. Models that the method rejects, by an error of Kernel, are skipped. It is an error
	// if the method rejects all models. Checks of distributions also skip models with more than
	// 4096 states.
	Models []energy.Model

	// Target, if not nil, returns the distribution that the method leaves invariant on the model m.
	// Set it for approximate methods. Entry Σ_i x_i·levels^i of the result is the probability of
	// the state x. A nil result means that the distribution is not known for m. If Target itself is
	// nil, the distribution is exp(−E)/Z, restricted to Support.
	Target func(m energy.Model) []float64

	// Support, if not nil, reports whether the method allows a chain to be in the state x. Set it
	// for methods that confine chains to a set of states.
	Support func(x []int32) bool

	// Class, if not nil, divides the states into classes that a chain cannot leave, and returns the
	// number of the class of x. For instance, a method that only exchanges levels between sites
	// needs Class.
	Class func(x []int32) int

	// Settle is the number of steps after which a kernel has forgotten the internal state that
	// Reset set, such as momenta or replicas at other temperatures. Invariance is checked only
	// after these steps. A Settle of 0 means that the kernel has no such state.
	Settle int

	// Mix is the number of steps after which a chain has forgotten its initial state; 0 means
	// 256.
	Mix int

	// Draws is the number of chains whose states are counted; 0 means 131072. That is enough to
	// detect an energy that is 10 % too high or too low.
	Draws int

	Seed uint64 // seed of all draws

	// Skip lists the names of requirements that are not checked; see [TestMethod] for the names. An
	// example is "mixing" for a method that needs far more steps to forget its initial state.
	Skip []string

	// Report, if not nil, is called with one line for each requirement that was checked. It can be
	// the method Logf of a testing.T.
	Report func(format string, args ...any)
}

const (
	defaultDraws = 1 << 17 // default number of draws; TestDrawsFindATenth shows that they are enough
	defaultMix   = 256
	mostStates   = 4096
)

// law is one requirement. Its function check tests a method on one model.
type law struct {
	name  string
	most  int // maximum number of models on which the requirement is checked; 0 means all
	check func(s *subject) error
}

// subject is a method together with the model on which it is checked.
type subject struct {
	ctx    context.Context
	method sampler.Method
	model  energy.Model
	name   string
	opt    Options
}

// errNothing is the error of a check that does not apply to a method on a model.
var errNothing = errors.New("does not apply")

var all = []law{
	{"arguments", 2, checkArguments},
	{"invariance", 0, checkInvariance},
	{"mixing", 3, checkMixing},
	{"states", 2, checkStates},
	{"reports", 0, checkReports},
	{"resume", 2, checkResume},
	{"workers", 2, checkWorkers},
	{"parts", 2, checkParts},
	{"wrappers", 2, checkWrappers},
	{"stop", 2, checkStop},
	{"panics", 2, checkPanics},
	{"failures", 2, checkFailures},
	{"allocations", 4, checkAllocations},
}

// TestMethod checks that a method meets the following requirements, in this order, and returns an
// error for the first violation:
//
//   - arguments: Kernel returns an error for a nil model and for a number of chains outside 1 …
//     sampler.BlockSize.
//   - invariance: states drawn from the target still have the target's distribution after one step
//     and after several. This also holds with caches that are some steps old, and after a Reset to
//     other states.
//   - mixing: after Options.Mix steps, chains have the target's distribution within their class
//     (see Options.Class). All chains start in the least likely state of the most likely class.
//     Half of them make one extra step, because a chain may be periodic.
//   - states: after the runner's SetStates, the method still leaves the target invariant. After
//     sampler.Retarget, it leaves the new target invariant.
//   - reports: after every step, Info has an energy, an acceptance probability within [0, 1] and
//     the number of site changes. The energy is that of the state, to a relative error of 10⁻⁹, or
//     always NaN. The number of changes is the number of sites that differ, or larger if sites
//     changed back.
//   - resume: a run that is saved and loaded has the same bits as an uninterrupted run. It is saved
//     at its start, in warm-up, after warm-up, and where its context ended.
//   - workers: a run has the same bits with 1, 2 and 5 workers, and with or without an observer.
//   - parts: the parts of a run have the same bits as the whole.
//   - wrappers: a method, a pointer to it and a struct that embeds it give the same bits, and load
//     each other's checkpoints. So do a model and a wrapper that forwards everything.
//   - stop: a run whose context ends returns the error of the context, after at most as many
//     evaluations as in two steps. A later run continues bit for bit.
//   - panics: a panic of the model reaches the caller of Run as an error that wraps the panic
//     value, and the runner can continue.
//   - failures: no chain moves to a state whose energy is NaN or, if the method knows energies,
//     −Inf. A NaN is counted in Info.Invalid, or Run returns an error. No chain starts from a state
//     of probability zero.
//   - allocations: a step allocates nothing.
func TestMethod(ctx context.Context, method sampler.Method, opt Options) error {
	name, err := fill(ctx, method, &opt)
	if err != nil {
		return err
	}
	for _, l := range all {
		if slices.Contains(opt.Skip, l.name) {
			continue
		}
		applied := 0
		var refusals []error
		for i, m := range opt.Models {
			on := fmt.Sprintf("model %d (%s)", i, describe(m))
			if _, err := method.Kernel(ctx, m, 1); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				refusals = append(refusals, err)
				continue
			}
			err := held(l, &subject{ctx: ctx, method: method, model: m, name: on, opt: opt})
			switch {
			case errors.Is(err, errNothing):
				continue
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return fmt.Errorf("samplertest: %s: %s: %s: %w", name, l.name, on, err)
			}
			if applied++; applied == l.most {
				break
			}
		}
		if opt.Report != nil {
			opt.Report("samplertest: %s: %s: applies to %d of %d models", name, l.name, applied, len(opt.Models))
		}
		if len(refusals) == len(opt.Models) {
			return fmt.Errorf("samplertest: %s: %s: the method refuses all %d models: %w", name, l.name, len(opt.Models), errors.Join(refusals...))
		}
	}
	return nil
}

// held runs the check of a law. A panic counts as a violation.
func held(l law, s *subject) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %s", laws.Text(v))
		}
	}()
	return l.check(s)
}

// fill checks the arguments, replaces zero options by their defaults and returns the method's
// name.
func fill(ctx context.Context, method sampler.Method, opt *Options) (name string, err error) {
	switch {
	case ctx == nil:
		return "", errors.New("samplertest: ctx = nil")
	case method == nil:
		return "", errors.New("samplertest: method = nil")
	case opt.Settle < 0, opt.Mix < 0, opt.Draws < 0:
		return "", fmt.Errorf("samplertest: Options: Settle = %d, Mix = %d, Draws = %d, want all ≥ 0", opt.Settle, opt.Mix, opt.Draws)
	}
	for _, name := range opt.Skip {
		if !slices.ContainsFunc(all, func(l law) bool { return l.name == name }) {
			return "", fmt.Errorf("samplertest: Options: Skip names %q, which is not a law", name)
		}
	}
	if opt.Models == nil {
		opt.Models = Models()
	}
	if opt.Draws == 0 {
		opt.Draws = defaultDraws
	}
	if opt.Mix == 0 {
		opt.Mix = defaultMix
	}
	return fmt.Sprintf("%T", method), nil
}

// size returns levels^sites, or some number above mostStates if that is larger than mostStates.
func size(sites, levels int) int {
	n := 1
	for range sites {
		if n *= levels; n > mostStates {
			break
		}
	}
	return n
}

// describe returns the name and the shape of a model.
func describe(m energy.Model) string {
	sites, levels := m.Shape()
	name := reflect.TypeOf(m).String()
	if n, ok := m.(sampler.Named); ok {
		name = n.Name()
	}
	return fmt.Sprintf("%s, %d sites of %d levels", name, sites, levels)
}
