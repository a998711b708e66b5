// Package slots draws many samples at the same time by diffusion. A sample begins as pure noise at
// time 1 and is denoised step by step until time 0. Each sample in progress occupies a slot of an
// [Engine]. In every round, one call of the denoiser predicts the clean states of all slots that
// need a prediction. Workers then advance the slots concurrently. A [Policy] defines how a slot
// uses its prediction to make a step, what happens when a sample ends, and whether the slot then
// starts another sample.
package slots

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Steps is the part of diffusion.Steps that an engine needs. Alpha returns the signal level ᾱ at
// time t. This level is 1 for clean samples and falls towards 0 as noise is added. Prior draws the
// initial state of a sample, which is noise.
type Steps[S energy.Site] interface {
	Alpha(t float64) float64
	Prior(x []S, r *sampler.Stream)
}

// Policy adapts an [Engine] to one kind of sampler.
type Policy struct {
	// Next, called by worker w, makes the steps of slot i that need no new prediction. It sets the
	// time of the slot. Time 0 means that the sample has ended. Next is called concurrently for
	// different slots. An error ends the slot.
	Next func(w, i int) error

	// Most is the largest number of rounds; 0 means no limit. A slot that is still in progress
	// after that many rounds ends with an error.
	Most int

	// Judge, unless nil, is called after every round, in the goroutine that called Run. It may
	// compare all slots, for instance to weight and resample them. It may also advance them again
	// (see [Engine.Each]) and report progress.
	Judge func() error

	// Retry, unless nil, is called in order for every slot that has ended in a round. The argument
	// fault is the error of the slot, or nil. Retry may start the same or another sample in the
	// slot. If Retry returns an error, the run ends.
	Retry func(i int, fault error) error

	// Fault adds context to an error of the denoiser and returns the result. If Blame is true, the
	// error ends only the slots that cause it. Otherwise it ends the run. Blame requires
	// Engine.Keep.
	Fault func(err error) error
	Blame bool

	// Shared, unless nil, returns a pointer to the prediction that slot i shares with all slots in
	// the same state. It returns nil if the slot shares none. The slice is nil until the prediction
	// has been made.
	Shared func(i int) *[]float32
}

// Slot is one sample in progress.
type Slot[S energy.Site] struct {
	X      []S       // state of the sample
	V      []float32 // prediction for X, one row per site; valid if Known is true
	Stream sampler.Stream
	Sample int     // index of the sample
	Time   float64 // diffusion time of X; 0 means that the slot is idle
	Known  bool    // whether V holds the prediction for X
	// whether V still holds what the denoiser computed, without a change by the policy
	Fresh bool
	// index of the slot in that call of the denoiser which made the slot's prediction
	Row int

	Clean []bool // for each site: whether it is clamped
	Given []S    // values of the clamped sites; other entries are unused

	steps  Steps[S]
	moved  bool // whether the slot moved in this round
	fault  error
	shared *[]float32
}

// Engine holds the slots, asks the denoiser for predictions and advances the slots according to its
// Policy.
type Engine[S energy.Site] struct {
	Policy
	Shape
	Slots []Slot[S]
	Pool  *pool.Pool

	// Ask stores in v the predictions for the states in q, which holds Shape.Per states per slot.
	// New sets Ask to the Denoise method of the model. If Ask is nil, the slots move without
	// predictions.
	Ask func(ctx context.Context, v []float32, q energy.Noised[S]) error

	// passed on to the denoiser in the fields of energy.Noised with the same names
	Meta     any
	Guided   bool
	Reveals  energy.Reveals
	TimeFree bool // whether predictions depend on the state only, not on the time
	// whether every slot has its own table of predictions. Predictions then stay valid after the
	// round.
	Keep bool

	// Ctx is the context of the current run.
	Ctx   context.Context
	Step  int // number of rounds completed in the current run
	Asked int // number of states for which predictions were requested, over all runs

	from, to int
	part     func(w, i int) error
	one      func(w, i int)
	clamped  bool         // whether at least one slot has clamped sites
	ask      []int        // slots that need a prediction
	asked    []*[]float32 // shared predictions that the slots in ask will fill
	q        energy.Noised[S]
	table    []float32
	aside    []float32 // buffer for predictions of slots whose tables are not adjacent
}

// Shape holds the sizes of an engine. The engine has Batch slots. A prediction is a table of Sites
// × Levels. Per is the number of states predicted per slot; 0 means 1. Tables is the number of
// slots whose predictions fit in memory at once; 0 means all slots. Workers is the number of
// goroutines.
type Shape struct{ Sites, Levels, Batch, Tables, Per, Workers int }

