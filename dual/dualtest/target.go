package dualtest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// TargetOptions declares properties of a target that its methods do not show.
type TargetOptions[S energy.Site] struct {
	// X holds the states for the check (states × sites). If X is nil, a target on tokens is checked
	// on all its states, of which there must be at most 2¹². A target on reals is checked on 32
	// normally distributed states.
	X []S

	// Lambda holds valid multipliers that are not all 0; nil means 0.3, 0.6, ….
	Lambda []float64

	// Base, unless nil, stores the energies that the target must have at λ = 0, bit for bit.
	Base func(e []float64, x []S)

	// Energy, unless nil, returns the energy that the target must have at multipliers λ, up to a
	// constant for each λ. It is for targets whose violations depend on λ. If Energy is nil, the
	// target must have the energy (β·E(x, 0) + λᵀg(x))/β, where β is the temperature and g are the
	// violations.
	Energy func(lambda []float64, x []S) float64
}

// TestTarget checks a target against the requirements of [dual.Target]. If the target has energies,
// TestTarget also checks that they belong to the tilted distribution:
//
//   - shape: Len ≥ 1, Sites ≥ 1 and a finite Beta > 0, all of them constant.
//   - multipliers: SetLambda copies its argument. It rejects numbers that are not finite and, for
//     inequalities, negative numbers. If it rejects them, it changes nothing.
//   - batch: A state has the same violations alone and among others, and x is not modified.
//   - base: At λ = 0, energies equal TargetOptions.Base, even if other multipliers were set before.
//   - energy: If TargetOptions.Energy is set, E(x, λ) equals it up to a constant. Otherwise E(x, λ)
//     = (f_0(x) + λᵀg(x))/β for the base energy f_0, the violations g and the temperature β.
//
// TestTarget leaves the target at λ = 0.
func TestTarget[S energy.Site](ctx context.Context, target dual.Target[S], o TargetOptions[S]) error {
	part, err := laws.Given("dualtest", "target", target)
	if err != nil {
		return err
	}
	c := &targeter[S]{Part: part, target: target, o: o}
	for _, l := range []struct {
		name  string
		check func() error
	}{{"shape", c.shape}, {"multipliers", c.multipliers}, {"batch", c.batch}, {"base", c.energies}} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := c.Run(l.name, l.check); err != nil {
			return err
		}
	}
	return target.SetLambda(make([]float64, c.n))
}

// energies is implemented by targets that compute the energies of states, such as every
// energy.Model and energy.Real.
type energies[S energy.Site] interface {
	Energy(e []float64, x []S)
}

type shaped interface{ Shape() (sites, levels int) }

type targeter[S energy.Site] struct {
	laws.Part
	target   dual.Target[S]
	o        TargetOptions[S]
	n, sites int
	equal    []bool
	lambda   []float64 // the admissible multipliers of the test
}

func (c *targeter[S]) shape() error {
	c.n, c.sites = c.target.Len(), c.target.Sites()
	if beta := c.target.Beta(); c.n < 1 || c.sites < 1 || !(beta > 0) || math.IsInf(beta, 1) {
		return c.Broken("shape", "Len() = %d, Sites() = %d, Beta() = %v", c.n, c.sites, beta)
	}
	c.equal = make([]bool, c.n)
	if d, ok := c.target.(dual.Described); ok {
		rows := d.Rows()
		if len(rows) != c.n {
			return c.Broken("shape", "len(Rows()) = %d, Len() = %d", len(rows), c.n)
		}
		for j, r := range rows {
			c.equal[j] = r.Equal
		}
	}
	if c.lambda = c.o.Lambda; c.lambda == nil {
		for j := range c.n {
			c.lambda = append(c.lambda, 0.3*float64(j+1))
		}
	}
	return c.states()
}

// states chooses the states to check.
func (c *targeter[S]) states() error {
	if c.o.X != nil {
		if len(c.o.X)%c.sites != 0 {
			return c.Broken("shape", "len(Options.X) = %d, Sites() = %d", len(c.o.X), c.sites)
		}
		return nil
	}
	var zero S
	if _, real := any(zero).(float32); real {
		r := rand.New(rand.NewPCG(39, 7))
		for range 32 * c.sites {
			c.o.X = append(c.o.X, S(r.NormFloat64()))
		}
		return nil
	}
	m, ok := c.target.(shaped)
	if !ok {
		return c.Broken("shape", "Options.X = nil, and the target has no Shape")
	}
	sites, levels := m.Shape()
	if sites != c.sites || math.Pow(float64(levels), float64(sites)) > 1<<12 {
		return c.Broken("shape", "Shape() = %d, %d with Sites() = %d, want at most 2¹² states of as many sites", sites, levels, c.sites)
	}
	for _, x := range laws.States(sites, levels) {
		for _, l := range x {
			c.o.X = append(c.o.X, S(l))
		}
	}
	return nil
}

