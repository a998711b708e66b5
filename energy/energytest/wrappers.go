package energytest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// abilities lists the interfaces that a model may support, and the wrappers that preserve each of
// them.
var abilities = []struct {
	name string
	has  func(m energy.Model) bool
	kept string // by which of Scale, Sum of the model with itself, and Clamp
}{
	{"Differentiable", has[energy.Differentiable], "scale sum clamp"},
	{"Binary", has[energy.Binary], "scale sum clamp"},
	{"Conditional", has[energy.Conditional], "scale sum clamp"},
	{"Local", has[energy.Local], "scale sum clamp"},
	{"Graphical", has[energy.Graphical], "scale sum clamp"},
	{"Ordinal", has[energy.Ordinal], "scale sum clamp"},
	{"Windowed", has[energy.Windowed], "scale sum clamp"},
	{"Stochastic", has[energy.Stochastic], "scale sum clamp"},
	// A sum is Supported only if one of its parts is.
	{"Supported", has[energy.Supported], "scale clamp"},
	{"Parametric", has[energy.Parametric], "scale"},
	{"Learnable", has[energy.Learnable], "scale sum clamp"},
	{"Incremental", has[energy.Incremental], "scale clamp"},
	{"Bipartite", has[energy.Bipartite], "forms"},
	{"Factored", func(m energy.Model) bool { return factors(m, false) }, "scale sum clamp"},
	{"Factored with hidden units", func(m energy.Model) bool { return factors(m, true) }, "sum clamp"},
	{"Toroidal", func(m energy.Model) bool {
		t, ok := energy.As[energy.Toroidal](m)
		if ok {
			_, _, ok = t.Torus()
		}
		return ok
	}, "scale sum"},
	{"Matching", func(m energy.Model) bool {
		t, ok := energy.As[energy.Matching](m)
		if ok {
			_, _, ok = t.Matching()
		}
		return ok
	}, "scale sum"},
	{"Pairwise", func(m energy.Model) bool {
		t, ok := energy.As[energy.Pairwise](m)
		if ok {
			_, _, _, _, ok = t.Pairs()
		}
		return ok
	}, "scale sum"},
}

// factors reports whether a model has factors and, according to hidden, has or has not hidden
// units.
func factors(m energy.Model, hidden bool) bool {
	f, ok := energy.As[energy.Factored](m)
	if !ok {
		return false
	}
	cards, _, _, ok := f.Factors()
	sites, _ := m.Shape()
	return ok && (len(cards) > sites) == hidden
}

func has[T any](m energy.Model) bool {
	_, ok := energy.As[T](m)
	return ok
}

// forwarded is a wrapper that forwards everything to its model.
type forwarded struct{ energy.Model }

// As implements energy.Capable: the wrapper supports all interfaces that the wrapped model
// supports.
func (f forwarded) As(target any) bool { return energy.AsInto(f.Model, target) }

