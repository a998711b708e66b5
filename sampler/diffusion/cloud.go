package diffusion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// cloud is the particles of the samples of a batch.
type cloud struct {
	d         *batch[int32]
	n         int // particles per sample
	chunk     int // slots that predictions are held of at a time, 0 for all
	threshold float64
	joint     []Joint

	// By slot.
	logZ   []float64 // of the prediction
	logRho []float64 // of ρ of the last step
	logW   []float64 // log-weight since the last resampling
	count  []int     // copies to make
	value  potential
	v      [][]float32
	lse    [][]float64

	// By sample of the batch.
	evidence []float64 // log estimate of P(C) so far
	choice   []sampler.Stream
	fault    []error // why it was given up

	weigh, move, pass, renew func(w, i int)
}

func (p *cloud) allocate(samples int) {
	d := p.d
	slots := samples * p.n
	p.logZ, p.logRho, p.logW = make([]float64, slots), make([]float64, slots), make([]float64, slots)
	p.count = make([]int, slots)
	p.evidence, p.choice, p.fault = make([]float64, samples), make([]sampler.Stream, samples), make([]error, samples)
	for range d.work {
		if p.chunk == 0 {
			p.v = append(p.v, make([]float32, d.sites*d.levels))
		}
		p.lse = append(p.lse, make([]float64, d.sites))
	}
	p.weigh = func(w, i int) { d.errs[i] = d.until(p.weighSlot, w, i) }
	p.move = func(w, i int) { d.errs[i] = d.until(p.moveSlot, w, i) }
	p.pass = func(w, i int) { d.errs[i] = d.until(p.passSlot, w, i) }
	p.renew = func(_, g int) {
		if p.fault[g] == nil && !p.renewGroup(g) {
			p.die(g, fmt.Errorf("diffusion: Particles: sample %d, step %d: %w", p.number(g), d.step, constraint.ErrInfeasible))
		}
	}
}

// begin puts all particles of a batch at time 1.
func (p *cloud) begin(groups int) {
	d := p.d
	for i := range groups * p.n {
		sample := d.cfg.First + d.made + i/p.n
		d.sample[i] = sample*p.n + i%p.n
		d.streams[i].Seed(d.cfg.Seed, uint64(d.sample[i]))
		d.clamp(i, nil)
		d.begin(i)
		p.logW[i], p.logRho[i] = 0, 0
		p.value.begin(i)
	}
	for g := range groups {
		p.evidence[g], p.fault[g] = 0, nil
		// The upper half of the chains belongs to resampling.
		p.choice[g].Seed(d.cfg.Seed, 1<<63|uint64(d.cfg.First+d.made+g))
	}
}

// steps brings all particles to time 0.
func (p *cloud) steps(ctx context.Context, groups int) error {
	d := p.d
	slots := groups * p.n
	d.ctx, d.step = ctx, 0
	for ; ; d.step++ {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		parts := p.chunk > 0
		if parts { // particles move as they are weighed
			p.value.before(d.time[:slots])
		}
		left, err := p.predict(ctx, slots)
		if err != nil {
			return err
		}
		if left == 0 {
			p.survive(groups)
			return nil
		}
		if parts {
			p.value.weigh(d, p.logW, slots, p.slotFails)
		}
		d.pool.Each(0, groups, p.renew)
		if parts {
			continue
		}
		p.value.before(d.time[:slots])
		d.pool.Each(0, slots, p.move)
		if err := p.failure(slots); err != nil {
			return err
		}
		p.value.weigh(d, p.logW, slots, p.slotFails)
	}
}

// number returns the number of the sample of group g.
func (p *cloud) number(g int) int { return p.d.cfg.First + p.d.made + g }

// survive gives up samples of which no particle has any weight at the end.
func (p *cloud) survive(groups int) {
	for g := range groups {
		if p.fault[g] == nil && math.IsInf(slices.Max(p.logW[g*p.n:(g+1)*p.n]), -1) {
			p.die(g, fmt.Errorf("diffusion: Particles: sample %d: no particle has any weight at the end: %w", p.number(g), constraint.ErrInfeasible))
		}
	}
}

// die gives up a sample whose particles have all died: its estimate is 0.
func (p *cloud) die(g int, why error) {
	p.giveUp(g, why)
	p.evidence[g] = math.Inf(-1)
}

// giveUp ends the particles of a sample, which then has no estimate.
func (p *cloud) giveUp(g int, why error) {
	p.fault[g], p.evidence[g] = why, math.NaN()
	for i := g * p.n; i < (g+1)*p.n; i++ {
		p.d.time[i], p.d.known[i], p.d.errs[i] = 0, false, nil
		p.value.drop(i)
	}
}

// predict asks for the predictions of all particles under way and weighs these,
// and returns how many there are. Where predictions are made in parts it moves
// the particles, too.
func (p *cloud) predict(ctx context.Context, slots int) (left int, err error) {
	d := p.d
	if p.chunk == 0 {
		if left, err = d.predict(ctx, 0, slots); err == nil && left > 0 {
			d.pool.Each(0, slots, p.weigh)
			err = p.failure(slots)
		}
		return left, err
	}
	for from := 0; from < slots; from += p.chunk {
		if err := poll.Err(ctx); err != nil {
			return left, err
		}
		to := min(from+p.chunk, slots)
		n, err := d.predict(ctx, from, to)
		if err != nil {
			return left, err
		}
		left += n
		d.pool.Each(from, to, p.pass)
		if err := p.failure(to); err != nil {
			return left, err
		}
	}
	return left, nil
}

