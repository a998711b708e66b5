// Package energytest checks that an [energy.Model] obeys the documented rules of package energy and
// of every optional interface that it supports. It imports no testing framework. A model is checked
// by
//
//	if err := energytest.TestModel(ctx, m, energytest.Options{}); err != nil {
//		t.Fatal(err)
//	}
//
// The error names the violated rule and a state that violates it. [Options.Skip] omits rules.
// Tables of energy differences are compared with differences of Energy on random states. Energy
// itself is only checked to be a function of the state.
package energytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// Options holds the settings of [TestModel]. The zero value suits models that compute in float64
// and whose tables hold exact differences.
type Options struct {
	// FirstOrder declares that tables (Gradient, Field, Window) are first-order approximations of
	// the differences. TestModel then does not compare their entries with exact differences.
	FirstOrder bool

	// Tolerance is the largest allowed error of energies and differences, relative to 1 + M, where
	// M is the largest |energy| of the states checked. 0 means 2⁻⁴⁰, several thousand roundings of
	// a float64. An entry d of a table of float32 may be off by another 2⁻²²·(M + |d|).
	Tolerance float64

	States int    // number of random states; 0 means 40
	Seed   uint64 // seed of the random states

	// Skip holds the names of the rules of [TestModel] that are not checked. An example is
	// "allocations" for a model that calls another process.
	Skip []string
}

const (
	defaultStates    = 40
	defaultTolerance = 0x1p-40
	rounding32       = 0x1p-22
)

// law is one law of [TestModel]: its name and the function that checks it.
type law struct {
	name  string
	check func(s *subject) error
}

// subject is a model under test, together with random states and their energies.
type subject struct {
	ctx           context.Context
	m             energy.Model
	opt           Options
	sites, levels int
	r             *rand.Rand
	x             []int32   // random states, one after the other
	e             []float64 // energy of each state
	largest       float64   // largest finite |energy| of a state
	slack         float64
	inside        bool // whether the model is a wrapper made by checkWrappers
}

// TestModel checks that a model obeys the rules of package energy and of the optional interfaces
// that it supports. It returns an error that names the first violated rule. The rules are, in this
// order:
//
//   - energies: Shape is stable. An energy is a number or +Inf and has the same bits in every batch
//     and every call. Energy does not modify x.
//   - lengths: methods panic, with a message, for slices of wrong lengths.
//   - tables: Gradient, Field and Window store the same energies as Energy, bit for bit. In a table
//     of energy differences, the entry for a site's current level is 0, and the entry for a level
//     that does not exist is +Inf. The table for a state depends on that state alone. Unless
//     Options.FirstOrder is set, the differences are exact.
//   - singles: Conditional and Locals store exact differences, and Move keeps them exact.
//   - graphs: neighbour lists are sorted and symmetric, and sites that are not neighbours do not
//     interact. Torus, Matching, Pairs and Factors describe the energy.
//   - values: the numeric values of levels are finite and ascend.
//   - supports: Repair makes states of positive probability and does not change a state that has
//     positive probability already.
//   - layers: the conditionals of the two layers of an energy.Bipartite model come from one joint
//     distribution. The marginal of this joint distribution over the visible sites is the model.
//   - changes: energy.Incremental and energy.IncrementalBipartite compute the same bits from an
//     earlier state as from scratch.
//   - estimates: the mean of many results of Estimate is the exact table of energy differences.
//   - parameters: ParamGradient is the derivative with respect to the parameters of SetParams, and
//     adds to its destination. SetParams rejects invalid parameters and then changes nothing. Learn
//     returns a copy. TestModel restores the parameters of an energy.Parametric model.
//   - concurrency: goroutines that evaluate the model at the same time get the same bits as a
//     single goroutine. Run the test under the race detector to find more errors.
//   - wrappers: after wrapping in energy.Sum, energy.Scale, energy.Clamp, a pointer, or a type that
//     forwards everything, the model supports the same interfaces and obeys the rules in this list
//     from energies to changes.
//   - allocations: the methods that a sampling kernel calls in a step allocate nothing.
func TestModel(ctx context.Context, m energy.Model, opt Options) error {
	switch {
	case ctx == nil:
		return errors.New("energytest: ctx = nil")
	case m == nil:
		return errors.New("energytest: model = nil")
	case opt.States < 0, !(opt.Tolerance >= 0):
		return fmt.Errorf("energytest: Options: States = %d, Tolerance = %v, want both ≥ 0", opt.States, opt.Tolerance)
	}
	all := slices.Concat(every, []law{{"estimates", checkEstimates}, {"parameters", checkParameters},
		{"concurrency", checkConcurrency}, {"wrappers", checkWrappers}, {"allocations", checkAllocations}})
	for _, name := range opt.Skip {
		if !slices.ContainsFunc(all, func(l law) bool { return l.name == name }) {
			return fmt.Errorf("energytest: Options: Skip names %q, which is not a law", name)
		}
	}
	s, err := newSubject(ctx, m, opt)
	if err != nil {
		return fmt.Errorf("energytest: %T: %w", m, err)
	}
	for _, l := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := held(l, s); err != nil {
			return fmt.Errorf("energytest: %T: %s: %w", m, l.name, err)
		}
	}
	return nil
}

// every lists the laws that wrappers of the model must obey, too.
var every = []law{
	{"energies", checkEnergies},
	{"lengths", checkLengths},
	{"tables", checkTables},
	{"singles", checkSingles},
	{"graphs", checkGraphs},
	{"values", checkValues},
	{"supports", checkSupports},
	{"layers", checkLayers},
	{"changes", checkChanges},
}

