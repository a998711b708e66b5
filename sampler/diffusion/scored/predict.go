package scored

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
)

// predict asks the denoiser about all slots that need a prediction. An error of
// the denoiser belongs to the slots that cause it; the error returned is that of
// ctx.
func (e *engine) predict(ctx context.Context) error {
	e.ask = e.ask[:0]
	first := -1 // the slot whose answer serves all that have nothing to show
	for i := range e.slots {
		s := &e.slots[i]
		if !s.active || s.known {
			continue
		}
		if !e.timeFree || s.masks < len(e.free) {
			s.predictions++
		} else if first >= 0 || e.blank != nil {
			continue
		} else {
			first = i
		}
		e.ask = append(e.ask, i)
	}
	if err := e.denoise(ctx, e.ask); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for k := range e.ask { // whose fault is it?
			if err := e.denoise(ctx, e.ask[k:k+1]); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				e.slots[e.ask[k]].err = fmt.Errorf("scored: denoiser: %w", err)
			}
		}
	}
	if first >= 0 && e.slots[first].err == nil {
		e.blank = append([]float32(nil), e.slots[first].v...)
	}
	for i := range e.slots {
		s := &e.slots[i]
		if !s.active || s.known || s.err != nil {
			continue
		}
		if e.blank == nil { // what they wait for has failed
			s.err = e.slots[first].err
			continue
		}
		copy(s.v, e.blank)
		s.known, s.fresh = true, true
	}
	return nil
}

// denoise asks about some slots in one call.
func (e *engine) denoise(ctx context.Context, ask []int) error {
	if len(ask) == 0 {
		return nil
	}
	n, size := len(ask), e.sites*e.levels
	q := energy.Noised[int32]{
		X: e.q.X[:n*e.sites], Time: e.q.Time[:n], Alpha: e.q.Alpha[:n],
		Sample: e.q.Sample[:n], Src: e.q.Src[:n], Meta: e.q.Meta,
	}
	if e.cfg.Clamp != nil {
		q.Clean = e.q.Clean[:n*e.sites]
	}
	for k, i := range ask {
		s := &e.slots[i]
		copy(q.X[k*e.sites:], s.x)
		copy(e.q.Clean[k*e.sites:], e.clean)
		q.Time[k], q.Alpha[k] = s.time, s.steps.Alpha(s.time)
		q.Sample[k], q.Src[k] = s.number, &s.stream
	}
	if err := e.model.Denoise(ctx, e.table[:n*size], q); err != nil {
		return err
	}
	for k, i := range ask {
		s := &e.slots[i]
		copy(s.v, e.table[k*size:(k+1)*size])
		s.known, s.fresh = true, true
	}
	return nil
}
