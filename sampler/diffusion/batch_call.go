package diffusion

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
)

// beginCall marks a call as under way that makes n samples of so many streams
// each; endCall unmarks it.
func (d *batch[S]) beginCall(ctx context.Context, n, streams int) error {
	if ctx == nil {
		return fmt.Errorf("diffusion: Sample: ctx = nil")
	}
	if most := d.cfg.Count - d.made; d.cfg.Count > 0 && n > most {
		return fmt.Errorf("diffusion: Sample: %d samples, want ≤ %d (Config.Count = %d, %d made)", n, most, d.cfg.Count, d.made)
	}
	if most := math.MaxInt/streams - d.made - d.cfg.First; n > most {
		return fmt.Errorf("diffusion: Sample: %d samples, want ≤ %d (Config.First = %d, %d made)", n, most, d.cfg.First, d.made)
	}
	if d.kept.broken != nil {
		return d.kept.broken
	}
	if !atomic.CompareAndSwapUint32(&d.busy, 0, 1) {
		return fmt.Errorf("diffusion: Sample: another call of this runner is under way, want one at a time")
	}
	return nil
}

func (d *batch[S]) endCall() { atomic.StoreUint32(&d.busy, 0) }

// deliver copies to x what is left of the samples of a checkpoint, and tells v of
// them. Those that Fill made must have been given the same.
func (d *batch[S]) deliver(x, given []S, v *outcome) error {
	n := min(len(x)/d.sites, max(0, len(d.kept.given)-d.made))
	for i := range n {
		var own []S
		if given != nil {
			own = given[i*d.sites : (i+1)*d.sites]
		}
		if digest(own) != d.kept.given[d.made+i] {
			return fmt.Errorf("diffusion: sample %d was clamped to other values when the checkpoint was saved", d.cfg.First+d.made+i)
		}
	}
	for i := range n {
		why := d.kept.why(d.made + i)
		if why == nil || given == nil {
			copy(x[i*d.sites:(i+1)*d.sites], d.kept.x[(d.made+i)*d.sites:])
		}
		v.add(why)
	}
	d.made += n
	return nil
}
