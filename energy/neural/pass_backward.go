package neural

import (
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Gradient returns the sum of the gradients of all Backward calls, in the order
// of [Transformer.Weights]; it belongs to the pass, and who trains clears it.
// nil unless the pass is for training.
func (p *Pass) Gradient() []float32 { return p.grad }

// Backward adds to Gradient the pullback of dy, the gradient of the rows that
// the last Output stored. It panics unless the pass is for training.
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

// rowsBack adds the gradient of embeddings that were mixed: Rowsᵀ·dx.
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

// InputGradient stores the gradient with respect to the input that the last Backward
// found in dst: of [Input.Reals], states × Length × Channels, or of the weights of
// tokens, states × Length × Levels, which are [Input.Rows], or one-hot rows where
// the input was Tokens. It panics unless the pass is for training.
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

// outputBack stores the gradient of the last hidden rows in p.dy.
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

// modulateBack replaces d by the gradient of h and adds those of shift and scale
// to p.dmodul.
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

// condBack takes the gradient of a modulation's vectors to that of the features.
func (p *Pass) condBack(l, g layer.Linear, parts int) {
	c := p.net.cfg
	if c.Cond == 0 || p.use == pulling {
		return
	}
	n := p.n * parts * c.Width
	l.Backward(p.cond.d2[:p.n*c.Cond], g, p.dmodul[:n], p.cond.c[:p.n*c.Cond], p.cond.room[:n])
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
		p.attention.Backward(dqkv[3*s*one:3*(s+1)*one], d[s*one:(s+1)*one], k.probs[s*heads:(s+1)*heads], k.qkv[3*s*one:3*(s+1)*one], p.room)
	}
	clear(d)
	b.qkv.Backward(d, g.qkv, dqkv, k.y1[:size], p.wide[0][:3*size])
	p.modulateBack(d, k.h1, k.modul, 6, 0)
	b.norm1.Backward(dx, g.norm1, d, k.hat1[:size], k.scale1[:rows])
	p.condBack(b.modulate, g.modulate, 6)
}

// levelBack takes the gradient of the features to the layers that make them.
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
	b.time2.Backward(k.d1[:n], g.time2, k.d2[:n], k.act1[:n], k.room[:n])
	layer.SiLU.Backward(k.d1[:n], k.pre1[:n])
	b.time1.Backward(nil, g.time1, k.d1[:n], k.wave[:p.n*frequencies], k.room[:n])
}
