package dual_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// opaque hides everything about a set but its values.
type opaque struct{ constraint.Set }

// setting is a Lagrangian with a formula of its energy that shares no code.
type setting struct {
	name  string
	lag   *dual.Lagrangian
	brute func(x []int32) float64
	local bool // every part is made of models
}

// settings returns Lagrangians of every kind on small spaces, at λ > 0.
func settings(t *testing.T) []setting {
	const beta, l0, l1 = 0.75, 1.25, 0.5
	potts := exact.Must(model.NewPotts(model.Lattice{4}, 3, 0.5, nil))
	pottsEnergy := func(x []int32) float64 { e := make([]float64, 1); potts.Energy(e, x); return e[0] }
	count := constraint.Count{Levels: []int32{1, 2}, Min: 1, Max: 2}
	ups := func(x []int32) float64 { return float64(len(x) - strings(x, 0)) }
	counted := func(x []int32) float64 {
		return (pottsEnergy(x) + l0*(1-ups(x)) + l1*(ups(x)-2)) / beta
	}
	masked := exact.Must(model.NewIndependent([]float64{0, -1, 0, math.Inf(-1), 0.5, 0}, 2))
	pair := exact.Must(model.NewIsing(model.Lattice{3}, 1, 0))
	maskedEnergy := func(x []int32) float64 {
		if x[1] == 1 {
			return math.Inf(1)
		}
		spin := func(i int) float64 { return float64(2*x[i] - 1) }
		bonds := -spin(0)*spin(1) - spin(1)*spin(2) - spin(2)*spin(0)
		e := float64(x[0])
		if x[2] == 0 {
			e -= 0.5
		}
		return (e + l0*(bonds-1) + l1*(0.25-bonds)) / beta
	}
	build := func(base energy.Model, sets ...constraint.Set) *dual.Lagrangian {
		l := exact.Must(exact.Must(dual.NewLagrangian(base, sets...)).AtTemperature(beta))
		require.NoError(t, l.SetLambda([]float64{l0, l1}))
		return l
	}
	return []setting{
		{"count", build(potts, count), counted, true},
		{"opaque", build(potts, opaque{count}), counted, false},
		{"joined", build(potts,
			opaque{constraint.Count{Levels: []int32{1, 2}, Min: 1, Max: constraint.Unbounded}},
			constraint.Count{Levels: []int32{1, 2}, Max: 2}), counted, false},
		{"range", build(masked, dual.Between(pair, 0.25, 1)), maskedEnergy, true},
		{"opaque range", build(masked, opaque{dual.Between(pair, 0.25, 1)}), maskedEnergy, false},
	}
}

// strings counts the sites at a level.
func strings(x []int32, level int32) int {
	n := 0
	for _, v := range x {
		if v == level {
			n++
		}
	}
	return n
}

// slack bounds the rounding of sums of a dozen terms of the order of 10.
const slack = 1e-13

func TestLagrangian(t *testing.T) {
	for _, s := range settings(t) {
		t.Run(s.name, func(t *testing.T) {
			sites, levels := s.lag.Shape()
			_, local := energy.As[energy.Local](s.lag)
			_, graphical := energy.As[energy.Graphical](s.lag)
			require.Equal(t, s.local, local)
			require.Equal(t, s.local, graphical)
			_, binary := energy.As[energy.Binary](s.lag)
			require.Equal(t, levels == 2, binary)
			var all []int32
			for _, x := range exact.States(sites, levels) {
				if !math.IsInf(s.brute(x), 1) {
					all = append(all, x...)
				}
			}
			n := len(all) / sites
			e := make([]float64, n)
			s.lag.Energy(e, all)
			for k := range e {
				require.InDelta(t, s.brute(all[k*sites:(k+1)*sites]), e[k], slack)
			}
			checkTable(t, s, all)
			checkSingle(t, s, all)
		})
	}
}

// checkTable compares Gradient and Field with differences of the formula.
func checkTable(t *testing.T, s setting, all []int32) {
	sites, levels := s.lag.Shape()
	e := make([]float64, len(all)/sites)
	g := make([]float32, len(all)*levels)
	m, ok := energy.As[energy.Differentiable](s.lag)
	require.True(t, ok)
	m.Gradient(e, g, all)
	h := make([]float32, len(all))
	if b, ok := energy.As[energy.Binary](s.lag); ok {
		b.Field(e, h, all)
	}
	for at := range all {
		x := slices.Clone(all[at/sites*sites : at/sites*sites+sites])
		from := s.brute(x)
		require.InDelta(t, from, e[at/sites], slack)
		require.Zero(t, g[at*levels+int(all[at])])
		for l := range levels {
			x[at%sites] = int32(l)
			d := s.brute(x) - from
			if math.IsInf(d, 1) {
				require.Equal(t, float32(d), g[at*levels+l])
				continue
			}
			require.InDelta(t, d, float64(g[at*levels+l]), 1e-5, "float32")
			if l != int(all[at]) && levels == 2 {
				require.InDelta(t, d, float64(h[at])*float64(2*l-1), 1e-5, "float32")
			}
		}
	}
}

