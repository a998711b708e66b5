package energy_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
)

func ExampleFunc() {
	// Two queens on a 4×4 board, one in each of two adjacent columns, that
	// prefer to be far apart and must not attack each other.
	m := energy.Func{Sites: 2, Levels: 4, E: func(x []int32) float64 {
		d := math.Abs(float64(x[0] - x[1]))
		if d <= 1 {
			return math.Inf(1)
		}
		return -d
	}}
	d := make([]float64, 4)
	energy.Conditionals(m).Conditional(d, 1, []int32{0, 2})
	fmt.Println(d)
	// Output: [+Inf +Inf 0 -1]
}

func ExampleSum() {
	ising, _ := model.NewIsing(model.FreeLattice{3}, 1, 0)
	penalty := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 {
		n := float64(x[0] + x[1] + x[2])
		return 2 * (n - 1) * (n - 1)
	}}
	m, err := energy.Sum(ising, penalty)
	if err != nil {
		panic(err)
	}
	_, table := energy.As[energy.Differentiable](m)
	_, graph := energy.As[energy.Graphical](m)
	fmt.Println("table:", table, "graph:", graph)
	e := make([]float64, 2)
	m.Energy(e, []int32{0, 0, 0, 1, 0, 0})
	fmt.Println(e)
	// Output:
	// table: true graph: false
	// [0 0]
}

func ExampleClamp() {
	chain, _ := model.NewMarkov(4, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.2, 0.8})
	m, err := energy.Clamp(chain, map[int]int32{0: 1, 3: 0})
	if err != nil {
		panic(err)
	}
	x := []int32{0, 1, 1, 1}
	if s, ok := energy.As[energy.Supported](m); ok {
		s.Repair(x)
	}
	fmt.Println(x)
	// Output: [1 1 1 0]
}

// Scale changes the temperature: the colder, the more spins follow the field.
func ExampleScale() {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		panic(err)
	}
	for _, beta := range []float64{0.5, 1, 2} {
		hot, err := energy.Scale(m, beta)
		if err != nil {
			panic(err)
		}
		e, err := energy.Enumerate(context.Background(), hot, energy.Magnetization)
		if err != nil {
			panic(err)
		}
		fmt.Printf("β = %v: log Z = %.6f, mean spin %.6f\n", beta, e.LogZ, e.Means[0])
	}
	// Output:
	// β = 0.5: log Z = 11.377167, mean spin 0.154842
	// β = 1: log Z = 12.598503, mean spin 0.480005
	// β = 2: log Z = 19.544265, mean spin 0.948351
}

// passing is a wrapper that hands on what is asked for, by a method of its value.
type passing struct{ energy.Model }

func (p passing) As(target any) bool { return energy.AsInto(p.Model, target) }

// Nil models and denoisers can do nothing, whatever interface they come in, and
// wrappers may ask them.
func TestNilSupportsNothing(t *testing.T) {
	for _, m := range []any{nil, energy.Model(nil), (*passing)(nil), passing{}, &passing{}, passing{(*passing)(nil)}} {
		_, ok := energy.As[energy.Masking](m)
		assert.False(t, ok, "%T", m)
		var into energy.Masking
		assert.False(t, energy.AsInto(m, &into), "%T", m)
		assert.Nil(t, into)
	}
	_, ok := energy.As[energy.Model](passing{exact.NewQuadratic(3, 1)})
	assert.True(t, ok)
	assert.PanicsWithValue(t, "energy: AsInto: target = <nil>, want a pointer to a variable", func() { energy.AsInto(passing{}, nil) })
	assert.PanicsWithValue(t, "energy: AsInto: target = int, want a pointer to a variable", func() { energy.AsInto(passing{}, 1) })
	assert.PanicsWithValue(t, "energy: AsInto: target = *energy.Model, want a pointer to a variable",
		func() { energy.AsInto(passing{}, (*energy.Model)(nil)) })
}
