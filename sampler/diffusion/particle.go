package diffusion

import (
	"errors"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// particles move and weigh, each by itself.
type particles struct {
	b     *batch[int32]
	joint []Joint // by slot

	// By slot.
	logZ   []float64 // of the prediction
	logRho []float64 // of ρ of the last step
	logW   []float64 // log-weight since the last resampling

	// By worker.
	v   [][]float32
	lse [][]float64
}

// weighSlot multiplies the weight of slot i by Z_C(p(·|x_t))/Z_C(ρ).
func (p *particles) weighSlot(w, i int) error {
	d := p.b
	if d.time[i] <= 0 {
		return nil
	}
	if d.fresh[i] {
		v := d.prediction(i)
		conditionTokens(d, i, v, d.time[i])
		var err error
		p.logZ[i], err = p.logProb(w, v)
		if err != nil {
			return err
		}
	}
	p.logW[i] += p.logZ[i] - p.logRho[i]
	if math.IsInf(p.logW[i], -1) {
		d.time[i], d.known[i] = 0, false
	}
	return nil
}

// logProb returns log Z_C of the normalised rows of v, −Inf if C is out of
// reach.
func (p *particles) logProb(w int, v []float32) (float64, error) {
	z, err := p.b.drawer.LogZ(v)
	if errors.Is(err, constraint.ErrInfeasible) {
		return math.Inf(-1), nil
	}
	if err != nil {
		return 0, err
	}
	return p.normalise(w, z, v), nil
}

// normalise returns what log Z_C = z is for the normalised rows of v.
func (p *particles) normalise(w int, z float64, v []float32) float64 {
	simd.LogSumExp(p.lse[w], v, p.b.levels)
	for _, l := range p.lse[w] {
		z -= l
	}
	return z
}

// moveSlot moves particle i by one conditioned step.
func (p *particles) moveSlot(w, i int) error {
	d := p.b
	if d.time[i] <= 0 {
		return nil
	}
	x, r, t := d.state(i), &d.streams[i], d.time[i]
	raw, work := d.prediction(i), &d.work[w]
	s := d.process[i].Next(x, t, d.step, d.cfg.Steps, r)
	copy(work.before, x)
	work.snap = Snapshot{Projected: true}
	var err error
	if work.snap.LogZ, err = d.drawer.Draw(work.clean, raw, r); err != nil {
		return err
	}
	p.joint[i].Renoise(x, work.clean, raw, t, s, r)
	d.restore(i)
	p.logRho[i] = 0
	if s > 0 {
		copy(p.v[w], raw)
		p.joint[i].Reweight(p.v[w], work.before, x, t, s)
		if p.logRho[i], err = p.logProb(w, p.v[w]); err != nil {
			return err
		}
	}
	d.moved(i, s, !slices.Equal(work.before, x))
	d.observe(w, i, raw, t, s)
	return nil
}

// passSlot is weighSlot and moveSlot for a prediction that is not kept.
func (p *particles) passSlot(w, i int) error {
	d := p.b
	if d.time[i] <= 0 {
		return nil
	}
	x, r, t := d.state(i), &d.streams[i], d.time[i]
	raw, work := d.prediction(i), &d.work[w]
	conditionTokens(d, i, raw, t)
	s := d.process[i].Next(x, t, d.step, d.cfg.Steps, r)
	work.snap = Snapshot{Projected: true}
	logZ, err := d.drawer.Draw(work.clean, raw, r)
	if errors.Is(err, constraint.ErrInfeasible) {
		p.logW[i] = math.Inf(-1)
		d.time[i] = 0
		return nil
	}
	if err != nil {
		return err
	}
	work.snap.LogZ = logZ
	p.logW[i] += p.normalise(w, logZ, raw) - p.logRho[i]
	copy(work.before, x)
	p.joint[i].Renoise(x, work.clean, raw, t, s, r)
	d.restore(i)
	d.moved(i, s, true)
	d.observe(w, i, raw, t, s)
	p.logRho[i] = 0
	if s > 0 {
		p.joint[i].Reweight(raw, work.before, x, t, s)
		p.logRho[i], err = p.logProb(w, raw)
	}
	return err
}
