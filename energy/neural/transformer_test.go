package neural

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

var shapes = map[string]Config{
	"conditioned": {Length: 5, Levels: 4, Width: 8, Heads: 2, Blocks: 2, Hidden: 12, Cond: 6},
	"classes":     {Length: 3, Levels: 4, Width: 8, Heads: 2, Blocks: 1, Hidden: 8, Cond: 5, Classes: 2},
	"plain":       {Length: 4, Levels: 3, Width: 6, Heads: 1, Blocks: 2, Hidden: 8, Positions: true},
	"causal":      {Length: 6, Levels: 3, Width: 4, Heads: 1, Blocks: 1, Block: 2, Outputs: 5},
	"reals":       {Length: 3, Channels: 2, Width: 4, Heads: 2, Blocks: 2, Hidden: 6, Cond: 3},
	"shallow":     {Length: 2, Levels: 2, Width: 6, Heads: 1, Blocks: 0},
}

func TestForwardAndGradients(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, cfg := range shapes {
		t.Run(name, func(t *testing.T) {
			net := randomNet(t, cfg, 1)
			cfg := net.Config()
			const n = 3
			in := randomInput(cfg, n, 2)
			p := net.NewTraining(n + 1)
			y := make([]float32, n*cfg.Length*cfg.Outputs)
			p.Forward(in)
			p.Output(y, nil)
			ref := newReference(net)
			require.LessOrEqual(t, farthest(y, ref.batch(in)), 1e-5)

			r := rand.New(rand.NewPCG(3, 0))
			c := make([]float32, len(y))
			for i := range c {
				c[i] = float32(r.NormFloat64())
			}
			p.Backward(c)
			loss := func() float64 {
				s := 0.0
				for i, v := range ref.batch(in) {
					s += v * float64(c[i])
				}
				return s
			}
			at, step := 0, 1
			for _, k := range net.Tensors() {
				w, g := ref.w[k.Name], p.Gradient()[at:at+len(k.Data)]
				at += len(k.Data)
				if step = 1; len(w) > 200 {
					step = len(w)/50 | 1 // the rest of a big tensor is like it
				}
				var want []float64
				var got []float32
				for i := 0; i < len(w); i += step {
					want, got = append(want, difference(loss, &w[i])), append(got, g[i])
				}
				assert.LessOrEqual(t, farthest(got, want), 1e-5, k.Name)
			}

			// Only some rows: the same results, and the gradient of their sum.
			rows := []int32{1, int32(cfg.Length), int32(n*cfg.Length - 1)}
			part := make([]float32, len(rows)*cfg.Outputs)
			p.Output(part, rows)
			full := make([]float32, len(y))
			for i, r := range rows {
				assert.Equal(t, y[int(r)*cfg.Outputs:(int(r)+1)*cfg.Outputs], part[i*cfg.Outputs:(i+1)*cfg.Outputs])
				copy(full[int(r)*cfg.Outputs:], c[i*cfg.Outputs:(i+1)*cfg.Outputs])
			}
			clear(p.Gradient())
			p.Backward(c[:len(part)])
			some := append([]float32(nil), p.Gradient()...)
			clear(p.Gradient())
			p.Output(y, nil)
			p.Backward(full)
			assert.LessOrEqual(t, farthest(some, wide(p.Gradient())), 1e-6)
		})
	}
}

// difference returns ∂f/∂x by central differences of fourth order.
func difference(f func() float64, x *float64) float64 {
	const h = 1e-3
	v := *x
	at := func(d float64) float64 { *x = v + d; return f() }
	g := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
	*x = v
	return g
}