// failure gives up the samples that have a particle with an error, for that of the
// first. The error is that of the context.
func (p *cloud) failure(slots int) error {
	if err := poll.Err(p.d.ctx); err != nil {
		return err
	}
	for i, err := range p.d.errs[:slots] {
		if err != nil {
			p.slotFails(i, err)
		}
	}
	return nil
}

// slotFails gives up the sample of a particle that has an error.
func (p *cloud) slotFails(i int, err error) {
	if g := i / p.n; p.fault[g] == nil {
		p.giveUp(g, fmt.Errorf("diffusion: Particles: sample %d, particle %d, step %d: %w", p.number(g), i%p.n, p.d.step, err))
	}
}

// weighSlot multiplies the weight of slot i by Z_C(p(·|x_t))/Z_C(ρ).
func (p *cloud) weighSlot(w, i int) error {
	d := p.d
	if d.time[i] <= 0 || d.drawer == nil {
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
func (p *cloud) logProb(w int, v []float32) (float64, error) {
	z, err := p.d.drawer.LogZ(p.d.ctx, v)
	if errors.Is(err, constraint.ErrInfeasible) {
		return math.Inf(-1), nil
	}
	if err != nil {
		return 0, err
	}
	return p.normalise(w, z, v), nil
}

// normalise returns what log Z_C = z is for the normalised rows of v.
func (p *cloud) normalise(w int, z float64, v []float32) float64 {
	simd.LogSumExp(p.lse[w], v, p.d.levels)
	for _, l := range p.lse[w] {
		z -= l
	}
	return z
}

// moveSlot moves particle i by one conditioned step.
func (p *cloud) moveSlot(w, i int) error {
	d := p.d
	if d.time[i] <= 0 {
		return nil
	}
	if d.drawer == nil {
		return moveTokens(d, w, i)
	}
	x, r, t := d.state(i), &d.streams[i], d.time[i]
	raw, work := d.prediction(i), &d.work[w]
	s := d.process[i].Next(x, t, d.step, d.cfg.Steps, r)
	copy(work.before, x)
	work.snap = Snapshot{Projected: true}
	var err error
	if work.snap.LogZ, err = d.drawer.Draw(d.ctx, work.clean, raw, r); err != nil {
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
func (p *cloud) passSlot(w, i int) error {
	d := p.d
	if d.time[i] <= 0 {
		return nil
	}
	if d.drawer == nil {
		return moveTokens(d, w, i)
	}
	x, r, t := d.state(i), &d.streams[i], d.time[i]
	raw, work := d.prediction(i), &d.work[w]
	conditionTokens(d, i, raw, t)
	s := d.process[i].Next(x, t, d.step, d.cfg.Steps, r)
	work.snap = Snapshot{Projected: true}
	logZ, err := d.drawer.Draw(d.ctx, work.clean, raw, r)
	if errors.Is(err, constraint.ErrInfeasible) {
		p.logW[i], d.time[i] = math.Inf(-1), 0
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

// renewGroup resamples the particles of a sample if few carry the weight. It
// reports whether any has some.
func (p *cloud) renewGroup(g int) bool {
	w := p.logW[g*p.n : (g+1)*p.n]
	if math.IsInf(slices.Max(w), -1) {
		return false
	}
	top, sum, squares := resample.Moments(w)
	if float64(sum*sum) >= float64(float64(p.threshold*float64(p.n))*squares) {
		return true
	}
	resample.Systematic(p.count[g*p.n:(g+1)*p.n], w, p.choice[g].Float64())
	p.spread(g)
	p.evidence[g] += top + simd.Log(sum/float64(p.n))
	clear(w)
	return true
}

// spread copies particles into the places of those that have no copies left.
func (p *cloud) spread(g int) {
	first := g * p.n
	free := first
	for j := first; j < first+p.n; j++ {
		for ; p.count[j] > 1; p.count[j]-- {
			for p.count[free] != 0 {
				free++
			}
			p.copySlot(free, j)
			p.count[free] = 1
		}
	}
}

// copySlot makes slot dst a copy of slot src in all but its stream.
func (p *cloud) copySlot(dst, src int) {
	d := p.d
	copy(d.state(dst), d.state(src))
	if p.chunk == 0 {
		copy(d.prediction(dst), d.prediction(src))
	}
	d.time[dst], d.known[dst], d.fresh[dst] = d.time[src], d.known[src], d.fresh[src]
	p.logZ[dst], p.logRho[dst] = p.logZ[src], p.logRho[src]
	p.value.copy(dst, src)
	if d.warm != nil {
		d.warm.Copy(dst, src)
	}
}

// pick closes the estimate of a sample and returns one of its particles, drawn
// by weight.
func (p *cloud) pick(g int) int {
	w := p.logW[g*p.n : (g+1)*p.n]
	top, sum, _ := resample.Moments(w)
	p.evidence[g] += top + simd.Log(sum/float64(p.n))
	return g*p.n + resample.ByWeight(w, p.choice[g].Float64())
}
