package diffusion

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// tables is scratch for denoisers that combine predictions.
var tables sync.Pool

func getTable(n int) *[]float32 {
	b, _ := tables.Get().(*[]float32)
	if b == nil {
		b = new([]float32)
	}
	*b = slices.Grow((*b)[:0], n)[:n]
	return b
}

func putTable(b *[]float32) { tables.Put(b) }

// guided is what a diffusion keeps for guidance at the posterior.
type guided struct {
	scale      float64
	other      energy.Denoiser[int32] // of classifier-free guidance, or nil
	classifier Classifier             // or nil
	table      []float32              // predictions of other, a block per slot
	post, tab  [][]float32            // by worker: sites × levels
}

// guide sets up what the model says about guidance.
func guide(d *Runner[int32]) error {
	g := &guided{}
	at := false
	switch m := d.model.(type) {
	case ClassifierFree:
		g.scale, g.other, at = m.Scale, m.Unconditional, m.AtPosterior
	case ClassifierGuided:
		g.scale, g.classifier, at = m.Scale, m.Classifier, m.AtPosterior
	}
	if !at {
		return nil
	}
	if d.cfg.Projector != nil {
		return fmt.Errorf("diffusion: NewDiffusion: a projection needs guidance at the prediction, not at the posterior")
	}
	if _, ok := d.process[0].(Factorised); !ok {
		return fmt.Errorf("diffusion: NewDiffusion: %T cannot be guided at the posterior: it has none per site", d.process[0])
	}
	size := d.sites * d.levels
	if g.other != nil {
		g.table = make([]float32, d.cfg.Batch*size)
	}
	for range d.work {
		g.post, g.tab = append(g.post, make([]float32, size)), append(g.tab, make([]float32, size))
	}
	d.guided = g
	return nil
}

// predict asks the other denoiser for the same states.
func (g *guided) predict(ctx context.Context, size int, q energy.Noised[int32]) error {
	if g == nil || g.other == nil {
		return nil
	}
	return g.other.Denoise(ctx, g.table[:size], q)
}

// reverse moves slot i by a guided step.
func (g *guided) reverse(d *Runner[int32], w, i int, raw []float32, t, s float64) error {
	f := d.process[i].(Factorised)
	x, r := d.state(i), &d.streams[i]
	post, tab := g.post[w], g.tab[w]
	f.Posterior(post, raw, x, t, s)
	if g.other != nil {
		b := d.block[i] * len(post)
		other := g.table[b : b+len(post)]
		condition(d, i, other, t)
		f.Posterior(tab, other, x, t, s)
		blend(post, tab, g.scale)
	} else {
		if err := g.classifier.Table(tab, x, t); err != nil {
			return err
		}
		lean(post, tab, g.scale)
	}
	for j := range x {
		l, err := drawRow(post, j, d.levels, r)
		if err != nil {
			return err
		}
		x[j] = l
	}
	return nil
}

// Posterior implements [Factorised].
func (p Masked) Posterior(dst, v []float32, x []int32, t, s float64) {
	k := rates{reveal: 1}
	if s > 0 {
		k.reveal = fraction(p.Alpha(s)-p.Alpha(t), 1-p.Alpha(t))
	}
	maskedPosterior(dst, v, x, p.Mask, func(int) float64 { return 0 }, k.reveal)
}

// Posterior implements [Factorised].
func (p *remask) Posterior(dst, v []float32, x []int32, t, s float64) {
	k := p.rates(x, t, s)
	maskedPosterior(dst, v, x, p.Mask, func(i int) float64 { return p.sigma(&k, i) }, k.reveal)
}

// maskedPosterior is the posterior of processes with a mask: a token that shows
// is hidden with probability hide(i), a mask gives way with probability reveal.
func maskedPosterior(dst, v []float32, x []int32, mask int32, hide func(i int) float64, reveal float64) {
	levels := rowLen(v, len(x))
	for i, l := range x {
		row := dst[i*levels : (i+1)*levels]
		if l != mask {
			oneHot(row, l)
			sigma := hide(i)
			row[l] = float32(simd.Log1p(-sigma))
			row[mask] = float32(simd.Log(sigma))
			continue
		}
		copy(row, v[i*levels:(i+1)*levels])
		row[mask] = float32(math.Inf(-1))
		simd.LogSoftmax(row, row, levels)
		shift := float32(simd.Log(reveal))
		for l := range row {
			row[l] += shift
		}
		row[mask] = float32(simd.Log(1 - reveal))
	}
}

// Posterior implements [Factorised]: with n(v) = q(x_t | v) the sum over v of
// p(v)·q(x_s = l | x_t, v) is
//
//	(α_{t|s}·1[l=x_t] + (1−α_{t|s})/V)·(α_s·p(l)/n(l) + (1−α_s)/V·Σ_v p(v)/n(v)).
func (p Uniform) Posterior(dst, v []float32, x []int32, t, s float64) {
	levels := rowLen(v, len(x))
	b := p.bridge(levels, t, s)
	at, as := p.Alpha(t), p.Alpha(s)
	miss := (1 - at) / float64(levels)
	hit := at + miss
	simd.Softmax(dst, v, levels)
	for i, l := range x {
		row := dst[i*levels : (i+1)*levels]
		same := float64(row[l])
		mean := same/hit + (1-same)/miss
		base := float64(b.base * mean)
		for z, w := range row {
			n, from := miss, b.jump
			if z == int(l) {
				n, from = hit, b.stay
			}
			row[z] = float32(simd.Log(float64(from * (float64(as*float64(w))/n + base))))
		}
	}
}