// New returns an engine of shape h for a model. The function steps returns the diffusion steps
// that slot i uses. If model is nil, the engine has no prediction tables and its slots move
// without predictions.
func New[S energy.Site](model energy.Denoiser[S], h Shape, steps func(i int) Steps[S]) *Engine[S] {
	if h.Tables == 0 || h.Tables > h.Batch {
		h.Tables = h.Batch
	}
	h.Per = max(h.Per, 1)
	n, sites := h.Batch, h.Sites
	e := &Engine[S]{Shape: h, Slots: make([]Slot[S], n), Pool: pool.New(h.Workers), ask: make([]int, 0, n)}
	x, given, clean := make([]S, n*sites), make([]S, n*sites), make([]bool, n*sites)
	for i := range e.Slots {
		row := func(v []S) []S { return v[i*sites : (i+1)*sites] }
		e.Slots[i] = Slot[S]{X: row(x), Given: row(given), Clean: clean[i*sites : (i+1)*sites], steps: steps(i)}
	}
	e.one = e.move
	if model == nil {
		return e
	}
	e.Ask = model.Denoise
	e.table = make([]float32, h.Tables*h.Per*sites*h.Levels)
	n = h.Tables * h.Per
	e.q = energy.Noised[S]{
		X: make([]S, n*sites), Time: make([]float64, n), Alpha: make([]float64, n),
		Sample: make([]int, n), Src: make([]rand.Source, n),
	}
	return e
}

// Batch returns the default number of samples that move together. The argument entries is the
// number of float32 values in the prediction for one sample. The result is the number of
// predictions that fit in 256 MiB, but at least 1 and at most 64.
func Batch(entries int) int { return min(max(1, 1<<28/4/entries), 64) }

// Model returns the numbers of sites and levels of a denoiser. It returns an error if the denoiser
// is nil or has no sites or levels. If the denoiser is a [noise.Checked], Model also returns the
// error of its Check method. Messages begin with caller.
func Model[S energy.Site](caller string, model energy.Denoiser[S]) (sites, levels int, err error) {
	if check.Nil(model) {
		return 0, 0, fmt.Errorf("%s: model = nil", caller)
	}
	if c, ok := energy.As[noise.Checked](model); ok {
		if err := c.Check(); err != nil {
			return 0, 0, err
		}
	}
	if sites, levels = model.Shape(); sites < 1 || levels < 1 {
		return 0, 0, fmt.Errorf("%s: the model has %d sites and %d levels, want both ≥ 1", caller, sites, levels)
	}
	return sites, levels, nil
}

// Leads reports whether a denoiser has guidance that is applied to the steps instead of to the
// predictions. Guidance pushes samples towards a condition. To do so, it compares two denoisers,
// one with and one without the condition, or asks a classifier (see diffusion.Guide). The type
// parameter G is diffusion.Guide, and C is the type of its classifier.
func Leads[G interface {
	Guidance() (scale float64, unconditional energy.Denoiser[int32], classifier C)
}, C any](d any) bool {
	g, ok := energy.As[G](d)
	if !ok {
		return false
	}
	_, unconditional, classifier := g.Guidance()
	return unconditional != nil || any(classifier) != nil
}

// Process has the method of the interface diffusion.Process, for steps of type T.
type Process[T any] interface {
	Bind(ctx context.Context, sites, levels int) (T, error)
}

