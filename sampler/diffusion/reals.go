package diffusion

// moveReals moves slot i of a diffusion of reals by one step.
func moveReals(d *Runner[float32], w, i int) error {
	if d.time[i] <= 0 {
		return nil
	}
	p, x, r := d.process[i], d.state(i), &d.streams[i]
	desk := &d.work[w]
	t := d.time[i]
	s := p.Next(x, t, d.turn.step, d.cfg.Steps, r)
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
	desk.snap = Snapshot{Projected: d.projects(t, s)}
	var err error
	if desk.snap.Projected {
		if v, desk.snap.Violation, err = d.project(w, i, raw, t, s); err != nil {
			return err
		}
	}
	if err = p.Reverse(x, raw, v, t, s, r); err != nil {
		return err
	}
	d.restore(i)
	d.moved(i, s, true)
	if d.cfg.Observe != nil {
		n := &desk.snap
		n.Sample, n.Step, n.From, n.To, n.Real, n.V = d.sample[i], d.turn.step, t, s, x, v
		d.cfg.Observe(n)
	}
	return nil
}