// checkSingle compares Conditional, Locals and Move with the formula.
func checkSingle(t *testing.T, s setting, all []int32) {
	sites, levels := s.lag.Shape()
	c, ok := energy.As[energy.Conditional](s.lag)
	require.True(t, ok)
	local, isLocal := energy.As[energy.Local](s.lag)
	d, table := make([]float64, levels), make([]float64, sites*levels)
	row := func(d []float64, x []int32, i int) {
		y := slices.Clone(x)
		for l := range levels {
			y[i] = int32(l)
			want := s.brute(y) - s.brute(x)
			if math.IsInf(want, 1) {
				require.Equal(t, want, d[l]-d[x[i]])
			} else {
				require.InDelta(t, want, d[l]-d[x[i]], slack)
			}
		}
	}
	for k := range len(all) / sites {
		x := slices.Clone(all[k*sites : (k+1)*sites])
		for i := range x {
			c.Conditional(d, i, x)
			row(d, x, i)
		}
		if !isLocal {
			continue
		}
		local.Locals(table, x)
		for step := range 2 * sites { // a walk keeps the table up to date
			i, to := step%sites, int32((k+step)%levels)
			y := slices.Clone(x)
			if y[i] = to; math.IsInf(s.brute(y), 1) {
				continue
			}
			local.Move(table, i, to, x)
			x[i] = to
			for i := range x {
				row(table[i*levels:(i+1)*levels], x, i)
			}
		}
	}
}

// The graph is the union of those of base and bounds.
func TestLagrangianGraph(t *testing.T) {
	base := exact.Must(model.NewIsing(model.Lattice{4}, 1, 0)) // a ring
	field := exact.Must(model.NewIndependent(make([]float64, 8), 2))
	lag := exact.Must(dual.NewLagrangian(field, dual.AtMost(base, 1)))
	g, ok := energy.As[energy.Graphical](lag)
	require.True(t, ok)
	start, adj := g.Graph()
	wantStart, wantAdj := base.Graph()
	require.Equal(t, wantStart, start)
	require.Equal(t, wantAdj, adj)
}

func TestLagrangianLaw(t *testing.T) {
	for _, s := range settings(t) {
		p, logZ := exact.Law(s.lag)
		d, err := s.lag.Dual(ctx, s.lag.Lambda())
		require.NoError(t, err)
		require.InDelta(t, -s.lag.Beta()*logZ, d, 1e-12)
		require.InDelta(t, 1, exact.Sum(p), 1e-12)
	}
}

// λ = 0 is the base model, bit for bit at β = 1.
func TestLagrangianAtZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, h := rapid.Float64Range(-2, 2).Draw(t, "J"), rapid.Float64Range(-2, 2).Draw(t, "h")
		base := exact.Must(model.NewIsing(model.Lattice{3, 3}, j, h))
		lag := exact.Must(dual.NewLagrangian(base, constraint.Count{Levels: []int32{1}, Max: 3}))
		x := rapid.SliceOfN(rapid.Int32Range(0, 1), 9, 9).Draw(t, "x")
		want, got := make([]float64, 1), make([]float64, 1)
		base.Energy(want, x)
		lag.Energy(got, x)
		if want[0] != got[0] {
			t.Fatalf("energy %v, want %v", got[0], want[0])
		}
		field, _ := energy.As[energy.Binary](lag)
		wantH, gotH := make([]float32, 9), make([]float32, 9)
		base.Field(want, wantH, x)
		field.Field(got, gotH, x)
		if !slices.Equal(wantH, gotH) {
			t.Fatalf("field %v, want %v", gotH, wantH)
		}
	})
}

// ordinal gives a model numeric levels and a repair.
type ordinal struct{ energy.Model }

func (ordinal) Values() []float32 { return []float32{-1, 1} }
func (ordinal) Repair(x []int32)  { x[0] = 1 }

