package neural

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Input is a batch of states: Tokens or Reals, states × Length (× Channels), and
// one noise level per state, which a network without Cond does not read.
type Input struct {
	Tokens []int32
	Reals  []float32
	Level  []float64

	// Rows takes the place of Tokens where a position holds a mixture of
	// tokens: states × Length × Levels weights, of which embeddings are the
	// weighted sums.
	Rows []float32

	// Class is the class of each state, −1 for none, that a network with
	// Classes is told; nil: what [Transformer.Given] says, or none.
	Class []int32
}

// Pass is the scratch of a network's forward and backward passes over some
// states at a time. It belongs to one goroutine; passes of one network are
// independent of each other. No method allocates.
type Pass struct {
	net   *Transformer
	batch int
	use   use
	in    Input
	n     int     // states at hand
	rows  []int32 // that Output stored, unless all
	class []int32 // rows of the embedding of classes
	all   bool

	attention layer.Attention
	x         []float32 // Length·batch × Width: the stream between blocks
	kept      []kept    // per block; one for all unless training
	final     kept
	cond      condition
	modul     []float32 // of the last norm, batch × 2·Width
	hidden    []float32 // rows of final.y that the result is wanted for
	room      []float32

	grad    []float32
	slope   body // the layers over grad
	dx, dy  []float32
	df      []float32
	wide    [3][]float32 // Hidden or 3·Width wide
	dmodul  []float32
	dhidden []float32
}

// condition is what the noise level and the class become.
type condition struct{ wave, pre1, act1, pre2, c, d1, d2, room, class, act3 []float32 }

// kept is what a block's backward pass needs of its forward pass.
type kept struct {
	hat1, h1, y1, scale1 []float32
	qkv, probs, o, f1    []float32
	hat2, h2, y2, scale2 []float32
	pre, act, f2         []float32
	modul                []float32
}

// NewPass returns the scratch for forward passes over at most batch states. It
// panics unless batch is positive.
func (t *Transformer) NewPass(batch int) *Pass { return t.newPass(batch, predicting) }

// NewTraining returns the scratch for forward and backward passes; it keeps the
// activations of every block.
func (t *Transformer) NewTraining(batch int) *Pass { return t.newPass(batch, training) }

// use is what a pass is for.
type use uint8

const (
	predicting use = iota
	training       // with gradients of weights
	pulling        // with those of the input alone
)

func (t *Transformer) newPass(batch int, use use) *Pass {
	train := use != predicting
	if batch < 1 {
		panic(fmt.Sprintf("neural: batch = %d, want ≥ 1", batch))
	}
	c := t.cfg
	if err := check.Entries("neural: NewPass", "batch × length × width", batch, c.Length, max(3*c.Width, c.Hidden, c.Outputs)); err != nil {
		panic(err.Error())
	}
	rows := batch * c.Length
	mk := func(n int) []float32 { return make([]float32, n) }
	p := &Pass{net: t, batch: batch, use: use, rows: make([]int32, 0, rows), x: mk(rows * c.Width)}
	p.attention = layer.Attention{Length: c.Length, Width: c.Width, Heads: c.Heads, Block: c.Block, Rotary: layer.NewRotary(c.Length, c.Width/c.Heads)}
	for i := range c.Blocks {
		if i == 0 || train {
			p.kept = append(p.kept, c.newKept(batch, train))
		} else {
			p.kept = append(p.kept, p.kept[0])
		}
	}
	p.final = kept{hat1: mk(rows * c.Width), scale1: mk(rows)}
	p.final.h1, p.final.y1 = p.final.hat1, p.final.hat1
	p.hidden = mk(rows * c.Width)
	forward, backward := p.attention.Room()
	p.room = mk(forward)
	if c.Cond > 0 {
		n := batch * c.Cond
		p.cond = condition{wave: mk(batch * frequencies), pre1: mk(n), act1: mk(n), pre2: mk(n), c: mk(n)}
		p.modul = mk(batch * 2 * c.Width)
	}
	if c.Classes > 0 {
		p.cond.class, p.cond.act3, p.class = mk(batch*c.Cond), mk(batch*c.Cond), make([]int32, batch)
	}
	if !train {
		return p
	}
	p.final.h1, p.final.y1 = mk(rows*c.Width), mk(rows*c.Width)
	p.slope.blocks = make([]block, c.Blocks)
	if use == training {
		p.grad = mk(len(t.weights))
		p.slope, _ = c.over(p.grad)
	}
	p.dx, p.dy, p.df = mk(rows*c.Width), mk(rows*c.Width), mk(rows*c.Width)
	p.dhidden = mk(rows * c.Width)
	for i := range p.wide {
		p.wide[i] = mk(rows * max(3*c.Width, c.Hidden, c.Outputs))
	}
	p.room = mk(max(forward, backward))
	if c.Cond > 0 {
		n := batch * c.Cond
		p.dmodul = mk(batch * 6 * c.Width)
		p.cond.d1, p.cond.d2, p.cond.room = mk(n), mk(n), mk(batch*6*c.Width+n)
	}
	return p
}

