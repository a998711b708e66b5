package diffusion

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
)

// predict asks the denoiser for the predictions of all slots that are under way
// and have none, in one call, and returns how many are under way.
func (d *batch[S]) predict(ctx context.Context, from, to int) (left int, err error) {
	q, n := &d.q, 0
	for i := from; i < to; i++ {
		if d.time[i] <= 0 {
			continue
		}
		left++
		if d.known[i] {
			continue
		}
		copy(q.x[n*d.sites:], d.state(i))
		copy(q.clean[n*d.sites:], d.clean[i*d.sites:(i+1)*d.sites])
		q.time[n], q.alpha[n] = d.time[i], d.process[i].Alpha(d.time[i])
		q.sample[n], q.src[n], q.slot[n] = d.sample[i], &d.streams[i], i
		n++
	}
	if n == 0 {
		return left, nil
	}
	see := energy.Noised[S]{
		X: q.x[:n*d.sites], Time: q.time[:n], Alpha: q.alpha[:n],
		Sample: q.sample[:n], Src: q.src[:n], Meta: d.cfg.Meta,
		Guided: d.guided != nil,
	}
	if d.clamped {
		see.Clean = q.clean[:n*d.sites]
	}
	size := d.sites * d.levels
	dst := d.table
	// Slots whose table must survive keep it in a block of their own: then the
	// predictions of part of a batch go through another buffer.
	own := d.timeFree || d.committer != nil || d.keep
	through := own && n < d.cfg.Batch && !contiguous(q.slot[:n])
	if through {
		if d.part == nil {
			d.part = make([]float32, (d.cfg.Batch-1)*size)
		}
		dst = d.part
	} else if own {
		dst = d.table[q.slot[0]*size:]
	}
	if err := d.model.Denoise(ctx, dst[:n*size], see); err != nil {
		return left, fmt.Errorf("diffusion: Runner: denoiser at step %d: %w", d.step, err)
	}
	if d.guided != nil {
		tokens, _ := any(see).(energy.Noised[int32])
		if err := d.guided.predict(ctx, n*size, tokens); err != nil {
			return left, fmt.Errorf("diffusion: Runner: unconditional denoiser at step %d: %w", d.step, err)
		}
	}
	for k, i := range q.slot[:n] {
		d.known[i], d.fresh[i], d.block[i] = true, true, k
		if own {
			d.block[i] = i
		}
		if through {
			copy(d.prediction(i), d.part[k*size:(k+1)*size])
		}
	}
	return left, nil
}

// contiguous reports whether slots are k, k+1, k+2, …
func contiguous(slots []int) bool {
	for k, i := range slots {
		if i != slots[0]+k {
			return false
		}
	}
	return true
}