// held checks a law unless it is skipped. A panic violates the law.
func held(l law, s *subject) (err error) {
	if slices.Contains(s.opt.Skip, l.name) {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %s", laws.Text(v))
		}
	}()
	return l.check(s)
}

// newSubject draws random states and evaluates them. It repairs half of them if the model is
// [energy.Supported].
func newSubject(ctx context.Context, m energy.Model, opt Options) (s *subject, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("method Energy of random states: panic: %s", laws.Text(v))
		}
	}()
	if opt.States == 0 {
		opt.States = defaultStates
	}
	if opt.Tolerance == 0 {
		opt.Tolerance = defaultTolerance
	}
	s = &subject{ctx: ctx, m: m, opt: opt, r: rand.New(rand.NewPCG(opt.Seed, 0xe7e)), e: make([]float64, opt.States)}
	if s.sites, s.levels = m.Shape(); s.sites < 1 || s.levels < 1 {
		return nil, fmt.Errorf("method Shape = %d sites and %d levels, want both ≥ 1", s.sites, s.levels)
	}
	s.x = make([]int32, opt.States*s.sites)
	for i := range s.x {
		s.x[i] = int32(s.r.IntN(s.levels))
	}
	if p, ok := energy.As[energy.Supported](m); ok {
		p.Repair(s.x[:opt.States/2*s.sites])
	}
	m.Energy(s.e, s.x)
	for _, e := range s.e {
		if !math.IsInf(e, 0) && !math.IsNaN(e) {
			s.largest = max(s.largest, math.Abs(e))
		}
	}
	s.slack = opt.Tolerance * (s.largest + 1)
	return s, nil
}

// state returns state k.
func (s *subject) state(k int) []int32 { return s.x[k*s.sites : (k+1)*s.sites] }

// finite reports whether state k has a finite energy.
func (s *subject) finite(k int) bool { return !math.IsInf(s.e[k], 0) && !math.IsNaN(s.e[k]) }

// energy returns the energy of the state x.
func (s *subject) energy(x []int32) float64 {
	var e [1]float64
	s.m.Energy(e[:], x)
	return e[0]
}

// row stores in d the differences E(x with x_i = l) − E(x) for every level l, computed by Energy.
func (s *subject) row(d []float64, x []int32, i int) {
	many := make([]int32, 0, s.levels*s.sites)
	for l := range s.levels {
		many = append(many, x...)
		many[l*s.sites+i] = int32(l)
	}
	s.m.Energy(d, many)
	at := d[x[i]]
	for l := range d {
		d[l] -= at
	}
}

// near reports whether two energies or differences agree up to factor times the slack. Infinities
// must be equal. If want is NaN, the difference of infinities, near returns true.
func (s *subject) near(want, got, factor float64) bool {
	return math.IsNaN(want) || want == got || math.Abs(want-got) <= factor*s.slack
}

// near32 reports whether an entry of a float32 table agrees with the expected difference.
func (s *subject) near32(want float64, got float32) bool {
	return s.near(want, float64(got), 2) || math.Abs(want-float64(got)) <= 2*s.slack+rounding32*(math.Abs(want)+s.largest+1)
}

// some returns n random sites, or all sites if there are fewer than n.
func (s *subject) some(n int) []int {
	return s.r.Perm(s.sites)[:min(n, s.sites)]
}

const fewSites = 12 // number of sites that are checked in a state

func same[T float32 | float64](a, b []T) bool {
	return slices.EqualFunc(a, b, func(a, b T) bool { return a == b || a != a && b != b })
}

func fill[T float32 | float64](v []T) {
	for i := range v {
		v[i] = T(math.NaN()) + T(i)
	}
}

func checkEnergies(s *subject) error {
	if sites, levels := s.m.Shape(); sites != s.sites || levels != s.levels {
		return fmt.Errorf("method Shape = %d, %d, and %d, %d before", sites, levels, s.sites, s.levels)
	}
	for k, e := range s.e {
		if math.IsInf(e, -1) || math.IsNaN(e) {
			return fmt.Errorf("energy of %v = %v, want a number or +Inf", s.state(k), e)
		}
	}
	x, e := slices.Clone(s.x), make([]float64, len(s.e))
	fill(e)
	s.m.Energy(e, x)
	if !slices.Equal(x, s.x) {
		return errors.New("method Energy changes x")
	}
	if k := differ(e, s.e); k >= 0 {
		return fmt.Errorf("energy of %v = %v, and %v before", s.state(k), e[k], s.e[k])
	}
	for k := range e {
		got := s.energy(s.state(k))
		if got != s.e[k] {
			return fmt.Errorf("energy of %v = %v alone, %v among %d states", s.state(k), got, s.e[k], len(e))
		}
	}
	for k := range e { // in reverse order
		copy(x[k*s.sites:], s.state(len(e)-1-k))
	}
	s.m.Energy(e, x)
	slices.Reverse(e)
	if k := differ(e, s.e); k >= 0 {
		return fmt.Errorf("energy of %v = %v in another order of states, want %v", s.state(k), e[k], s.e[k])
	}
	s.m.Energy(nil, nil)
	return nil
}

// differ returns the first index at which two slices differ, or −1. NaNs are equal.
func differ(a, b []float64) int {
	for k := range a {
		if a[k] != b[k] && !(math.IsNaN(a[k]) && math.IsNaN(b[k])) {
			return k
		}
	}
	return -1
}
