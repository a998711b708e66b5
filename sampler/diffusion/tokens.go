package diffusion

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// moveTokens moves slot i of a diffusion of tokens by one step.
func moveTokens(d *Runner[int32], w, i int) error {
	if d.time[i] <= 0 {
		return nil
	}
	p, x, r := d.process[i], d.state(i), &d.streams[i]
	desk := &d.work[w]
	t := d.time[i]
	s := p.Next(x, t, d.turn.step, d.cfg.Steps, r)
	raw := d.prediction(i)
	v := raw
	conditionTokens(d, i, raw, t)

	copy(desk.before, x)
	desk.snap = Snapshot{Projected: d.projects(t, s)}
	var err error
	switch {
	case d.guided != nil:
		err = d.guided.reverse(d, w, i, raw, t, s)
	case !desk.snap.Projected:
		err = p.Reverse(x, raw, raw, t, s, r)
	default:
		v, err = projectTokens(d, w, i, raw, t, s)
	}
	if err != nil {
		return err
	}
	d.restore(i)
	d.moved(i, s, !slices.Equal(desk.before, x))
	if d.cfg.Observe != nil {
		n := &desk.snap
		n.Sample, n.Step, n.From, n.To, n.X, n.V = d.sample[i], d.turn.step, t, s, x, v
		d.cfg.Observe(n)
	}
	return nil
}

// conditionTokens makes a new prediction for slot i the full posterior, where
// something needs that. Without projections, predictions of full posteriors are
// only read where they are drawn from.
func conditionTokens(d *Runner[int32], i int, raw []float32, t float64) {
	if !d.fresh[i] {
		return
	}
	d.fresh[i] = false
	if d.projection == nil && !d.leaveOneOut && d.guided == nil {
		return
	}
	condition(d, i, raw, t)
}

// condition makes a prediction for slot i the full posterior.
func condition(d *Runner[int32], i int, raw []float32, t float64) {
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
func projectTokens(d *Runner[int32], w, i int, raw []float32, t, s float64) (v []float32, err error) {
	p := d.process[i]
	x, r := d.state(i), &d.streams[i]
	desk := &d.work[w]
	if d.drawer != nil {
		if desk.snap.LogZ, err = d.drawer.Draw(desk.clean, raw, r); err != nil {
			return raw, err
		}
		p.(Renoiser).Renoise(x, desk.clean, raw, t, s, r)
		return raw, nil
	}
	v, desk.snap.Violation, err = d.project(w, i, raw, t, s)
	if err != nil {
		return v, err
	}
	if d.cfg.Decode == DecodeRows || d.cfg.Decode == DecodeLast && s > 0 {
		return v, p.Reverse(x, raw, v, t, s, r)
	}
	simd.ArgMax(desk.clean, v, d.levels)
	for j, l := range desk.clean {
		if l < 0 {
			return v, badRow(v[j*d.levels:(j+1)*d.levels], j)
		}
	}
	p.(Renoiser).Renoise(x, desk.clean, v, t, s, r)
	return v, nil
}
