package neural

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Input is a batch of states, given as either Tokens (states × Length) or Reals (states × Length ×
// Channels). Level holds one noise level per state; a network whose [Config.Cond] is 0 does not
// read it.
type Input struct {
	Tokens []int32
	Reals  []float32
	Level  []float64

	// Rows replaces Tokens if positions hold mixtures of tokens. It has states × Length × Levels
	// weights. The embedding of a position is then the sum of the token embeddings, weighted by the
	// row of the position.
	Rows []float32

	// Class is the class of each state, or −1 for none; only networks with [Config.Classes] use it.
	// If Class is nil, all states have the class given to [Transformer.Given], or none.
	Class []int32
}

// Pass runs forward and backward passes of a network over a batch of states, and holds the scratch
// memory for them. It must be used by one goroutine at a time. Different passes of one network may
// be used concurrently. No method allocates.
type Pass struct {
	net   *Transformer
	batch int
	use   use
	in    Input
	n     int     // number of states in the current input
	rows  []int32 // rows that Output stored, unless all is true
	class []int32 // class of each state, as a row of the class embedding
	all   bool

	attention layer.Attention
	x         []float32 // activations between blocks, Length·batch × Width
	kept      []kept    // activations of each block; without a backward pass, all blocks share one
	final     kept
	cond      condition
	modul     []float32 // modulation of the last norm, batch × 2·Width
	hidden    []float32 // selected rows of final.y1, for which Output is computed
	work      []float32

	grad    []float32
	slope   body // the network's layers, with views of grad as their weights
	dx, dy  []float32
	df      []float32
	wide    [3][]float32 // scratch of Hidden or 3·Width columns
	dmodul  []float32
	dhidden []float32
}

// condition holds the activations that turn the noise level and the class into features.
type condition struct{ wave, pre1, act1, pre2, c, d1, d2, work, class, act3 []float32 }

// kept holds the activations of a block's forward pass that its backward pass needs.
type kept struct {
	hat1, h1, y1, scale1 []float32
	qkv, probs, o, f1    []float32
	hat2, h2, y2, scale2 []float32
	pre, act, f2         []float32
	modul                []float32
}

// NewPass returns a Pass for forward passes over at most the given number of states (batch). It
// panics unless batch is positive.
func (t *Transformer) NewPass(batch int) *Pass { return t.newPass(batch, predicting) }

// NewTraining returns a Pass for forward and backward passes over at most the given number of
// states (batch). It stores the activations of every block. It panics unless batch is positive.
func (t *Transformer) NewTraining(batch int) *Pass { return t.newPass(batch, training) }

// use is the purpose of a [Pass].
type use uint8

const (
	predicting use = iota
	training       // computes gradients of the weights
	pulling        // computes gradients of the input only
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
	p.attention = layer.Attention{Length: c.Length, Width: c.Width, Heads: c.Heads, Block: c.Block, Rotary: layer.NewRotary(c.Length, c.Width/c.Heads, 0)}
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
	forward, backward := p.attention.Work()
	p.work = mk(forward)
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
	p.work = mk(max(forward, backward))
	if c.Cond > 0 {
		n := batch * c.Cond
		p.dmodul = mk(batch * 6 * c.Width)
		p.cond.d1, p.cond.d2, p.cond.work = mk(n), mk(n), mk(batch*6*c.Width+n)
	}
	return p
}

// newKept returns the storage of one block. Without a backward pass, steps that may overwrite
// their argument share storage with it.
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

// take checks a batch and stores it as the current input.
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

// classify stores the class of each state.
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

// Forward runs the network up to its last linear layer, which [Pass.Output] then computes. It keeps
// a reference to the input until the next call. It panics if lengths do not match, if the batch is
// too large for the pass, or if a token is out of range.
func (p *Pass) Forward(in Input) {
	p.take(in)
	c, b := p.net.cfg, &p.net.body
	size := p.n * c.Length * c.Width
	x := p.x[:size]
	if in.Rows != nil {
		clear(x)
		simd.Gemm(x, in.Rows, b.embed.Weight, p.n*c.Length, c.Width, c.Levels)
	} else if c.Levels > 0 {
		b.embed.Forward(x, in.Tokens)
	} else {
		b.input.Forward(x, in.Reals)
	}
	if c.Positions {
		for s := range p.n {
			simd.Axpy(1, b.positions, x[s*len(b.positions):(s+1)*len(b.positions)])
		}
	}
	p.condition()
	for i := range b.blocks {
		p.block(x, &b.blocks[i], &p.kept[i])
	}
	f := &p.final
	rows := p.n * c.Length
	b.norm.Forward(f.h1[:size], f.hat1[:size], f.scale1[:rows], x)
	if c.Cond > 0 {
		b.modulate.Forward(p.modul[:p.n*2*c.Width], p.cond.c[:p.n*c.Cond])
	}
	p.modulate(f.y1, f.h1, p.modul, 2, 0)
}

// condition computes the features of the noise levels and classes.
func (p *Pass) condition() {
	c, b, k := p.net.cfg, &p.net.body, &p.cond
	if c.Cond == 0 {
		return
	}
	for s, level := range p.in.Level {
		row := k.wave[s*frequencies : (s+1)*frequencies]
		if s > 0 && level == p.in.Level[s-1] { // most batches have a single noise level
			copy(row, k.wave[(s-1)*frequencies:])
			continue
		}
		layer.Sinusoid(row, level)
	}
	n := p.n * c.Cond
	b.time1.Forward(k.pre1[:n], k.wave[:p.n*frequencies])
	layer.SiLU.Forward(k.act1[:n], k.pre1[:n])
	b.time2.Forward(k.pre2[:n], k.act1[:n])
	layer.SiLU.Forward(k.c[:n], k.pre2[:n])
	if c.Classes > 0 {
		b.classes.Forward(k.class[:n], p.class[:p.n])
		layer.SiLU.Forward(k.act3[:n], k.class[:n])
		simd.Axpy(1, k.act3[:n], k.c[:n])
	}
}

// modulate shifts and scales the rows of each state. m holds parts vectors per state; vector at
// is the shift, and the next vector the scale. y and h may be the same slice.
func (p *Pass) modulate(y, h, m []float32, parts, at int) {
	c := p.net.cfg
	size := c.Length * c.Width
	for s := range p.n {
		from, to := s*size, (s+1)*size
		if c.Cond == 0 {
			copy(y[from:to], h[from:to])
			continue
		}
		v := m[(s*parts+at)*c.Width:]
		layer.Modulate(y[from:to], h[from:to], v[:c.Width], v[c.Width:2*c.Width])
	}
}

// gate adds f to x, multiplied by vector number at of the six modulation vectors of each state.
func (p *Pass) gate(x, f, m []float32, at int) {
	c := p.net.cfg
	size := c.Length * c.Width
	for s := range p.n {
		var g []float32
		if c.Cond > 0 {
			g = m[(s*6+at)*c.Width : (s*6+at+1)*c.Width]
		}
		layer.Gate(x[s*size:(s+1)*size], f[s*size:(s+1)*size], g)
	}
}

// block applies one block to the activations x. The six modulation vectors are ordered as in the
// checkpoints: shift, scale and gate of attention, then of the MLP.
func (p *Pass) block(x []float32, b *block, k *kept) {
	c := p.net.cfg
	rows := p.n * c.Length
	size := rows * c.Width
	if c.Cond > 0 {
		b.modulate.Forward(k.modul[:p.n*6*c.Width], p.cond.c[:p.n*c.Cond])
	}
	b.norm1.Forward(k.h1[:size], k.hat1[:size], k.scale1[:rows], x)
	p.modulate(k.y1, k.h1, k.modul, 6, 0)
	b.qkv.Forward(k.qkv[:3*size], k.y1[:size])
	one, heads := c.Length*c.Width, len(k.probs)
	if p.use != predicting {
		heads = c.Heads * c.Length * c.Length
	}
	for s := range p.n {
		probs := k.probs[:heads]
		if p.use != predicting {
			probs = k.probs[s*heads : (s+1)*heads]
		}
		p.attention.Forward(k.o[s*one:(s+1)*one], probs, k.qkv[3*s*one:3*(s+1)*one], p.work)
	}
	b.out.Forward(k.f1[:size], k.o[:size])
	p.gate(x, k.f1, k.modul, 2)
	b.norm2.Forward(k.h2[:size], k.hat2[:size], k.scale2[:rows], x)
	p.modulate(k.y2, k.h2, k.modul, 6, 3)
	wide := rows * c.Hidden
	b.mlp.Forward(k.f2[:size], k.pre[:wide], k.act[:wide], k.y2[:size])
	p.gate(x, k.f2, k.modul, 5)
}

// Output stores the outputs of the network in y, one row of [Config.Outputs] numbers for each
// position in rows. An entry s·Length + i of rows means position i of state s. The entries must
// ascend. If rows is nil, y has a row for every position. Call Output after Forward.
func (p *Pass) Output(y []float32, rows []int32) {
	c := p.net.cfg
	h := p.final.y1[:p.n*c.Length*c.Width]
	p.rows, p.all = p.rows[:0], rows == nil
	if rows != nil {
		p.rows = append(p.rows, rows...)
		for i, r := range rows {
			copy(p.hidden[i*c.Width:(i+1)*c.Width], h[int(r)*c.Width:])
		}
		h = p.hidden[:len(rows)*c.Width]
	}
	check.Len("neural", "y", len(y), len(h)/c.Width*c.Outputs)
	p.net.body.last.Forward(y, h)
}

// Gradient returns the sum of the gradients of all Backward calls, in the order of
// [Transformer.Weights]. It returns nil unless the pass was made by [Transformer.NewTraining]. The
// slice is shared with the pass. To begin a new sum, set its entries to zero.
func (p *Pass) Gradient() []float32 { return p.grad }

// Backward computes the gradient with respect to the weights, and adds it to the slice that
// Gradient returns. The argument dy is the gradient with respect to the rows that the last call of
// Output stored. Backward panics unless the pass was made by [Transformer.NewTraining].
func (p *Pass) Backward(dy []float32) {
	if p.use == predicting {
		panic("neural: Backward of a pass from NewPass, want NewTraining")
	}
	c, b, g := p.net.cfg, &p.net.body, &p.slope
	rows := p.n * c.Length
	size := rows * c.Width
	p.outputBack(dy)
	d := p.dy[:size]
	dx := p.dx[:size]
	clear(dx)
	if c.Cond > 0 {
		clear(p.cond.d2[:p.n*c.Cond])
		clear(p.dmodul[:p.n*2*c.Width])
	}
	p.modulateBack(d, p.final.h1, p.modul, 2, 0)
	b.norm.Backward(dx, g.norm, d, p.final.hat1[:size], p.final.scale1[:rows])
	p.condBack(b.modulate, g.modulate, 2)
	for i := len(b.blocks) - 1; i >= 0; i-- {
		p.blockBack(dx, &b.blocks[i], &g.blocks[i], &p.kept[i])
	}
	if p.use == pulling {
		return
	}
	if c.Positions {
		for s := range p.n {
			simd.Axpy(1, dx[s*len(g.positions):(s+1)*len(g.positions)], g.positions)
		}
	}
	if p.in.Rows != nil {
		p.rowsBack(dx)
	} else if c.Levels > 0 {
		b.embed.Backward(g.embed, dx, p.in.Tokens)
	} else {
		b.input.Backward(nil, g.input, dx, p.in.Reals, p.df[:size])
	}
	p.levelBack()
}

// rowsBack adds the gradient of the token embeddings for an input of [Input.Rows]: Rowsᵀ·dx.
func (p *Pass) rowsBack(dx []float32) {
	c := p.net.cfg
	for i := range p.n * c.Length {
		d := dx[i*c.Width : (i+1)*c.Width]
		for l, w := range p.in.Rows[i*c.Levels : (i+1)*c.Levels] {
			if w != 0 {
				simd.Axpy(w, d, p.slope.embed.Weight[l*c.Width:(l+1)*c.Width])
			}
		}
	}
}

// InputGradient stores in dst the gradient with respect to the input, as computed by the last
// Backward. For [Input.Reals] it has states × Length × Channels entries. For tokens it has states ×
// Length × Levels entries and is the gradient with respect to [Input.Rows]. If Rows is nil, it is
// the gradient with respect to the one-hot encoding of the tokens. InputGradient panics unless the
// pass was made by [Transformer.NewTraining].
func (p *Pass) InputGradient(dst []float32) {
	c := p.net.cfg
	if p.use == predicting {
		panic("neural: InputGradient of a pass from NewPass, want NewTraining")
	}
	rows := p.n * c.Length
	dx := p.dx[:rows*c.Width]
	if c.Levels == 0 {
		check.Len("neural", "dst", len(dst), rows*c.Channels)
		clear(dst)
		simd.Gemm(dst, dx, p.net.body.input.Weight, rows, c.Channels, c.Width)
		return
	}
	check.Len("neural", "dst", len(dst), rows*c.Levels)
	clear(dst)
	simd.GemmT(dst, dx, p.net.body.embed.Weight, rows, c.Levels, c.Width)
}

// outputBack stores the gradient with respect to the last hidden rows in p.dy.
func (p *Pass) outputBack(dy []float32) {
	c, b, g := p.net.cfg, &p.net.body, &p.slope
	size := p.n * c.Length * c.Width
	d := p.dy[:size]
	clear(d)
	if p.all {
		check.Len("neural", "dy", len(dy), p.n*c.Length*c.Outputs)
		b.last.Backward(d, g.last, dy, p.final.y1[:size], p.wide[0][:len(dy)])
		return
	}
	check.Len("neural", "dy", len(dy), len(p.rows)*c.Outputs)
	n := len(p.rows) * c.Width
	clear(p.dhidden[:n])
	b.last.Backward(p.dhidden[:n], g.last, dy, p.hidden[:n], p.wide[0][:len(dy)])
	for i, r := range p.rows {
		copy(d[int(r)*c.Width:(int(r)+1)*c.Width], p.dhidden[i*c.Width:])
	}
}

// modulateBack replaces d by the gradient with respect to h. It adds the gradients of shift and
// scale to p.dmodul.
func (p *Pass) modulateBack(d, h, m []float32, parts, at int) {
	c := p.net.cfg
	if c.Cond == 0 {
		return
	}
	size := c.Length * c.Width
	for s := range p.n {
		o := (s*parts + at) * c.Width
		layer.ModulateBack(p.dmodul[o:o+c.Width], p.dmodul[o+c.Width:o+2*c.Width],
			d[s*size:(s+1)*size], h[s*size:(s+1)*size], m[o+c.Width:o+2*c.Width])
	}
}

func (p *Pass) gateBack(df, dx, f, m []float32, at int) {
	c := p.net.cfg
	size := c.Length * c.Width
	for s := range p.n {
		var g, dg []float32
		if c.Cond > 0 {
			o := (s*6 + at) * c.Width
			g, dg = m[o:o+c.Width], p.dmodul[o:o+c.Width]
		}
		layer.GateBack(df[s*size:(s+1)*size], dg, dx[s*size:(s+1)*size], f[s*size:(s+1)*size], g)
	}
}

// condBack adds the gradient of the features, given that of the modulation vectors of layer l.
func (p *Pass) condBack(l, g layer.Linear, parts int) {
	c := p.net.cfg
	if c.Cond == 0 || p.use == pulling {
		return
	}
	n := p.n * parts * c.Width
	l.Backward(p.cond.d2[:p.n*c.Cond], g, p.dmodul[:n], p.cond.c[:p.n*c.Cond], p.cond.work[:n])
}

func (p *Pass) blockBack(dx []float32, b, g *block, k *kept) {
	c := p.net.cfg
	rows := p.n * c.Length
	size, wide, one := rows*c.Width, rows*c.Hidden, c.Length*c.Width
	if c.Cond > 0 {
		clear(p.dmodul[:p.n*6*c.Width])
	}
	df, d := p.df[:size], p.dy[:size]

	p.gateBack(df, dx, k.f2, k.modul, 5)
	clear(d)
	b.mlp.Backward(d, g.mlp, df, k.y2[:size], k.pre[:wide], k.act[:wide], p.wide[0][:wide], p.wide[1][:max(wide, size)])
	p.modulateBack(d, k.h2, k.modul, 6, 3)
	b.norm2.Backward(dx, g.norm2, d, k.hat2[:size], k.scale2[:rows])

	p.gateBack(df, dx, k.f1, k.modul, 2)
	clear(d)
	b.out.Backward(d, g.out, df, k.o[:size], p.wide[0][:size])
	dqkv := p.wide[2][:3*size]
	clear(dqkv)
	heads := c.Heads * c.Length * c.Length
	for s := range p.n {
		p.attention.Backward(dqkv[3*s*one:3*(s+1)*one], d[s*one:(s+1)*one], k.probs[s*heads:(s+1)*heads], k.qkv[3*s*one:3*(s+1)*one], p.work)
	}
	clear(d)
	b.qkv.Backward(d, g.qkv, dqkv, k.y1[:size], p.wide[0][:3*size])
	p.modulateBack(d, k.h1, k.modul, 6, 0)
	b.norm1.Backward(dx, g.norm1, d, k.hat1[:size], k.scale1[:rows])
	p.condBack(b.modulate, g.modulate, 6)
}

// levelBack adds the gradients of the layers that compute the features of noise levels and
// classes.
func (p *Pass) levelBack() {
	c, b, g, k := p.net.cfg, &p.net.body, &p.slope, &p.cond
	if c.Cond == 0 {
		return
	}
	n := p.n * c.Cond
	if c.Classes > 0 {
		copy(k.act3[:n], k.d2[:n])
		layer.SiLU.Backward(k.act3[:n], k.class[:n])
		b.classes.Backward(g.classes, k.act3[:n], p.class[:p.n])
	}
	layer.SiLU.Backward(k.d2[:n], k.pre2[:n])
	clear(k.d1[:n])
	b.time2.Backward(k.d1[:n], g.time2, k.d2[:n], k.act1[:n], k.work[:n])
	layer.SiLU.Backward(k.d1[:n], k.pre1[:n])
	b.time1.Backward(nil, g.time1, k.d1[:n], k.wave[:p.n*frequencies], k.work[:n])
}
