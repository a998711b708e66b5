package diffusion

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
)

// move moves slot i by one step. It is called by worker w.
func (d *Runner[S]) move(w, i int) error {
	s, work := &d.e.Slots[i], &d.work[w]
	next := d.process[i].Next(s.X, s.Time, d.e.Step, d.cfg.Steps, &s.Stream)
	if err := s.Goes(next); err != nil {
		return err
	}
	copy(work.before, s.X)
	work.snap = Snapshot{Projected: d.projects(s.Time, next)}
	v, err := d.step(w, i, next)
	if err != nil {
		return err
	}
	d.e.Restore(i)
	d.observe(w, i, v, next)
	d.e.Moved(i, next, !slices.Equal(work.before, s.X))
	return nil
}

// stepTokens moves slot i of a diffusion of tokens to a given time, next. It returns the prediction
// that the step used.
func stepTokens(d *Runner[int32], w, i int, next float64) (v []float32, err error) {
	s := &d.e.Slots[i]
	conditionTokens(d, i)
	switch {
	case d.guided != nil:
		return s.V, d.guided.reverse(d, w, i, s.Time, next)
	case !d.work[w].snap.Projected:
		return s.V, d.process[i].Reverse(s.X, s.V, s.V, s.Time, next, &s.Stream)
	}
	return projectTokens(d, w, i, next)
}

// observe passes a step of slot i to the observer. Worker w made the step with the prediction v.
// The time after the step is next.
func (d *Runner[S]) observe(w, i int, v []float32, next float64) {
	if d.cfg.Observe == nil {
		return
	}
	s, n := &d.e.Slots[i], &d.work[w].snap
	n.Sample, n.Step, n.From, n.To, n.V = s.Sample, d.e.Step, s.Time, next, v
	switch x := any(s.X).(type) {
	case []int32:
		n.X = x
	case []float32:
		n.Real = x
	}
	d.cfg.Observe(n)
}

// conditionTokens turns a new prediction for slot i into the full posterior, if the step needs one.
// If the denoiser already predicts full posteriors and there is no projection, the step reads only
// the rows of sites to be drawn, so no conversion is needed.
func conditionTokens(d *Runner[int32], i int) {
	s := &d.e.Slots[i]
	p, ok := d.process[i].(slots.Renoiser)
	switch {
	case !s.Fresh || !ok || d.projection == nil && !d.leaveOneOut && d.guided == nil:
	case d.spared != nil:
		conditionRest(d, i)
	default:
		slots.Condition(p, s, d.leaveOneOut)
	}
	s.Fresh = false
}

// conditionRest lists the known tokens of slot i, and replaces the rows of all other tokens by
// those of the full posterior.
func conditionRest(d *Runner[int32], i int) {
	s, p := &d.e.Slots[i], d.process[i].(IntactSteps)
	certain := d.certain[i*d.sites : (i+1)*d.sites]
	p.Intact(certain, s.X)
	for j := range certain {
		if s.Clean[j] {
			certain[j] = s.Given[j]
		}
		if certain[j] < 0 {
			p.Condition(s.V[j*d.levels:(j+1)*d.levels], s.X[j:j+1], s.Time, d.leaveOneOut)
		}
	}
}

// spare sets d.spared, so that the projection skips the rows of known tokens, if nothing else reads
// these rows.
func spare(d *Runner[int32]) {
	drawer, ok := d.drawer.(GivenDrawer)
	if ok {
		self := drawer.Self()
		t := reflect.TypeOf(self)
		ok = t != nil && t.Comparable() && self == any(d.drawer)
	}
	if _, intact := d.process[0].(IntactSteps); !ok || !intact || d.guided != nil || d.committer != nil || d.cfg.Observe != nil {
		return
	}
	d.spared, d.certain = drawer, make([]int32, d.cfg.Batch*d.sites)
}

// projects reports whether the step from time t to time next projects its prediction. Whatever the
// settings, the last step projects, so that no sample ends outside the set.
func (d *Runner[S]) projects(t, next float64) bool {
	return d.projection != nil && (next <= 0 ||
		t <= d.cfg.ProjectStart && d.cfg.ProjectEvery > 0 && d.e.Step%d.cfg.ProjectEvery == 0)
}

