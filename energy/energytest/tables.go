package energytest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// checkLengths checks that methods panic if slices are slightly too long or too short.
func checkLengths(s *subject) error {
	x, e := s.x[:2*s.sites], make([]float64, 2)
	calls := map[string]func(){
		"Energy, a site too few":    func() { s.m.Energy(e, x[1:]) },
		"Energy, an energy too few": func() { s.m.Energy(e[1:], x) },
	}
	if m, ok := energy.As[energy.Differentiable](s.m); ok {
		calls["Gradient, a short table"] = func() { m.Gradient(e, make([]float32, len(x)*s.levels-1), x) }
		calls["Gradient, an energy too few"] = func() { m.Gradient(e[1:], make([]float32, len(x)*s.levels), x) }
	}
	if m, ok := energy.As[energy.Binary](s.m); ok {
		calls["Field, a short field"] = func() { m.Field(e, make([]float32, len(x)-1), x) }
		calls["Field, an energy too few"] = func() { m.Field(e[1:], make([]float32, len(x)), x) }
	}
	if m, ok := energy.As[energy.Windowed](s.m); ok {
		calls["Window, a short table"] = func() { m.Window(e, make([]float32, len(x)*3-1), x, 1) }
	}
	if m, ok := energy.As[energy.Conditional](s.m); ok {
		calls["Conditional, a long row"] = func() { m.Conditional(make([]float64, s.levels+1), 0, x[:s.sites]) }
		calls["Conditional, two states"] = func() { m.Conditional(make([]float64, s.levels), 0, x) }
	}
	if m, ok := energy.As[energy.Local](s.m); ok {
		calls["Locals, a short table"] = func() { m.Locals(make([]float64, s.sites*s.levels-1), x[:s.sites]) }
	}
	for what, call := range calls {
		v := laws.Panic(call)
		if _, index := v.(runtime.Error); v == nil || index {
			return fmt.Errorf("%s: panic %v, want one with a message that says what is wrong", what, v)
		}
	}
	return nil
}

