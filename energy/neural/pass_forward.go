package neural

import (
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Forward runs the network up to its last linear layer. It keeps in until the
// next call. It panics if lengths do not fit, if there are more states than the
// pass has room for, or on a token out of range.
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
		if s > 0 && level == p.in.Level[s-1] { // a batch mostly has one
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

// modulate shifts and scales the rows of each state by the vectors at and at+1
// of its parts vectors in m. y may be h.
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

// gate adds f to x, gated by vector at of the six of each state.
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

// block applies one block to the stream. The order of the six vectors is that of
// the checkpoints: shift, scale and gate of attention, then of the MLP.
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
		p.attention.Forward(k.o[s*one:(s+1)*one], probs, k.qkv[3*s*one:3*(s+1)*one], p.room)
	}
	b.out.Forward(k.f1[:size], k.o[:size])
	p.gate(x, k.f1, k.modul, 2)
	b.norm2.Forward(k.h2[:size], k.hat2[:size], k.scale2[:rows], x)
	p.modulate(k.y2, k.h2, k.modul, 6, 3)
	wide := rows * c.Hidden
	b.mlp.Forward(k.f2[:size], k.pre[:wide], k.act[:wide], k.y2[:size])
	p.gate(x, k.f2, k.modul, 5)
}

// Output stores the results of the positions listed in rows (state·Length +
// position, ascending) in y, one row of Outputs each; nil means all. It follows
// Forward.
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
