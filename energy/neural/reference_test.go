package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// reference is a forward pass in float64, written from the formulas of the
// papers over named tensors; it shares nothing with the package.
type reference struct {
	cfg Config
	w   map[string][]float64

	rows []float64 // weights of tokens in place of them
}

func newReference(t *Transformer) *reference {
	r := &reference{cfg: t.cfg, w: map[string][]float64{}}
	for _, p := range t.tensors {
		d := make([]float64, len(p.Data))
		for i, v := range p.Data {
			d[i] = float64(v)
		}
		r.w[p.Name] = d
	}
	return r
}

func (r *reference) linear(x []float64, name string) []float64 {
	w, b := r.w[name+".weight"], r.w[name+".bias"]
	y := make([]float64, len(w)/len(x))
	for o := range y {
		if b != nil {
			y[o] = b[o]
		}
		for i, v := range x {
			y[o] += v * w[o*len(x)+i]
		}
	}
	return y
}

func silu(x []float64) []float64 {
	for i, v := range x {
		x[i] = v / (1 + math.Exp(-v))
	}
	return x
}

// normed is LayerNorm, shifted and scaled.
func (r *reference) normed(x []float64, name string, m []float64) []float64 {
	n := float64(len(x))
	mean, s := 0.0, 0.0
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		s += (v - mean) * (v - mean) / n
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v - mean) / math.Sqrt(s+1e-5) * r.w[name+".weight"][i]
		if m != nil {
			y[i] = y[i]*(1+m[len(x)+i]) + m[i]
		}
	}
	return y
}

// state returns the results of one state, Length × Outputs.
func (r *reference) state(tokens []int32, reals []float64, level float64, class int) []float64 {
	c := r.cfg
	x := make([][]float64, c.Length)
	for t := range x {
		if r.rows != nil {
			x[t] = make([]float64, c.Width)
			for l, w := range r.rows[t*c.Levels : (t+1)*c.Levels] {
				for i := range x[t] {
					x[t][i] += w * r.w["vocab_embed.embedding"][l*c.Width+i]
				}
			}
		} else if c.Levels > 0 {
			l := int(tokens[t])
			x[t] = slices.Clone(r.w["vocab_embed.embedding"][l*c.Width : (l+1)*c.Width])
		} else {
			x[t] = r.linear(reals[t*c.Channels:(t+1)*c.Channels], "input")
		}
	}
	if c.Positions {
		for t := range x {
			for i := range x[t] {
				x[t][i] += r.w["position_embed.embedding"][t*c.Width+i]
			}
		}
	}
	var cond []float64
	if c.Cond > 0 {
		wave := make([]float64, 256)
		for j := range 128 {
			a := level * math.Exp(-math.Log(10000)*float64(j)/128)
			wave[j], wave[128+j] = math.Cos(a), math.Sin(a)
		}
		cond = silu(r.linear(silu(r.linear(wave, "sigma_map.mlp.0")), "sigma_map.mlp.2"))
		if c.Classes > 0 {
			if class < 0 {
				class = c.Classes
			}
			for i, v := range silu(slices.Clone(r.w["cond_map.embedding_table.weight"][class*c.Cond : (class+1)*c.Cond])) {
				cond[i] += v
			}
		}
	}
	part := func(m []float64, i int) []float64 {
		if m == nil {
			return nil
		}
		return m[i*c.Width:]
	}
	gate := func(x, f, m []float64, i int) {
		for j, v := range f {
			if m != nil {
				v *= m[i*c.Width+j]
			}
			x[j] += v
		}
	}
	for b := range c.Blocks {
		name := fmt.Sprintf("blocks.%d.", b)
		var m []float64
		if c.Cond > 0 {
			m = r.linear(cond, name+"adaLN_modulation")
		}
		qkv := make([][]float64, c.Length)
		for t := range x {
			qkv[t] = r.linear(r.normed(x[t], name+"norm1", part(m, 0)), name+"attn_qkv")
		}
		o := r.attention(qkv)
		for t := range x {
			gate(x[t], r.linear(o[t], name+"attn_out"), m, 2)
			h := r.linear(r.normed(x[t], name+"norm2", part(m, 3)), name+"mlp.0")
			for i, v := range h {
				h[i] = v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
			}
			gate(x[t], r.linear(h, name+"mlp.2"), m, 5)
		}
	}
	var m, y []float64
	if c.Cond > 0 {
		m = r.linear(cond, "output_layer.adaLN_modulation")
	}
	for t := range x {
		y = append(y, r.linear(r.normed(x[t], "output_layer.norm_final", m), "output_layer.linear")...)
	}
	return y
}