func checkTables(s *subject) error {
	if m, ok := energy.As[energy.Differentiable](s.m); ok {
		err := s.table("Gradient", s.levels, m.Gradient, func(k, i int, d []float64, g []float32) error {
			if v := g[s.state(k)[i]]; v != 0 {
				return fmt.Errorf("entry of the current level = %v, want 0", v)
			}
			return s.exact(d, g)
		})
		if err != nil {
			return err
		}
	}
	if m, ok := energy.As[energy.Binary](s.m); ok {
		if s.levels != 2 {
			return fmt.Errorf("energy.Binary with %d levels", s.levels)
		}
		err := s.table("Field", 1, m.Field, func(_, _ int, d []float64, h []float32) error {
			if v := d[1] - d[0]; !s.opt.FirstOrder && !s.near32(v, h[0]) {
				return fmt.Errorf("%v, want E(x_i=1) − E(x_i=0) = %v", h[0], v)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if m, ok := energy.As[energy.Windowed](s.m); ok {
		for _, w := range []int{0, 1, s.levels} {
			window := func(e []float64, g []float32, x []int32) { m.Window(e, g, x, w) }
			err := s.table(fmt.Sprintf("Window of %d", w), 2*w+1, window, func(k, i int, d []float64, g []float32) error {
				return s.window(int(s.state(k)[i]), w, d, g)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// exact checks a row g of a table against the differences d of energies, unless tables are first
// order.
func (s *subject) exact(d []float64, g []float32) error {
	for l, v := range d {
		if !s.opt.FirstOrder && !s.near32(v, g[l]) {
			return fmt.Errorf("entry of level %d = %v, want E(x_i=%d) − E(x) = %v; a table of derivatives wants Options.FirstOrder", l, g[l], l, v)
		}
	}
	return nil
}

// window checks the row g of a window of half-width w for a site at the level at. d holds the
// differences of energies.
func (s *subject) window(at, w int, d []float64, g []float32) error {
	for k, v := range g {
		l := at + k - w
		switch {
		case l < 0 || l >= s.levels:
			if !math.IsInf(float64(v), 1) {
				return fmt.Errorf("entry %d, outside the domain, = %v, want +Inf", k, v)
			}
		case l == at && v != 0:
			return fmt.Errorf("entry of the current level = %v, want 0", v)
		case !s.opt.FirstOrder && !s.near32(d[l], v):
			return fmt.Errorf("entry of level %d = %v, want E(x_i=%d) − E(x) = %v", l, v, l, d[l])
		}
	}
	return nil
}

// table checks the properties that all tables with the given number of columns share. It calls
// check with each row of states of finite energy and with the differences computed from energies.
func (s *subject) table(name string, columns int, f func(e []float64, g []float32, x []int32), check func(k, i int, d []float64, g []float32) error) error {
	e, g, x := make([]float64, len(s.e)), make([]float32, len(s.x)*columns), slices.Clone(s.x)
	fill(e)
	fill(g)
	f(e, g, x)
	if !slices.Equal(x, s.x) {
		return fmt.Errorf("%s changes x", name)
	}
	if k := differ(e, s.e); k >= 0 {
		return fmt.Errorf("%s: energy of %v = %v, want %v", name, s.state(k), e[k], s.e[k])
	}
	d, one := make([]float64, s.levels), make([]float32, s.sites*columns)
	for k := range s.e {
		fill(one)
		f(e[:1], one, s.state(k))
		if !same(one, g[k*len(one):(k+1)*len(one)]) {
			return fmt.Errorf("%s of %v depends on the other states of the batch", name, s.state(k))
		}
		if !s.finite(k) {
			continue
		}
		for _, i := range s.some(fewSites) {
			s.row(d, s.state(k), i)
			if err := check(k, i, d, one[i*columns:(i+1)*columns]); err != nil {
				return fmt.Errorf("%s, site %d of %v: %w", name, i, s.state(k), err)
			}
		}
	}
	return nil
}

func checkSingles(s *subject) error {
	if m, ok := energy.As[energy.Conditional](s.m); ok {
		want, got := make([]float64, s.levels), make([]float64, s.levels)
		for k := range s.e {
			if !s.finite(k) {
				continue
			}
			for _, i := range s.some(fewSites) {
				x := slices.Clone(s.state(k))
				fill(got)
				m.Conditional(got, i, x)
				if !slices.Equal(x, s.state(k)) {
					return errors.New("method Conditional changes x")
				}
				s.row(want, x, i)
				for l := range got {
					if !s.near(want[l], got[l], 2) {
						return fmt.Errorf("method Conditional, site %d of %v: entry of level %d = %v, want E(x_i=%d) − E(x) = %v", i, x, l, got[l], l, want[l])
					}
				}
			}
		}
	}
	if m, ok := energy.As[energy.Local](s.m); ok {
		return s.locals(m)
	}
	return nil
}

// locals checks Locals and Move. From each of some states it takes a few moves and updates a table
// to which another table has been added.
func (s *subject) locals(m energy.Local) error {
	d, alone := make([]float64, s.sites*s.levels), make([]float64, s.sites*s.levels)
	for k := range min(len(s.e), 8) {
		if !s.finite(k) {
			continue
		}
		x := slices.Clone(s.state(k))
		fill(d)
		m.Locals(d, x)
		if !slices.Equal(x, s.state(k)) {
			return errors.New("method Locals changes x")
		}
		if err := s.rows(d, x, "Locals"); err != nil {
			return err
		}
		other := make([]float64, len(d))
		for i := range other {
			// Multiples of 1/8, which add almost without rounding.
			other[i] = float64(s.r.IntN(8)) / 8
			d[i] += other[i]
		}
		for range 4 {
			i, l := s.r.IntN(s.sites), int32(s.r.IntN(s.levels))
			y := slices.Clone(x)
			y[i] = l
			if e := s.energy(y); math.IsInf(e, 0) || math.IsNaN(e) {
				continue
			}
			own := slices.Clone(d[i*s.levels : (i+1)*s.levels])
			before := slices.Clone(x)
			m.Move(d, i, l, x)
			if !slices.Equal(x, before) {
				return errors.New("method Move changes x")
			}
			if !slices.Equal(own, d[i*s.levels:(i+1)*s.levels]) {
				return fmt.Errorf("method Move of site %d of %v to %d changes the row of the site", i, x, l)
			}
			x = y
			for i := range alone {
				alone[i] = d[i] - other[i]
			}
			if err := s.rows(alone, x, fmt.Sprintf("Move of site %d from %v to %d", i, before, l)); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows checks a table of Locals against differences of energies. Each row may have a constant
// added.
func (s *subject) rows(d []float64, x []int32, what string) error {
	want := make([]float64, s.levels)
	for _, i := range s.some(fewSites) {
		s.row(want, x, i)
		row := d[i*s.levels : (i+1)*s.levels]
		for l, v := range row {
			if math.IsInf(v, -1) || math.IsNaN(v) {
				return fmt.Errorf("%s, site %d of %v: entry of level %d = %v", what, i, x, l, v)
			}
			if got := v - row[x[i]]; !s.near(want[l], got, 4) {
				return fmt.Errorf("%s, site %d of %v: entry of level %d less that of the current one = %v, want %v", what, i, x, l, got, want[l])
			}
		}
	}
	return nil
}

// checkEstimates compares the mean of many estimates with the table. It assumes that the mean is
// close to normal.
func checkEstimates(s *subject) error {
	m, ok := energy.As[energy.Stochastic](s.m)
	if !ok {
		return nil
	}
	const draws = 4000
	for k := range min(len(s.e), 3) {
		columns, want := s.levels, make([]float32, s.sites*s.levels)
		var e [1]float64
		if t, ok := energy.As[energy.Differentiable](s.m); ok {
			t.Gradient(e[:], want, s.state(k))
		} else if b, ok := energy.As[energy.Binary](s.m); ok {
			columns, want = 1, want[:s.sites]
			b.Field(e[:], want, s.state(k))
		} else {
			return nil
		}
		g, src := make([]float32, s.sites*columns), []rand.Source{rand.NewPCG(s.opt.Seed, uint64(k))}
		sum, squares := make([]float64, len(g)), make([]float64, len(g))
		for range draws {
			fill(g)
			m.Estimate(g, s.state(k), src)
			for i, v := range g {
				sum[i] += float64(v)
				squares[i] += float64(v) * float64(v)
			}
		}
		for i := range g {
			mean := sum[i] / draws
			deviation := math.Sqrt(max(0, squares[i]/draws-mean*mean) / draws)
			bound := math.Sqrt(2*math.Log(6*float64(len(g))/laws.Rate))*deviation + s.slack + rounding32*math.Abs(mean)
			if d := mean - float64(want[i]); !(math.Abs(d) <= bound) && sum[i] != float64(want[i]) {
				return fmt.Errorf("site %d of %v: mean of %d estimates of entry %d = %v, want %v ± %.2g", i/columns, s.state(k), draws, i%columns, mean, want[i], bound)
			}
		}
	}
	return nil
}
