package diffusion

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
)

// steps brings the slots from … to−1 to time 0.
func (d *Runner[S]) steps(ctx context.Context, from, to int, progress func(step int)) error {
	d.turn = turn{ctx: ctx}
	for ; ; d.turn.step++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		left, err := d.predict(ctx, from, to)
		if err != nil || left == 0 {
			return err
		}
		d.pool.Each(from, to, d.move)
		for i := from; i < to; i++ {
			if err := d.errs[i]; err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return d.stepError(i, err)
			}
		}
		if progress != nil {
			progress(d.turn.step + 1)
		}
	}
}

func (d *Runner[S]) stepError(i int, err error) error {
	return fmt.Errorf("diffusion: Diffusion: sample %d, step %d: %w", d.sample[i], d.turn.step, err)
}

// predict asks the denoiser for the predictions of all slots that are under way
// and have none, in one call, and returns how many are under way.
func (d *Runner[S]) predict(ctx context.Context, from, to int) (left int, err error) {
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
		return left, fmt.Errorf("diffusion: Diffusion: denoiser at step %d: %w", d.turn.step, err)
	}
	if d.guided != nil {
		tokens, _ := any(see).(energy.Noised[int32])
		if err := d.guided.predict(ctx, n*size, tokens); err != nil {
			return left, fmt.Errorf("diffusion: Diffusion: unconditional denoiser at step %d: %w", d.turn.step, err)
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

// prediction returns the table of slot i.
func (d *Runner[S]) prediction(i int) []float32 {
	size := d.sites * d.levels
	return d.table[d.block[i]*size : (d.block[i]+1)*size]
}

// projects reports whether the step from t to s projects its prediction.
func (d *Runner[S]) projects(t, s float64) bool {
	return d.projection != nil && t <= d.cfg.ProjectStart &&
		(d.turn.step%d.cfg.ProjectEvery == 0 || s <= 0)
}

// project moves a copy of the prediction of slot i to the feasible set.
func (d *Runner[S]) project(w, i int, raw []float32, t, s float64) (v []float32, violation float64, err error) {
	v = d.work[w].v
	copy(v, raw)
	if d.warm != nil && d.cfg.ColdStart {
		d.warm.Reset(i)
	}
	violation, err = d.projection.Project(d.turn.ctx, i, v, t, s, &d.streams[i])
	return v, violation, err
}

// moved brings the clock and the cache of slot i up to date.
func (d *Runner[S]) moved(i int, s float64, changed bool) {
	d.time[i] = s
	d.known[i] = d.timeFree && !changed
}

// commit tells the projection of the first n slots, in order. A sample that it
// refuses is drawn again, with what is left of its stream.
func (d *Runner[S]) commit(ctx context.Context, n int) error {
	if d.committer == nil {
		return nil
	}
	for i := range n {
		for tries := 0; ; tries++ {
			x, _ := any(d.state(i)).([]int32)
			err := d.committer.Commit(x, d.prediction(i), &d.streams[i])
			if err == nil {
				break
			}
			if !errors.Is(err, constraint.ErrInfeasible) || tries >= d.cfg.Retries {
				return fmt.Errorf("diffusion: Diffusion: sample %d refused %d times, Retries = %d: %w", d.sample[i], tries+1, d.cfg.Retries, err)
			}
			d.begin(i)
			if err := d.steps(ctx, i, i+1, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