// attention has queries and keys turned by complex multiplication.
func (r *reference) attention(qkv [][]float64) [][]float64 {
	c := r.cfg
	dim := c.Width / c.Heads
	o := make([][]float64, c.Length)
	for t := range o {
		o[t] = make([]float64, c.Width)
	}
	pair := func(t, which, h, j int) complex128 {
		row := qkv[t][which*c.Width+h*dim:]
		a := float64(t) * math.Pow(10000, -2*float64(j)/float64(dim))
		return complex(row[j], row[j+dim/2]) * complex(math.Cos(a), math.Sin(a))
	}
	for h := range c.Heads {
		for t := range c.Length {
			var w []float64
			for u := range c.Length {
				s := 0.0
				for j := range dim / 2 {
					p, q := pair(t, 0, h, j), pair(u, 1, h, j)
					s += real(p)*real(q) + imag(p)*imag(q)
				}
				if c.Block > 0 && u/c.Block > t/c.Block {
					s = math.Inf(-1)
				}
				w = append(w, s/math.Sqrt(float64(dim)))
			}
			top, sum := slices.Max(w), 0.0
			for u := range w {
				w[u] = math.Exp(w[u] - top)
				sum += w[u]
			}
			for u := range w {
				for j := range dim {
					o[t][h*dim+j] += w[u] / sum * qkv[u][2*c.Width+h*dim+j]
				}
			}
		}
	}
	return o
}

// batch returns the results of a batch.
func (r *reference) batch(in Input) []float64 {
	c := r.cfg
	var y []float64
	for s := range in.Level {
		class := -1
		if in.Class != nil {
			class = int(in.Class[s])
		}
		if c.Levels > 0 {
			y = append(y, r.state(in.Tokens[s*c.Length:(s+1)*c.Length], nil, in.Level[s], class)...)
		} else {
			y = append(y, r.state(nil, wide(in.Reals[s*c.Length*c.Channels:(s+1)*c.Length*c.Channels]), in.Level[s], class)...)
		}
	}
	return y
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// farthest returns max |got − want| over max |want|.
func farthest(got []float32, want []float64) float64 {
	far, size := 0.0, 0.0
	for i, w := range want {
		far = max(far, math.Abs(float64(got[i])-w))
		size = max(size, math.Abs(w))
	}
	return far / size
}

// randomNet has no weight that is special.
func randomNet(t testing.TB, cfg Config, seed uint64) *Transformer {
	r := rand.New(rand.NewPCG(seed, 1))
	net, err := New(cfg, r)
	require.NoError(t, err)
	for _, p := range net.tensors {
		k := 0.3
		if len(p.Shape) == 2 {
			k = 0.7 / math.Sqrt(float64(p.Shape[1]))
		}
		for i := range p.Data {
			p.Data[i] += float32(k * r.NormFloat64())
		}
	}
	return net
}

// randomInput is a batch of n states.
func randomInput(cfg Config, n int, seed uint64) Input {
	r := rand.New(rand.NewPCG(seed, 2))
	in := Input{Level: make([]float64, n)}
	for s := range n {
		in.Level[s] = 3 * r.Float64()
		for range cfg.Length {
			if cfg.Levels > 0 {
				in.Tokens = append(in.Tokens, int32(r.IntN(cfg.Levels)))
			}
			for range cfg.Channels {
				in.Reals = append(in.Reals, float32(r.NormFloat64()))
			}
		}
		if cfg.Classes > 0 {
			in.Class = append(in.Class, int32(r.IntN(cfg.Classes+1)-1))
		}
	}
	return in
}