// project projects a copy of v, which belongs to slot i, to the feasible set.
func (d *Runner[S]) project(w, i int, v []float32, next float64) (moved []float32, err error) {
	s, work := &d.e.Slots[i], &d.work[w]
	copy(work.v, v)
	if d.cfg.ColdStart {
		d.forget(i)
	}
	work.snap.Violation, err = d.projection.Project(d.e.Ctx, i, work.v, s.Time, next, &s.Stream)
	return work.v, err
}

// projectTokens moves slot i by a step whose prediction is projected. It returns the prediction
// that the step used.
func projectTokens(d *Runner[int32], w, i int, next float64) (v []float32, err error) {
	s, p, work := &d.e.Slots[i], d.process[i], &d.work[w]
	renoise, _ := p.(Renoiser) // New has checked this
	x, v, t, r := s.X, s.V, s.Time, &s.Stream
	switch {
	case d.spared != nil:
		copy(work.clean, d.certain[i*d.sites:])
		work.snap.LogZ, err = d.spared.DrawGiven(d.e.Ctx, work.clean, v, r)
	case d.drawer != nil:
		work.snap.LogZ, err = d.drawer.Draw(d.e.Ctx, work.clean, v, r)
	default:
		if v, err = d.project(w, i, v, next); err != nil {
			return v, err
		}
		if d.cfg.Decode == DecodeRows || d.cfg.Decode == DecodeLast && next > 0 {
			return v, p.Reverse(x, s.V, v, t, next, r)
		}
		simd.ArgMax(work.clean, v, d.levels)
		if j := slices.IndexFunc(work.clean, func(l int32) bool { return l < 0 }); j >= 0 {
			err = badRow(v, j, d.levels)
		}
	}
	if err == nil {
		renoise.Renoise(x, work.clean, v, t, next, r)
	}
	return v, err
}

// stepReals moves slot i of a diffusion of reals to a given time, next. It returns the prediction
// that the step used. If the process moves the state away from the projected prediction in the last
// step, like [Penalised], stepReals projects the state.
func stepReals(d *Runner[float32], w, i int, next float64) (v []float32, err error) {
	s, projected := &d.e.Slots[i], d.work[w].snap.Projected
	v, s.Fresh = s.V, false
	for j, clean := range s.Clean {
		if clean {
			v[j] = s.Given[j]
		}
		if v[j]-v[j] != 0 { // true for ±Inf and NaN
			return v, &PredictionError{Site: j}
		}
	}
	if projected && !d.cfg.ProjectState {
		v, err = d.project(w, i, v, next)
	}
	if err == nil {
		err = d.process[i].Reverse(s.X, s.V, v, s.Time, next, &s.Stream)
	}
	if err == nil && projected && (d.cfg.ProjectState || next <= 0 && !slices.Equal(s.X, v)) {
		err = projectState(d, w, i, next)
	}
	if err == nil && projected && next <= 0 {
		err = keeps(d, i)
	}
	return v, err
}

// keeps returns an error if the projection of the last step has moved a clamped entry of slot i by
// more than rounding to float32. Afterwards such an entry is reset to its clamped value, and the
// sample could then be outside the set.
func keeps(d *Runner[float32], i int) error {
	s := &d.e.Slots[i]
	for j, clean := range s.Clean {
		if given := float64(s.Given[j]); clean && !(math.Abs(float64(s.X[j])-given) <= 1e-6*max(1, math.Abs(given))) {
			return fmt.Errorf("site %d is clamped at %v, and the projection moves it to %v: want the equation x[%d] = %v in the set of the projector, too", j, given, s.X[j], j, given)
		}
	}
	return nil
}

// projectState moves the state x_s of slot i towards its projection, by the fraction
// (1−s)^ProjectPower of the distance, where s = next.
func projectState(d *Runner[float32], w, i int, next float64) error {
	x := d.e.Slots[i].X
	v, err := d.project(w, i, x, next)
	if err != nil {
		return err
	}
	if d.cfg.ProjectPower == 0 || next <= 0 {
		copy(x, v)
		return nil
	}
	part := simd.Exp(d.cfg.ProjectPower * simd.Log(1-next))
	for j, v := range v {
		x[j] = float32(float64((1-part)*float64(x[j])) + float64(part*float64(v)))
	}
	return nil
}