// observed returns numbers that change with the multipliers: the energies of the states, or their
// violations if the target has no energies.
func (c *targeter[S]) observed() []float64 {
	if m, ok := c.target.(energies[S]); ok {
		e := make([]float64, len(c.o.X)/c.sites)
		m.Energy(e, c.o.X)
		return e
	}
	return c.violations(c.o.X)
}

func (c *targeter[S]) violations(x []S) []float64 {
	g := slices.Repeat([]float64{math.NaN()}, len(x)/c.sites*c.n)
	c.target.Violation(g, x)
	return g
}

func (c *targeter[S]) multipliers() error {
	if err := c.target.SetLambda(c.lambda); err != nil {
		return c.Broken("multipliers", "SetLambda(%v): %v", c.lambda, err)
	}
	want := c.observed()
	for j := range c.n {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.5} {
			wrong := slices.Clone(c.lambda)
			wrong[j] = v
			if v == -0.5 && c.equal[j] {
				continue
			}
			if c.target.SetLambda(wrong) == nil {
				return c.Broken("multipliers", "SetLambda(%v) returns no error", wrong)
			}
			if !slices.Equal(c.observed(), want) {
				return c.Broken("multipliers", "SetLambda(%v) fails, and the target is not as before", wrong)
			}
		}
	}
	mine := slices.Clone(c.lambda)
	if err := c.target.SetLambda(mine); err != nil {
		return c.Broken("multipliers", "SetLambda(%v): %v", mine, err)
	}
	for j := range mine {
		mine[j] = 1e3
	}
	if !slices.Equal(c.observed(), want) {
		return c.Broken("multipliers", "the target keeps the slice that SetLambda was given")
	}
	if laws.Panic(func() { _ = c.target.SetLambda(make([]float64, c.n+1)) }) == nil && c.target.SetLambda(make([]float64, c.n+1)) == nil {
		return c.Broken("multipliers", "SetLambda of %d multipliers passes, and Len() = %d", c.n+1, c.n)
	}
	return nil
}

func (c *targeter[S]) batch() error {
	x := slices.Clone(c.o.X)
	g := c.violations(x)
	if !slices.Equal(x, c.o.X) {
		return c.Broken("batch", "Violation changes x")
	}
	for s := range len(x) / c.sites {
		row := x[s*c.sites : (s+1)*c.sites]
		if alone := c.violations(row); !slices.Equal(alone, g[s*c.n:(s+1)*c.n]) {
			return c.Broken("batch", "state %v has the violations %v alone and %v among others", row, alone, g[s*c.n:(s+1)*c.n])
		}
	}
	return nil
}

func (c *targeter[S]) energies() error {
	m, ok := c.target.(energies[S])
	if !ok {
		return nil
	}
	zeros := make([]float64, c.n)
	if err := c.target.SetLambda(zeros); err != nil {
		return c.Broken("base", "SetLambda(%v): %v", zeros, err)
	}
	states := len(c.o.X) / c.sites
	e := make([]float64, states)
	m.Energy(e, c.o.X)
	base, g := slices.Clone(e), c.violations(c.o.X)
	if c.o.Base != nil {
		want := make([]float64, states)
		c.o.Base(want, c.o.X)
		for s, v := range want {
			if v != e[s] {
				return c.Broken("base", "state %v has the energy %v at λ = 0, want %v", c.o.X[s*c.sites:(s+1)*c.sites], e[s], v)
			}
		}
	}
	beta := c.target.Beta()
	if err := c.target.SetLambda(c.lambda); err != nil {
		return c.Broken("base", "SetLambda(%v): %v", c.lambda, err)
	}
	m.Energy(e, c.o.X)
	shift := math.NaN() // the constant by which Options.Energy may differ
	for s, v := range e {
		x := c.o.X[s*c.sites : (s+1)*c.sites]
		want, size := base[s], math.Abs(base[s])
		if c.o.Energy != nil {
			if want = c.o.Energy(c.lambda, x); math.IsNaN(shift) && !math.IsInf(v, 1) {
				shift = v - want
			}
			want += shift
			size = math.Abs(v) + math.Abs(shift)
		} else {
			for j, l := range c.lambda {
				want += l * g[s*c.n+j] / beta
				size += math.Abs(l * g[s*c.n+j] / beta)
			}
		}
		// 2⁻²⁰ allows for terms stored in float32, such as couplings.
		if v != want && !(math.Abs(v-want) <= 0x1p-20*(1+size)) {
			return c.Broken("energy", "state %v has the energy %v at λ = %v, want %v", x, v, c.lambda, want)
		}
	}
	if err := c.target.SetLambda(zeros); err != nil {
		return c.Broken("base", "SetLambda(%v): %v", zeros, err)
	}
	m.Energy(e, c.o.X)
	if !slices.Equal(e, base) {
		return c.Broken("base", "energies at λ = 0 are not those of before after other multipliers")
	}
	return nil
}