func checkWrappers(s *subject) error {
	if s.inside {
		return nil
	}
	const beta = 0.5
	scaled, err := energy.Scale(s.m, beta)
	if err != nil {
		return fmt.Errorf("energy.Scale: %w", err)
	}
	twice, err := energy.Sum(s.m, s.m)
	if err != nil {
		return fmt.Errorf("energy.Sum: %w", err)
	}
	site, level := s.sites-1, s.state(0)[s.sites-1]
	clamped, err := energy.Clamp(s.m, map[int]int32{site: level})
	if err != nil {
		return fmt.Errorf("energy.Clamp: %w", err)
	}
	all := []struct {
		name, kind string
		m          energy.Model
		energy     func(e float64, x []int32) float64
	}{
		{"a wrapper that passes everything on", "", forwarded{s.m}, func(e float64, _ []int32) float64 { return e }},
		{"Scale by ½", "scale", scaled, func(e float64, _ []int32) float64 { return beta * e }},
		{"Sum of the model with itself", "sum", twice, func(e float64, _ []int32) float64 { return 2 * e }},
		{fmt.Sprintf("Clamp of site %d at level %d", site, level), "clamp", clamped, func(e float64, x []int32) float64 {
			if x[site] != level {
				return math.Inf(1)
			}
			return e
		}},
	}
	if v := reflect.ValueOf(s.m); v.Kind() != reflect.Pointer {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		if m, ok := p.Interface().(energy.Model); ok {
			all = append(all, all[0])
			all[len(all)-1].name, all[len(all)-1].m = "a pointer", m
		}
	}
	for _, w := range all {
		if err := s.wrapped(w.m, w.kind, w.energy); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// wrapped checks the wrapper m of the model: its energies (want gives the expected ones), the
// interfaces it must still support, and the laws in every. kind is "scale", "sum", "clamp", or ""
// for a wrapper that changes nothing.
func (s *subject) wrapped(m energy.Model, kind string, want func(e float64, x []int32) float64) error {
	if sites, levels := m.Shape(); sites != s.sites || levels != s.levels {
		return fmt.Errorf("method Shape = %d, %d, want %d, %d", sites, levels, s.sites, s.levels)
	}
	got := make([]float64, len(s.e))
	m.Energy(got, s.x)
	for k, e := range s.e {
		if v := want(e, s.state(k)); !s.near(v, got[k], 2) {
			return fmt.Errorf("energy of %v = %v, want %v", s.state(k), got[k], v)
		}
	}
	for _, a := range abilities {
		if a.has(s.m) && !a.has(m) && (kind == "" || slices.Contains(strings.Fields(a.kept), kind)) {
			return fmt.Errorf("is no energy.%s, as the model is", a.name)
		}
	}
	opt := s.opt
	opt.States = min(opt.States, 12)
	in, err := newSubject(s.ctx, m, opt)
	if err != nil {
		return err
	}
	in.inside = true
	for _, l := range every {
		if err := held(l, in); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func checkConcurrency(s *subject) error {
	const goroutines = 4
	var group sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		group.Add(1)
		go func() {
			defer group.Done()
			own := *s
			own.r = rand.New(rand.NewPCG(s.opt.Seed, uint64(g)))
			own.opt.FirstOrder = true // exactness is checked elsewhere, without concurrency
			for _, l := range []law{{"energies", checkEnergies}, {"tables", checkTables}, {"singles", checkSingles}} {
				if err := held(l, &own); err != nil && errs[g] == nil {
					errs[g] = fmt.Errorf("in %d goroutines: %s: %w", goroutines, l.name, err)
				}
			}
		}()
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkAllocations(s *subject) error {
	x, e := s.x[:2*s.sites], make([]float64, 2)
	g, d := make([]float32, len(x)*max(s.levels, 3)), make([]float64, s.sites*s.levels)
	calls := map[string]func(){"Energy": func() { s.m.Energy(e, x) }}
	if m, ok := energy.As[energy.Differentiable](s.m); ok {
		calls["Gradient"] = func() { m.Gradient(e, g[:len(x)*s.levels], x) }
	}
	if m, ok := energy.As[energy.Binary](s.m); ok {
		calls["Field"] = func() { m.Field(e, g[:len(x)], x) }
	}
	if m, ok := energy.As[energy.Conditional](s.m); ok {
		calls["Conditional"] = func() { m.Conditional(d[:s.levels], 0, x[:s.sites]) }
	}
	if m, ok := energy.As[energy.Local](s.m); ok {
		calls["Locals"] = func() { m.Locals(d, x[:s.sites]) }
		calls["Move"] = func() { m.Move(d, 0, x[0], x[:s.sites]) }
	}
	if m, ok := energy.As[energy.Windowed](s.m); ok {
		calls["Window"] = func() { m.Window(e, g[:len(x)*3], x, 1) }
	}
	for what, call := range calls {
		if n := laws.Allocations(call); n > 0 {
			return fmt.Errorf("%v allocations in %s, want none", n, what)
		}
	}
	return nil
}

// theta is the amount by which parameters are changed to measure a derivative. It is large enough
// for parameters stored in float32, and small enough for third derivatives not to matter.
const (
	theta      = 0x1p-7
	derivative = 1e-3 // relative error of a derivative measured in this way
)

func checkParameters(s *subject) error {
	if m, ok := energy.As[energy.Learnable](s.m); ok {
		p, err := m.Learn()
		if err != nil {
			return fmt.Errorf("method Learn: %w", err)
		}
		got := make([]float64, len(s.e))
		p.Energy(got, s.x)
		for k := range got {
			if math.Abs(got[k]-s.e[k]) > 2*s.slack+rounding32*math.Abs(s.e[k]) {
				return fmt.Errorf("energy of the copy of Learn at %v = %v, want %v", s.state(k), got[k], s.e[k])
			}
		}
		if err := s.params(p); err != nil {
			return fmt.Errorf("the copy of Learn: %w", err)
		}
		s.m.Energy(got, s.x)
		if k := differ(got, s.e); k >= 0 {
			return fmt.Errorf("SetParams of the copy of Learn moves the model: energy of %v = %v, and %v before", s.state(k), got[k], s.e[k])
		}
	}
	if p, ok := energy.As[energy.Parametric](s.m); ok {
		return s.params(p)
	}
	return nil
}

// params checks a Parametric model and leaves it as it was.
func (s *subject) params(p energy.Parametric) error {
	old := slices.Clone(p.Params())
	defer func() { _ = p.SetParams(old) }()
	before, after := make([]float64, len(s.e)), make([]float64, len(s.e))
	p.Energy(before, s.x)
	bad := slices.Clone(old)
	if len(bad) > 0 {
		bad[len(bad)-1] = math.NaN()
		if err := p.SetParams(bad); err == nil {
			return errors.New("SetParams of NaN returns no error")
		}
		if p.Energy(after, s.x); differ(after, before) >= 0 {
			return errors.New("SetParams that returns an error changes the model")
		}
	}
	var err error
	if v := laws.Panic(func() { err = p.SetParams(append(slices.Clone(old), 0)) }); v == nil && err == nil {
		return errors.New("SetParams of a parameter too many neither panics nor returns an error")
	}
	if p.Energy(after, s.x); differ(after, before) >= 0 || !slices.Equal(p.Params(), old) {
		return errors.New("SetParams that returns an error changes the model")
	}
	if v := p.Params(); len(v) > 0 {
		v[0]++
		if !slices.Equal(p.Params(), old) {
			return errors.New("method Params returns no copy")
		}
	}
	weights := make([]float64, len(s.e))
	for k := range weights {
		if weights[k] = s.r.Float64() - 0.5; !s.finite(k) {
			weights[k] = 0
		}
	}
	g := make([]float64, len(old))
	p.ParamGradient(g, s.x, weights)
	again := slices.Clone(g)
	p.ParamGradient(again, s.x, weights)
	for k, v := range again {
		if math.Abs(v-2*g[k]) > derivative*(1+math.Abs(g[k])) {
			return fmt.Errorf("ParamGradient does not add to its destination: entry %d is %v after two calls and %v after one", k, v, g[k])
		}
	}
	total := func(to []float64) (float64, error) {
		if err := p.SetParams(to); err != nil {
			return 0, err
		}
		p.Energy(after, s.x)
		sum := 0.0
		for k, w := range weights {
			if s.finite(k) {
				sum += w * after[k]
			}
		}
		return sum, nil
	}
	for try := range 12 {
		direction := make([]float64, len(old))
		for k := range direction {
			direction[k] = s.r.Float64() - 0.5
		}
		if try >= 3 && len(old) > 0 { // change only one parameter
			clear(direction)
			direction[s.r.IntN(len(old))] = 1
		}
		up, down, want, scale := slices.Clone(old), slices.Clone(old), 0.0, 1.0
		for k, v := range direction {
			up[k] += theta * v
			down[k] -= theta * v
			want += v * g[k]
			scale += math.Abs(v * g[k])
		}
		a, err := total(up)
		if err != nil {
			return fmt.Errorf("SetParams: %w", err)
		}
		b, err := total(down)
		if err != nil {
			return fmt.Errorf("SetParams: %w", err)
		}
		if got := (a - b) / (2 * theta); math.Abs(got-want) > derivative*scale+s.slack/theta*float64(len(s.e)) {
			return fmt.Errorf("derivative by the parameters along %v = %v by ParamGradient, %v by SetParams", direction, want, got)
		}
	}
	return nil
}
