package diffusion

import (
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// moveTokens moves slot i of a diffusion of tokens by one step.
func moveTokens(d *batch[int32], w, i int) error {
	if d.time[i] <= 0 {
		return nil
	}
	p, x, r := d.process[i], d.state(i), &d.streams[i]
	work := &d.work[w]
	t := d.time[i]
	s := p.Next(x, t, d.step, d.cfg.Steps, r)
	raw := d.prediction(i)
	v := raw
	conditionTokens(d, i, raw, t)

	copy(work.before, x)
	work.snap = Snapshot{Projected: d.projects(t, s)}
	var err error
	switch {
	case d.guided != nil:
		err = reverseGuided(d, w, i, raw, t, s)
	case !work.snap.Projected:
		err = p.Reverse(x, raw, raw, t, s, r)
	default:
		v, err = projectTokens(d, w, i, raw, t, s)
	}
	if err != nil {
		return err
	}
	d.restore(i)
	d.moved(i, s, !slices.Equal(work.before, x))
	d.observe(w, i, v, t, s)
	return nil
}

// reverseGuided moves slot i by a step that is guided at the posterior.
func reverseGuided(d *batch[int32], w, i int, raw []float32, t, s float64) error {
	var other []float32
	if d.guided.other != nil {
		size := d.sites * d.levels
		other = d.guided.table[d.block[i]*size : (d.block[i]+1)*size]
		condition(d, i, other, t)
	}
	f := d.process[i].(Factorised)
	return d.guided.reverse(w, f, d.state(i), raw, other, t, s, &d.streams[i])
}

// conditionTokens makes a new prediction for slot i the full posterior, where
// something needs that. Without projections, predictions of full posteriors are
// only read where they are drawn from.
func conditionTokens(d *batch[int32], i int, raw []float32, t float64) {
	if !d.fresh[i] {
		return
	}
	d.fresh[i] = false
	if d.projection == nil && !d.leaveOneOut && d.guided == nil {
		return
	}
	if d.spared != nil {
		conditionRest(d, i, raw, t)
		return
	}
	condition(d, i, raw, t)
}

// conditionRest is condition but for the rows of certain tokens, which it lists.
func conditionRest(d *batch[int32], i int, raw []float32, t float64) {
	p, x := d.process[i].(IntactSteps), d.state(i)
	certain := d.certain[i*d.sites : (i+1)*d.sites]
	p.Intact(certain, x)
	for j := range certain {
		if k := i*d.sites + j; d.clean[k] {
			certain[j] = d.given[k]
		}
		if certain[j] < 0 {
			p.Condition(raw[j*d.levels:(j+1)*d.levels], x[j:j+1], t, d.leaveOneOut)
		}
	}
}

// spare lets the projection do without the rows of certain tokens where nobody else
// reads them.
func spare(d *batch[int32]) {
	drawer, ok := d.drawer.(GivenDrawer)
	if ok {
		self := drawer.Self()
		t := reflect.TypeOf(self)
		ok = t != nil && t.Comparable() && self == any(d.drawer)
	}
	if _, intact := d.process[0].(IntactSteps); !ok || !intact || d.guided != nil || d.committer != nil || d.cfg.Observe != nil {
		return
	}
	d.spared, d.certain = drawer, make([]int32, len(d.x))
}

// condition makes a prediction for slot i the full posterior.
func condition(d *batch[int32], i int, raw []float32, t float64) {
	p, ok := d.process[i].(Renoiser)
	if !ok {
		return
	}
	p.Condition(raw, d.state(i), t, d.leaveOneOut)
	if !d.clamped {
		return
	}
	for j := range d.sites {
		if k := i*d.sites + j; d.clean[k] {
			oneHot(raw[j*d.levels:(j+1)*d.levels], d.given[k])
		}
	}
}

// projectTokens moves slot i by a step whose prediction is projected, and
// returns the prediction that was used.
func projectTokens(d *batch[int32], w, i int, raw []float32, t, s float64) (v []float32, err error) {
	p := d.process[i]
	x, r := d.state(i), &d.streams[i]
	work := &d.work[w]
	if d.drawer != nil {
		if d.spared != nil {
			copy(work.clean, d.certain[i*d.sites:])
			work.snap.LogZ, err = d.spared.DrawGiven(d.ctx, work.clean, raw, r)
		} else {
			work.snap.LogZ, err = d.drawer.Draw(d.ctx, work.clean, raw, r)
		}
		if err != nil {
			return raw, err
		}
		p.(Renoiser).Renoise(x, work.clean, raw, t, s, r)
		return raw, nil
	}
	v, work.snap.Violation, err = d.project(w, i, raw, t, s)
	if err != nil {
		return v, err
	}
	if d.cfg.Decode == DecodeRows || d.cfg.Decode == DecodeLast && s > 0 {
		return v, p.Reverse(x, raw, v, t, s, r)
	}
	simd.ArgMax(work.clean, v, d.levels)
	for j, l := range work.clean {
		if l < 0 {
			return v, badRow(v[j*d.levels:(j+1)*d.levels], j)
		}
	}
	p.(Renoiser).Renoise(x, work.clean, v, t, s, r)
	return v, nil
}
