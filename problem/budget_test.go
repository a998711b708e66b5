package problem

import (
	"context"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// ticking is a context that ends after some looks at it.
type ticking struct {
	context.Context
	looks, ends int
}

func (c *ticking) Err() error {
	if c.looks++; c.looks > c.ends {
		return context.Canceled
	}
	return nil
}

func bits(p *Problem, n int) []Expr {
	x := make([]Expr, n)
	for i := range x {
		x[i] = p.Binary("x" + strconv.Itoa(i))
	}
	return x
}

// However many draws are asked for, Sample looks at its context, and keeps one row for equal draws.
func TestLongSamplesEnd(t *testing.T) {
	for _, n := range []int{3, 20} { // by search, by elimination
		p := New()
		bits(p, n)
		ctx := &ticking{Context: t.Context(), ends: 50}
		_, err := p.Sample(ctx, math.MaxInt32, Config{})
		assert.ErrorIs(t, err, context.Canceled)
		assert.Less(t, ctx.looks, 60)
	}
	p := New()
	bits(p, 3)
	s, err := p.Sample(t.Context(), 10000, Config{})
	require.NoError(t, err)
	drawn := 0
	for _, r := range s.Rows {
		drawn += r.Occurrences
	}
	assert.Len(t, s.Rows, 8)
	assert.Equal(t, 10000, drawn)
}

// The tables of all conditions together are within the memory of elimination.
func TestTablesHaveABudget(t *testing.T) {
	p := New()
	x := bits(p, 200)
	for i := range x {
		x[i] = x[i].Scale(float64(i*i%97 + 1))
	}
	p.Require("weight", Sum(x...).AtMost(500))
	_, err := p.Count(t.Context(), Config{Search: -1, Bytes: 1 << 26})
	var large *tooLarge
	require.ErrorAs(t, err, &large)
	assert.ErrorContains(t, err, `counting for the condition "weight", in addition to the tables before it, takes a table of`)
}

// A condition of very many variables makes a model without a graph, whose differences are right.
func TestModelsOfWideConditionsHaveNoGraph(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, penalty := range []float64{2, math.Inf(1)} {
		p := New()
		p.Integer("k", 0, 2)
		x := bits(p, 5000)
		p.Objective(x[0].Times(x[1]).Scale(3))
		p.Require("few", Sum(x...).AtMost(1))
		m, err := p.Model(penalty)
		require.NoError(t, err)
		_, ok := energy.As[energy.Graphical](m)
		require.False(t, ok)
		_, ok = energy.As[energy.Supported](m)
		require.Equal(t, penalty == 2, ok)
		y := make([]int32, 5001)
		y[2] = 1
		d := make([]float64, 3)
		m.(energy.Conditional).Conditional(d, 1, y)
		assert.Equal(t, []float64{0, 3 + penalty, math.Inf(1)}, d)
		y[4000] = 2 // a level that its variable does not have
		m.(energy.Conditional).Conditional(d, 1, y)
		assert.Equal(t, []float64{0, 0, math.Inf(1)}, d)
	}
}