// Bind returns the steps of a process for n slots. It calls the process's Bind once per slot, with
// the model's numbers of sites and levels. It returns an error if the process is nil, if a call
// fails, or if the model was made for another kind of noise. Messages begin with caller, except
// messages from the process.
func Bind[T any](ctx context.Context, caller string, model interface{ Shape() (sites, levels int) }, process Process[T], n int) ([]T, error) {
	if check.Nil(process) {
		return nil, fmt.Errorf("%s: process = nil", caller)
	}
	sites, levels := model.Shape()
	steps := make([]T, n)
	for i := range steps {
		var err error
		if steps[i], err = process.Bind(ctx, sites, levels); err != nil {
			return nil, err
		}
		if err := corruption.Check(model, steps[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", caller, err)
		}
	}
	return steps, nil
}

// Begin draws the state of slot i from the prior distribution (noise), and sets the time of the
// slot to 1.
func (e *Engine[S]) Begin(i int) {
	s := &e.Slots[i]
	s.steps.Prior(s.X, &s.Stream)
	e.Restore(i)
	s.Time, s.Known, s.Fresh, s.fault = 1, false, false, nil
}

// Start begins the sample with the given index in slot i. The sample draws from the random stream
// (seed, chain).
func (e *Engine[S]) Start(i, index int, seed, chain uint64) {
	s := &e.Slots[i]
	s.Sample = index
	s.Stream.Seed(seed, chain)
	e.Begin(i)
}

// Clamp fixes (clamps) sites of slot i. The values in shared are for all slots. The values in slot
// are for slot i only, and take precedence. A blank entry leaves its site free (see [Blank]).
func (e *Engine[S]) Clamp(i int, shared, slot []S) {
	if i == 0 {
		e.clamped = false
	}
	s := &e.Slots[i]
	clear(s.Clean)
	for _, given := range [2][]S{shared, slot} {
		for j, v := range given {
			if !Blank(v) {
				s.Given[j], s.Clean[j], e.clamped = v, true, true
			}
		}
	}
	if e.clamped && e.q.Clean == nil {
		e.q.Clean = make([]bool, len(e.q.X))
	}
}

// CheckClamp checks a clamp, which fixes the levels of some sites. A nil clamp is valid. Otherwise
// the clamp must have one entry per site: a level, or −1 for a free site. The error begins with
// prefix.
func CheckClamp(prefix string, clamp []int32, sites, levels int) error {
	if clamp != nil && len(clamp) != sites {
		return fmt.Errorf("%s = (%d entries), want %d entries", prefix, len(clamp), sites)
	}
	for i, l := range clamp {
		if l < -1 || int(l) >= levels {
			return fmt.Errorf("%s[%d] = %d, want -1 … %d", prefix, i, l, levels-1)
		}
	}
	return nil
}

// Blank reports whether the entry v of a clamp leaves its site free.
func Blank[S energy.Site](v S) bool {
	if l, token := any(v).(int32); token {
		return l < 0
	}
	return v != v
}

// Restore sets the clamped sites of slot i back to their given values.
func (e *Engine[S]) Restore(i int) {
	if !e.clamped {
		return
	}
	s := &e.Slots[i]
	for j, clean := range s.Clean {
		if clean {
			s.X[j] = s.Given[j]
		}
	}
}

// clocked is a copy of the interface diffusion.Clocked, for processes that bound the number of
// steps of a sample.
type clocked interface{ MaxSteps(steps int) int }

// MaxSteps returns the largest number of steps that a sample may take if a run requests n steps.
// For steps that do not implement diffusion.Clocked the result is n.
func MaxSteps(steps any, n int) int {
	if c, ok := steps.(clocked); ok {
		return c.MaxSteps(n)
	}
	return n
}

// Goes checks the time t at which the slot's next step would end. It returns an error if t is NaN
// or exceeds the slot's present time, because times must not increase.
func (s *Slot[S]) Goes(t float64) error {
	if !(t <= s.Time) {
		return fmt.Errorf("the process goes from time %v to %v, want one that is no later", s.Time, t)
	}
	return nil
}

// Moved records that a step has taken slot i to time t. If the step changed the state, change is
// true. The slot's prediction stays valid only if the state is unchanged and the predictions of the
// model do not depend on time.
func (e *Engine[S]) Moved(i int, t float64, change bool) {
	e.Slots[i].Time = t
	e.Slots[i].Known = e.TimeFree && !change
}

// Run advances the slots lo, …, hi−1 in rounds until none of them has a sample in progress. It
// returns any error of ctx, the denoiser or the policy.
func (e *Engine[S]) Run(ctx context.Context, lo, hi int) error {
	e.Ctx, e.Step = ctx, 0
	for ; ; e.Step++ {
		if e.Most > 0 && e.Step == e.Most {
			e.late(lo, hi)
		}
		left := 0
		for e.from = lo; e.from < hi; e.from = e.to {
			if err := poll.Err(ctx); err != nil {
				return err
			}
			e.to = hi
			if !e.Keep {
				e.to = min(hi, e.from+e.Tables)
			}
			n, err := e.predict()
			if err == nil && n > 0 {
				err = e.Each(e.Next)
			}
			if err != nil {
				return err
			}
			left += n
		}
		if left == 0 {
			return nil
		}
		if e.from = lo; e.Judge != nil {
			if err := e.Judge(); err != nil {
				return err
			}
		}
	}
}

// late sets the error of every slot with index in [from, to) that is still in progress after Most
// rounds. [Engine.Each] then ends the slot.
func (e *Engine[S]) late(from, to int) {
	for i := from; i < to; i++ {
		if s := &e.Slots[i]; s.Time > 0 && s.fault == nil {
			s.fault = fmt.Errorf("at time %v after %d steps, the most that the process promises, want 0", s.Time, e.Most)
		}
	}
}

// Each calls part(w, i) for every slot i in progress, concurrently in several workers w. It then
// calls Policy.Retry for every slot that has ended. It returns any error of the context or of
// Retry.
func (e *Engine[S]) Each(part func(w, i int) error) error {
	e.part = part
	e.Pool.Each(e.from, e.to, e.one)
	if err := poll.Err(e.Ctx); err != nil {
		return err
	}
	for i := e.from; i < e.to; i++ {
		s := &e.Slots[i]
		fault := s.fault
		if !s.moved || s.Time > 0 && fault == nil {
			continue
		}
		s.Time, s.Known, s.fault = 0, false, nil
		if e.Retry != nil {
			if err := e.Retry(i, fault); err != nil {
				return err
			}
		}
	}
	return nil
}

// move calls part for slot i in worker w, if the slot is in progress and has a prediction. It
// stores the error of part or of the context in the slot.
func (e *Engine[S]) move(w, i int) {
	s := &e.Slots[i]
	if s.moved = s.Time > 0 && (s.Known || s.fault != nil); !s.moved || s.fault != nil {
		return
	}
	if s.fault = poll.Err(e.Ctx); s.fault == nil {
		s.fault = e.part(w, i)
	}
}

// predict makes the missing predictions of the slots in progress, in one call of the denoiser. It
// returns the number of slots in progress.
func (e *Engine[S]) predict() (left int, err error) {
	left = e.collect()
	err = e.denoise(e.ask)
	if err != nil && !e.Blame {
		return left, e.Fault(err)
	}
	for k := 0; err != nil && k < len(e.ask); k++ {
		if err := poll.Err(e.Ctx); err != nil {
			return left, err
		}
		if err := e.denoise(e.ask[k : k+1]); err != nil {
			e.Slots[e.ask[k]].fault = e.Fault(err)
		}
	}
	if len(e.asked) > 0 {
		e.collect() // copy the new predictions to slots in the same state
	}
	return left, nil
}

// collect lists in e.ask the slots that need a prediction. Slots that share a prediction already
// made take a copy of it. collect returns the number of slots in progress.
func (e *Engine[S]) collect() (left int) {
	e.ask, e.asked = e.ask[:0], e.asked[:0]
	for i := e.from; i < e.to; i++ {
		s := &e.Slots[i]
		if s.Time <= 0 {
			continue
		}
		left++
		s.Known = s.Known || e.Ask == nil
		if s.Known || s.fault != nil {
			continue
		}
		if s.shared = nil; e.Shared != nil {
			s.shared = e.Shared(i)
		}
		if s.shared != nil {
			if *s.shared != nil {
				s.take(e.block(i), *s.shared)
				continue
			}
			if slices.Contains(e.asked, s.shared) {
				continue
			}
			e.asked = append(e.asked, s.shared)
		}
		e.ask = append(e.ask, i)
	}
	return left
}

// take copies a prediction, from, into v and makes v the table of the slot.
func (s *Slot[S]) take(v, from []float32) {
	copy(v, from)
	s.V, s.Known, s.Fresh = v, true, true
}

// block returns table k of the predictions.
func (e *Engine[S]) block(k int) []float32 {
	size := e.Per * e.Sites * e.Levels
	return e.table[k*size : (k+1)*size]
}

// denoise requests predictions for the given slots, in order, in one call.
func (e *Engine[S]) denoise(ask []int) error {
	if len(ask) == 0 {
		return nil
	}
	n := 0
	for _, i := range ask {
		s := &e.Slots[i]
		alpha := s.steps.Alpha(s.Time)
		for range e.Per {
			copy(e.q.X[n*e.Sites:], s.X)
			if e.clamped {
				copy(e.q.Clean[n*e.Sites:], s.Clean)
			}
			e.q.Time[n], e.q.Alpha[n], e.q.Sample[n], e.q.Src[n] = s.Time, alpha, s.Sample, &s.Stream
			n++
		}
	}
	q := energy.Noised[S]{
		X: e.q.X[:n*e.Sites], Time: e.q.Time[:n], Alpha: e.q.Alpha[:n],
		Sample: e.q.Sample[:n], Src: e.q.Src[:n], Meta: e.Meta, Guided: e.Guided, Reveals: e.Reveals,
	}
	if e.clamped {
		q.Clean = e.q.Clean[:n*e.Sites]
	}
	dst, size := e.table, e.Per*e.Sites*e.Levels
	// With Keep, each table stays at the position of its slot, so the answer may have to be
	// scattered.
	scattered := e.Keep && ask[len(ask)-1]-ask[0] >= len(ask)
	if scattered {
		if e.aside == nil {
			e.aside = make([]float32, (e.Batch-1)*size)
		}
		dst = e.aside
	} else if e.Keep {
		dst = e.table[ask[0]*size:]
	}
	e.Asked += n
	if err := e.Ask(e.Ctx, dst[:len(ask)*size], q); err != nil {
		return err
	}
	for k, i := range ask {
		s := &e.Slots[i]
		s.V, s.Row, s.Known, s.Fresh = dst[k*size:(k+1)*size], k, true, true
		if scattered {
			s.take(e.block(i), s.V)
		}
		if s.shared != nil {
			*s.shared = slices.Clone(s.V)
		}
	}
	return nil
}