func TestInferenceIsTheForwardPassOfTraining(t *testing.T) {
	for name, cfg := range shapes {
		net := randomNet(t, cfg, 4)
		cfg := net.Config()
		in := randomInput(cfg, 3, 5)
		size := cfg.Length * cfg.Outputs
		want, got := make([]float32, 3*size), make([]float32, 3*size)
		p := net.NewTraining(3)
		p.Forward(in)
		p.Output(want, nil)
		q := net.NewPass(3)
		exact.Steady(t, name, func() {
			q.Forward(in)
			q.Output(got, nil)
		})
		assert.Equal(t, want, got, name)
		// States do not depend on their batch.
		one := Input{Level: in.Level[1:2]}
		if cfg.Classes > 0 {
			one.Class = in.Class[1:2]
		}
		if cfg.Levels > 0 {
			one.Tokens = in.Tokens[cfg.Length : 2*cfg.Length]
		} else {
			one.Reals = in.Reals[cfg.Length*cfg.Channels : 2*cfg.Length*cfg.Channels]
		}
		q.Forward(one)
		q.Output(got[:size], nil)
		assert.Equal(t, want[size:2*size], got[:size], name)
	}
}

func TestConfigErrors(t *testing.T) {
	good := Config{Length: 2, Levels: 3, Width: 4, Heads: 2, Blocks: 1}
	for want, change := range map[string]func(c *Config){
		"Length = 0, want 1 … 1048576":                    func(c *Config) { c.Length = 0 },
		"Blocks = -1, want 0 … 1048576":                   func(c *Config) { c.Blocks = -1 },
		"Levels = 3 and Channels = 1, want one of them 0": func(c *Config) { c.Channels = 1 },
		"Levels = 0 and Channels = 0, want one of them 0": func(c *Config) { c.Levels, c.Outputs = 0, 1 },
		"Width = 6, want a multiple of 2·Heads = 4":       func(c *Config) { c.Width = 6 },
		"Classes = 2 and Cond = 0, want Cond ≥ 1":         func(c *Config) { c.Classes = 2 },
		"Hidden = 2097152, want 1 … 1048576":              func(c *Config) { c.Hidden = 1 << 21 },
	} {
		c := good
		change(&c)
		_, err := New(c, rand.NewPCG(1, 1))
		assert.EqualError(t, err, "neural: New: "+want)
	}
	_, err := New(good, nil)
	assert.EqualError(t, err, "neural: New: src = nil")
	_, err = New(good, (*rand.PCG)(nil))
	assert.EqualError(t, err, "neural: New: src = (*rand.PCG)(nil), want a value")
}

func TestPassPanics(t *testing.T) {
	net := randomNet(t, shapes["plain"], 1)
	p := net.NewPass(1)
	assert.PanicsWithValue(t, "neural: batch = 0, want ≥ 1", func() { net.NewPass(0) })
	assert.PanicsWithValue(t, "neural: len(Tokens) = 5, want a multiple of 4", func() { p.Forward(Input{Tokens: make([]int32, 5)}) })
	assert.PanicsWithValue(t, "neural: Tokens[1] = 3, want 0 … 2", func() { p.Forward(Input{Tokens: []int32{0, 3, 0, 0}}) })
	assert.PanicsWithValue(t, "neural: 2 states, want at most 1, the batch of the pass", func() { p.Forward(Input{Tokens: make([]int32, 8)}) })
	assert.PanicsWithValue(t, "neural: Backward of a pass from NewPass, want NewTraining", func() { p.Backward(nil) })
	timed := randomNet(t, shapes["conditioned"], 1).NewPass(1)
	assert.PanicsWithValue(t, "neural: len(Level) = 0, want 1", func() { timed.Forward(Input{Tokens: make([]int32, 5)}) })
}

func TestNewBeginsLikeDiT(t *testing.T) {
	net, err := New(shapes["conditioned"], rand.NewPCG(1, 2))
	require.NoError(t, err)
	p := net.NewPass(2)
	y := make([]float32, 2*5*4)
	y[0] = 1
	p.Forward(randomInput(net.Config(), 2, 3))
	p.Output(y, nil)
	assert.Equal(t, make([]float32, len(y)), y, "the last layer is 0")
	c := net.Clone()
	assert.Equal(t, net.Weights(), c.Weights())
	c.Weights()[0]++
	assert.NotEqual(t, net.Weights()[0], c.Weights()[0])
	assert.Equal(t, "vocab_embed.embedding [4 8]", fmt.Sprint(net.Tensors()[0].Name, " ", net.Tensors()[0].Shape))
}
