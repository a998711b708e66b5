package diffusion

import "github.com/gibbsite-go/gibbsite/internal/simd"

// moveReals moves slot i of a diffusion of reals by one step.
func moveReals(d *batch[float32], w, i int) error {
	if d.time[i] <= 0 {
		return nil
	}
	p, x, r := d.process[i], d.state(i), &d.streams[i]
	work := &d.work[w]
	t := d.time[i]
	s := p.Next(x, t, d.step, d.cfg.Steps, r)
	raw := d.prediction(i)
	d.fresh[i] = false
	if d.clamped {
		for j := range raw {
			if k := i*d.sites + j; d.clean[k] {
				raw[j] = d.given[k]
			}
		}
	}
	v := raw
	work.snap = Snapshot{Projected: d.projects(t, s)}
	var err error
	if work.snap.Projected && !d.cfg.ProjectState {
		if v, work.snap.Violation, err = d.project(w, i, raw, t, s); err != nil {
			return err
		}
	}
	if err = p.Reverse(x, raw, v, t, s, r); err != nil {
		return err
	}
	if work.snap.Projected && d.cfg.ProjectState {
		if work.snap.Violation, err = projectState(d, w, i, t, s); err != nil {
			return err
		}
	}
	d.restore(i)
	d.moved(i, s, true)
	d.observe(w, i, v, t, s)
	return nil
}

// projectState moves the state x_s of slot i towards its projection, by the part
// (1−s)^ProjectPower of the way.
func projectState(d *batch[float32], w, i int, t, s float64) (violation float64, err error) {
	x := d.state(i)
	v, violation, err := d.project(w, i, x, t, s)
	if err != nil {
		return violation, err
	}
	if d.cfg.ProjectPower == 0 || s <= 0 {
		copy(x, v)
		return violation, nil
	}
	part := simd.Exp(d.cfg.ProjectPower * simd.Log(1-s))
	for j, v := range v {
		x[j] = float32(float64((1-part)*float64(x[j])) + float64(part*float64(v)))
	}
	return violation, nil
}
