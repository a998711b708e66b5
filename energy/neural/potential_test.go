package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// potential64 is the energy of the network in float64, straight from its formula.
func potential64(theta []float64, sites, levels, width, blocks int, x []int32) float64 {
	in := sites
	if levels != 2 {
		in *= levels
	}
	v := make([]float64, in)
	for i, l := range x {
		if levels == 2 {
			v[i] = float64(2*l - 1)
		} else {
			v[i*levels+int(l)] = 1
		}
	}
	take := func(n int) []float64 { t := theta[:n]; theta = theta[n:]; return t }
	linear := func(v []float64, out int) []float64 {
		w, b := take(out*len(v)), take(out)
		y := make([]float64, out)
		for o := range y {
			y[o] = b[o]
			for i, a := range v {
				y[o] += w[o*len(v)+i] * a
			}
		}
		return y
	}
	silu := func(v []float64) []float64 {
		y := make([]float64, len(v))
		for i, a := range v {
			y[i] = a / (1 + math.Exp(-a))
		}
		return y
	}
	h := linear(v, width)
	for range blocks {
		d := linear(silu(linear(h, width)), width)
		for i := range h {
			h[i] += d[i]
		}
	}
	e := 0.0
	read := take(width)
	for i, a := range silu(h) {
		e += read[i] * a
	}
	for i, b := range theta {
		e += b * v[i]
	}
	return e
}

// Energies, first-order tables and gradients by the weights are those of the formula in
// float64.
func TestPotential(t *testing.T) {
	for _, c := range []struct{ sites, levels, width, blocks int }{{5, 2, 6, 0}, {4, 2, 5, 2}, {3, 3, 4, 1}, {2, 1, 3, 1}} {
		m, err := NewPotential(c.sites, c.levels, c.width, c.blocks, rand.NewPCG(1, 2))
		require.NoError(t, err)
		p, err := m.Learn()
		require.NoError(t, err)
		theta, r := p.Params(), rand.New(rand.NewPCG(3, 4))
		for k := range theta {
			theta[k] = float64(float32(theta[k] + 0.2*r.NormFloat64()))
		}
		require.NoError(t, p.SetParams(theta))
		const rows = 70 // more than a tile
		x, w := make([]int32, rows*c.sites), make([]float64, rows)
		for i := range x {
			x[i] = int32(r.IntN(c.levels))
		}
		for s := range w {
			w[s] = r.NormFloat64() / rows
		}
		value := func() (sum float64) {
			for s := range rows {
				sum += w[s] * potential64(theta, c.sites, c.levels, c.width, c.blocks, x[s*c.sites:(s+1)*c.sites])
			}
			return sum
		}
		e := make([]float64, rows)
		p.Energy(e, x)
		one := make([]float64, 1)
		for s := range rows {
			state := x[s*c.sites : (s+1)*c.sites]
			assert.InDelta(t, potential64(theta, c.sites, c.levels, c.width, c.blocks, state), e[s], 1e-5)
			p.Energy(one, state)
			assert.Equal(t, e[s], one[0], "whatever the batch")
		}
		g := make([]float64, len(theta))
		p.ParamGradient(g, x, w)
		const step = 0x1p-13
		for k := range theta {
			at := theta[k]
			theta[k] = at + step
			up := value()
			theta[k] = at - step
			down := value()
			theta[k] = at
			assert.InDelta(t, (up-down)/(2*step), g[k], 1e-6, "%+v: weight %d of %d", c, k, len(theta))
		}
		// The table is the derivative along the code of the state: the code as weights
		// of a network whose inputs move is that of the bias by b, and of W by c.
		d, ok := energy.As[energy.Differentiable](p)
		require.True(t, ok)
		table, f := make([]float32, len(x)*c.levels), make([]float64, rows)
		d.Gradient(f, table, x)
		assert.Equal(t, e, f)
		for s := range rows {
			for i := range c.sites {
				for l := range c.levels {
					want := slope64(theta, c.sites, c.levels, c.width, c.blocks, x[s*c.sites:(s+1)*c.sites], i, l)
					assert.InDelta(t, want, table[(s*c.sites+i)*c.levels+l], 1e-5)
				}
			}
		}
		b, ok := energy.As[energy.Binary](p)
		require.Equal(t, c.levels == 2, ok)
		if ok {
			h := make([]float32, len(x))
			b.Field(f, h, x)
			for i := range h {
				assert.Equal(t, h[i], table[2*i+1]-table[2*i])
			}
		}
	}
}

// slope64 is the first-order difference to level l of site i: the directional derivative
// of the energy along the change of the code, by moving the biases of the first layer
// and the part that is linear in the code.
func slope64(theta []float64, sites, levels, width, blocks int, x []int32, i, l int) float64 {
	in, step := sites, 0x1p-13
	if levels != 2 {
		in *= levels
	}
	shifted := func(sign float64) float64 {
		t, linear := append([]float64(nil), theta...), 0.0
		move := func(k int, d float64) {
			for o := range width {
				t[in*width+o] += sign * step * d * theta[o*in+k]
			}
			linear += sign * step * d * theta[len(theta)-in+k]
		}
		if levels == 2 {
			move(i, float64(2*(int32(l)-x[i])))
		} else {
			move(i*levels+l, 1)
			move(i*levels+int(x[i]), -1)
		}
		return potential64(t, sites, levels, width, blocks, x) + linear
	}
	return (shifted(1) - shifted(-1)) / (2 * step)
}

func TestPotentialIsImmutable(t *testing.T) {
	m, err := NewPotential(4, 2, 5, 1, rand.NewPCG(1, 2))
	require.NoError(t, err)
	x, before, after := []int32{0, 1, 1, 0}, make([]float64, 1), make([]float64, 1)
	m.Energy(before, x)
	p, err := m.Learn()
	require.NoError(t, err)
	p.Energy(after, x)
	assert.Equal(t, before, after)
	theta := p.Params()
	for k := range theta {
		theta[k]++
	}
	require.NoError(t, p.SetParams(theta))
	m.Energy(after, x)
	assert.Equal(t, before, after)
	p.Energy(after, x)
	assert.NotEqual(t, before, after)
	theta[3] = math.MaxFloat64
	require.ErrorContains(t, p.SetParams(theta), "theta[3] = 1.797693134862315")
	before[0] = after[0]
	p.Energy(after, x)
	assert.Equal(t, before, after)
	e, h := make([]float64, 8), make([]float32, 32)
	b, _ := energy.As[energy.Binary](m)
	xs := make([]int32, 32)
	exact.Steady(t, "Field", func() { b.Field(e, h, xs) })
	for want, make := range map[string]func() (*Potential, error){
		"0 sites and 2 levels":  func() (*Potential, error) { return NewPotential(0, 2, 1, 1, rand.NewPCG(1, 2)) },
		"width = 0, want ≥ 1":   func() (*Potential, error) { return NewPotential(1, 2, 0, 1, rand.NewPCG(1, 2)) },
		"blocks = -1, want ≥ 0": func() (*Potential, error) { return NewPotential(1, 2, 1, -1, rand.NewPCG(1, 2)) },
		"src = nil":             func() (*Potential, error) { return NewPotential(1, 2, 1, 1, nil) },
		fmt.Sprint(1 << 28):     func() (*Potential, error) { return NewPotential(1, 2, 1<<20, 1, rand.NewPCG(1, 2)) },
	} {
		_, err := make()
		assert.ErrorContains(t, err, want)
	}
}
