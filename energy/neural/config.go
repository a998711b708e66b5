package neural

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
)

// Config holds the sizes of a [Transformer] and its kinds of input and output.
type Config struct {
	// Length is the number of positions.
	Length int

	// Levels is the number of levels of a token, including a mask. It is 0 for reals; a
	// position then has Channels numbers.
	Levels, Channels int

	// Outputs is the number of outputs per position; 0 means Levels, or Channels for reals.
	Outputs int

	// Width is the number of features per position between the blocks. It is a multiple of 2·Heads.
	// Heads is the number of attention heads, and Blocks the number of blocks.
	Width, Heads, Blocks int

	// Hidden is the number of hidden units of a block; 0 means 4·Width.
	Hidden int

	// Cond is the number of features that encode the noise level. If it is 0, the network ignores
	// the noise level, and its norms have no shifts, scales or gates (see [Transformer]).
	Cond int

	// Classes is the number of classes. If it is not 0, the network also receives the class of each
	// state, or no class (UDLM; Schiff et al. 2025); see [Input.Class] and [Transformer.Given].
	// Classes requires Cond.
	Classes int

	// Positions adds a learned vector to each position. Without these vectors, as in the public
	// checkpoints, a network depends only on relative positions. It then predicts the same at every
	// position of a fully masked state.
	Positions bool

	// Block divides the positions into blocks of this length. A position attends only to its own
	// block and the blocks before it (see [layer.Attention]). 0 means no limit.
	Block int
}

// frequencies is the length of the sinusoidal features of the noise level (MDLM, UDLM and SEDD).
const frequencies = 256

// most is the largest value of each number of a Config, so that products do not overflow an int.
const most = 1 << 20

// resolve fills in defaults and checks the fields. Errors name caller.
func (c Config) resolve(caller string) (Config, error) {
	if c.Outputs == 0 {
		c.Outputs = c.Levels + c.Channels
	}
	if c.Hidden == 0 {
		c.Hidden = 4 * c.Width
	}
	for _, f := range []struct {
		name        string
		value, from int
	}{
		{"Length", c.Length, 1}, {"Levels", c.Levels, 0}, {"Channels", c.Channels, 0}, {"Outputs", c.Outputs, 1},
		{"Width", c.Width, 1}, {"Heads", c.Heads, 1}, {"Blocks", c.Blocks, 0}, {"Hidden", c.Hidden, 1},
		{"Cond", c.Cond, 0}, {"Classes", c.Classes, 0}, {"Block", c.Block, 0},
	} {
		if f.value < f.from || f.value > most {
			return c, fmt.Errorf("neural: %s: %s = %d, want %d … %d", caller, f.name, f.value, f.from, most)
		}
	}
	switch {
	case c.Levels > 0 == (c.Channels > 0):
		return c, fmt.Errorf("neural: %s: Levels = %d and Channels = %d, want one of them 0", caller, c.Levels, c.Channels)
	case c.Classes > 0 && c.Cond == 0:
		return c, fmt.Errorf("neural: %s: Classes = %d and Cond = 0, want Cond ≥ 1", caller, c.Classes)
	case c.Width%(2*c.Heads) != 0:
		return c, fmt.Errorf("neural: %s: Width = %d, want a multiple of 2·Heads = %d", caller, c.Width, 2*c.Heads)
	}
	return c, nil
}

// body holds the weights of a network, or their gradient, as layers that share one vector.
type body struct {
	embed          layer.Embedding
	positions      []float32    // learned vector of each position, Length × Width
	input          layer.Linear // first layer of a network of reals
	time1, time2   layer.Linear // layers from the noise level to its features
	classes        layer.Embedding
	blocks         []block
	norm           layer.Norm
	modulate, last layer.Linear
}

// block holds the weights of one block, x += gate·attention(norm(x)), x += gate·mlp(norm(x)).
type block struct {
	norm1, norm2 layer.Norm
	qkv, out     layer.Linear
	mlp          layer.MLP
	modulate     layer.Linear
}

// Tensor is a named part of the weights. Data is row-major; its length is the product of the
// dimensions.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// lay builds the layers of a network. It calls take for the storage of each tensor. The order and
// the names of the tensors are those of the public checkpoints.
func (c Config) lay(take func(name string, shape ...int) []float32) body {
	linear := func(name string, out, in int, bias bool) layer.Linear {
		l := layer.Linear{In: in, Out: out, Weight: take(name+".weight", out, in)}
		if bias {
			l.Bias = take(name+".bias", out)
		}
		return l
	}
	norm := func(name string) layer.Norm {
		return layer.Norm{Width: c.Width, Gain: take(name+".weight", c.Width)}
	}
	var b body
	if c.Levels > 0 {
		b.embed = layer.Embedding{Levels: c.Levels, Width: c.Width, Weight: take("vocab_embed.embedding", c.Levels, c.Width)}
	} else {
		b.input = linear("input", c.Width, c.Channels, true)
	}
	if c.Positions {
		b.positions = take("position_embed.embedding", c.Length, c.Width)
	}
	if c.Cond > 0 {
		b.time1 = linear("sigma_map.mlp.0", c.Cond, frequencies, true)
		b.time2 = linear("sigma_map.mlp.2", c.Cond, c.Cond, true)
	}
	if c.Classes > 0 { // the last row means no class
		b.classes = layer.Embedding{Levels: c.Classes + 1, Width: c.Cond, Weight: take("cond_map.embedding_table.weight", c.Classes+1, c.Cond)}
	}
	for i := range c.Blocks {
		name := fmt.Sprintf("blocks.%d.", i)
		k := block{norm1: norm(name + "norm1")}
		k.qkv = linear(name+"attn_qkv", 3*c.Width, c.Width, false)
		k.out = linear(name+"attn_out", c.Width, c.Width, false)
		k.norm2 = norm(name + "norm2")
		k.mlp.Up = linear(name+"mlp.0", c.Hidden, c.Width, true)
		k.mlp.Down = linear(name+"mlp.2", c.Width, c.Hidden, true)
		if c.Cond > 0 {
			k.modulate = linear(name+"adaLN_modulation", 6*c.Width, c.Cond, true)
		}
		b.blocks = append(b.blocks, k)
	}
	b.norm = norm("output_layer.norm_final")
	b.last = linear("output_layer.linear", c.Outputs, c.Width, true)
	if c.Cond > 0 {
		b.modulate = linear("output_layer.adaLN_modulation", 2*c.Width, c.Cond, true)
	}
	return b
}

// size returns the number of weights of a network of this shape.
func (c Config) size() int {
	n := 0
	c.lay(func(_ string, shape ...int) []float32 {
		n += product(shape)
		return nil
	})
	return n
}

func product(shape []int) int {
	n := 1
	for _, k := range shape {
		n *= k
	}
	return n
}

// over builds the layers of a network with their weights in w, and lists the tensors.
func (c Config) over(w []float32) (body, []Tensor) {
	var all []Tensor
	b := c.lay(func(name string, shape ...int) []float32 {
		n := product(shape)
		t := Tensor{Name: name, Shape: shape, Data: w[:n:n]}
		w = w[n:]
		all = append(all, t)
		return t.Data
	})
	return b, all
}