func TestLagrangianBaseOnly(t *testing.T) {
	base := exact.Must(model.NewIsing(model.Lattice{3}, 1, 0))
	lag := exact.Must(dual.NewLagrangian(ordinal{base}, constraint.Count{Levels: []int32{1}, Max: 1}))
	o, ok := energy.As[energy.Ordinal](lag)
	require.True(t, ok)
	require.Equal(t, []float32{-1, 1}, o.Values())
	s, ok := energy.As[energy.Supported](lag)
	require.True(t, ok)
	x := make([]int32, 3)
	s.Repair(x)
	require.Equal(t, []int32{1, 0, 0}, x)
	_, ok = energy.As[energy.Ordinal](exact.Must(dual.NewLagrangian(base, constraint.Count{Levels: []int32{1}, Max: 1})))
	require.False(t, ok)
	_, ok = energy.As[energy.Differentiable](lag)
	require.False(t, ok, "the base gives no table any more")
	_, ok = energy.As[energy.Bipartite](lag)
	require.False(t, ok)
	require.Equal(t, ordinal{base}, lag.Base())
}

func TestLagrangianErrors(t *testing.T) {
	base := exact.Must(model.NewIsing(model.Lattice{3}, 1, 0))
	other := exact.Must(model.NewIsing(model.Lattice{4}, 1, 0))
	one := constraint.Count{Levels: []int32{1}, Max: 1}
	fail := func(base energy.Model, want string, sets ...constraint.Set) {
		t.Helper()
		_, err := dual.NewLagrangian(base, sets...)
		require.ErrorContains(t, err, want)
	}
	type row = dual.Constraint[int32]
	of := []dual.Energetic[int32]{base}
	fail(nil, "base is nil", one)
	fail(energy.Func{}, "want both ≥ 1", one)
	fail(base, "set 0 is nil", nil)
	fail(base, "0 inequalities")
	fail(base, "Min = 2", constraint.Count{Levels: []int32{1}, Min: 2, Max: 1})
	fail(base, "set 1 is nil", one, nil)
	fail(base, "statistic 0 of the constraint of row 1 is nil", one, dual.AtMost[int32](nil, 1))
	fail(base, "is nil", dual.AtMost(dual.Statistic(nil), 1))
	fail(base, "4 sites", dual.AtMost(other, 1))
	fail(base, `"load" has the bounds Low = -Inf and High = NaN`, dual.AtMost(base, math.NaN()).Named("load", "kW", 0))
	fail(base, "Low = 2 and High = 1", dual.Between(base, 2, 1))
	fail(base, "one of them finite", dual.AtMost(base, math.Inf(1)))
	fail(base, "the bound +Inf", dual.Between(base, math.Inf(1), math.Inf(1)))
	fail(base, "tolerance -1", dual.AtMost(base, 1).Named("", "", -1))
	fail(base, "no statistic", row{})
	fail(base, "2 coefficients", row{Of: of, Coef: []float64{1, 2}})
	fail(base, "coefficient 0 of the constraint of row 0 = +Inf", row{Of: of, Coef: []float64{math.Inf(1)}})
	fail(base, "a dual_test.shapeless", dual.AtMost(shapeless{}, 1))
	fail(base, "2 rows and 1 multipliers", described{one})
	lag := exact.Must(dual.NewLagrangian(base, one))
	require.ErrorContains(t, lag.SetLambda([]float64{-1}), "lambda[0] = -1")
	require.ErrorContains(t, lag.SetLambda([]float64{math.NaN()}), "NaN")
	require.Panics(t, func() { _ = lag.SetLambda([]float64{1, 2}) })
	require.Panics(t, func() { lag.Violation(make([]float64, 2), make([]int32, 3)) })
	for _, beta := range []float64{0, -1, math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64} {
		_, err := lag.AtTemperature(beta)
		require.ErrorContains(t, err, "beta")
	}
	_, err := lag.Dual(ctx, []float64{-1})
	require.Error(t, err)
}

func TestLagrangianAllocates(t *testing.T) {
	if testing.CoverMode() != "" || exact.Race {
		t.Skip("instrumentation allocates")
	}
	for _, s := range settings(t) {
		sites, levels := s.lag.Shape()
		x := make([]int32, 8*sites)
		e, g, v := make([]float64, 8), make([]float32, 8*sites*levels), make([]float64, 16)
		d, table := make([]float64, levels), make([]float64, sites*levels)
		m, _ := energy.As[energy.Differentiable](s.lag)
		c, _ := energy.As[energy.Conditional](s.lag)
		l, isLocal := energy.As[energy.Local](s.lag)
		n := testing.AllocsPerRun(100, func() {
			s.lag.Energy(e, x)
			s.lag.Violation(v, x)
			m.Gradient(e, g, x)
			c.Conditional(d, 1, x[:sites])
			if isLocal {
				l.Locals(table, x[:sites])
				l.Move(table, 1, 1, x[:sites])
			}
		})
		require.Zero(t, n, s.name)
	}
}

// shapeless has energies and is no model.
type shapeless struct{}

func (shapeless) Energy(e []float64, _ []int32) { clear(e) }

// described is a set that has more rows than it says.
type described struct{ constraint.Set }

func (described) Rows() []dual.Row { return make([]dual.Row, 2) }