// newKept returns room for one block. Without a backward pass, steps that may
// write over their argument share it.
func (c Config) newKept(batch int, train bool) kept {
	rows := batch * c.Length
	mk := func(n int) []float32 { return make([]float32, n) }
	k := kept{hat1: mk(rows * c.Width), scale1: mk(rows), qkv: mk(rows * 3 * c.Width), f1: mk(rows * c.Width), pre: mk(rows * c.Hidden)}
	if c.Cond > 0 {
		k.modul = mk(batch * 6 * c.Width)
	}
	if !train {
		k.h1, k.y1, k.o = k.hat1, k.hat1, k.hat1
		k.hat2, k.h2, k.y2, k.scale2 = k.hat1, k.hat1, k.hat1, k.scale1
		k.act, k.f2 = k.pre, k.f1
		k.probs = mk(c.Length * c.Length)
		return k
	}
	k.h1, k.y1, k.o = mk(rows*c.Width), mk(rows*c.Width), mk(rows*c.Width)
	k.hat2, k.h2, k.y2, k.scale2 = mk(rows*c.Width), mk(rows*c.Width), mk(rows*c.Width), mk(rows)
	k.act, k.f2 = mk(rows*c.Hidden), mk(rows*c.Width)
	k.probs = mk(batch * c.Heads * c.Length * c.Length)
	return k
}

// take remembers a batch after checking it.
func (p *Pass) take(in Input) {
	c := p.net.cfg
	if c.Levels > 0 {
		if in.Rows == nil {
			p.n = check.Rows("neural", "Tokens", len(in.Tokens), c.Length)
		} else {
			p.n = check.Rows("neural", "Rows", len(in.Rows), c.Length*c.Levels)
			check.Len("neural", "Tokens", len(in.Tokens), 0)
		}
		check.Len("neural", "Reals", len(in.Reals), 0)
		for i, l := range in.Tokens {
			if l < 0 || int(l) >= c.Levels {
				panic(fmt.Sprintf("neural: Tokens[%d] = %d, want 0 … %d", i, l, c.Levels-1))
			}
		}
	} else {
		p.n = check.Rows("neural", "Reals", len(in.Reals), c.Length*c.Channels)
		check.Len("neural", "Tokens", len(in.Tokens), 0)
		check.Len("neural", "Rows", len(in.Rows), 0)
	}
	if p.n > p.batch {
		panic(fmt.Sprintf("neural: %d states, want at most %d, the batch of the pass", p.n, p.batch))
	}
	if c.Cond > 0 {
		check.Len("neural", "Level", len(in.Level), p.n)
	}
	p.in = in
	p.classify(in.Class)
}

// classify remembers the class of each state.
func (p *Pass) classify(class []int32) {
	c := p.net.cfg
	if class != nil {
		check.Len("neural", "Class", len(class), p.n)
	}
	if c.Classes == 0 {
		return
	}
	for s := range p.n {
		p.class[s] = p.net.class
		if class == nil {
			continue
		}
		if p.class[s] = class[s]; class[s] < -1 || int(class[s]) >= c.Classes {
			panic(fmt.Sprintf("neural: Class[%d] = %d, want −1 … %d", s, class[s], c.Classes-1))
		}
		if class[s] < 0 {
			p.class[s] = int32(c.Classes)
		}
	}
}
