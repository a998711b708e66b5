package slots_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// counting steps put a sample of zeros at time 1.
type counting struct{}

func (counting) Alpha(t float64) float64            { return 1 - t }
func (counting) Prior(x []int32, r *sampler.Stream) { x[0], x[1] = 0, int32(r.IntN(9)) }
func begun(int) slots.Steps[int32]                  { return counting{} }
func prefixed(who string) func(error) error {
	return func(err error) error { return errors.Join(errors.New(who), err) }
}
func states(q energy.Noised[int32], site int) []int32 { return every(q.X[site:], 2) }

// every returns every n-th entry.
func every(x []int32, n int) (out []int32) {
	for i := 0; i < len(x); i += n {
		out = append(out, x[i])
	}
	return out
}

// recorder is a denoiser of two sites and three levels: it predicts 10·x_0 and the number
// of the sample, and keeps what it was asked.
type recorder struct {
	samples [][]int
	clean   [][]bool
	fails   map[int]bool // samples of which it makes no prediction
}

var errModel = errors.New("no prediction")

func (*recorder) Shape() (int, int) { return 2, 3 }

func (m *recorder) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	m.samples, m.clean = append(m.samples, slices.Clone(q.Sample)), append(m.clean, slices.Clone(q.Clean))
	for k, s := range q.Sample {
		if m.fails[s] {
			return errModel
		}
		v[k*6], v[k*6+1] = float32(10*states(q, 0)[k]), float32(s)
	}
	return nil
}

// stepper moves every slot so many steps, of which the number is its first site.
type stepper struct {
	*slots.Engine[int32]
	t      *testing.T
	steps  []int // by sample
	next   int
	ended  []int
	faults []error
}

func newStepper(t *testing.T, m energy.Denoiser[int32], h slots.Shape, steps ...int) *stepper {
	h.Sites, h.Levels = 2, 3
	e := &stepper{Engine: slots.New(m, h, begun), t: t, steps: steps}
	e.Policy = slots.Policy{Next: e.move, Retry: e.retry, Fault: prefixed("model")}
	return e
}

func (e *stepper) move(_, i int) error {
	s := &e.Slots[i]
	if !assert.Equal(e.t, []float32{float32(10 * s.X[0]), float32(s.Sample)}, s.V[:2]) {
		return errors.New("another slot's prediction")
	}
	s.X[0]++
	if s.X[0] == 5 {
		return errors.New("five")
	}
	e.Moved(i, max(0, 1-float64(s.X[0])/float64(e.steps[s.Sample])), true)
	return nil
}

// retry begins the next sample.
func (e *stepper) retry(i int, fault error) error {
	e.ended, e.faults = append(e.ended, e.Slots[i].Sample), append(e.faults, fault)
	if e.next < len(e.steps) {
		e.Start(i, e.next, 7, uint64(e.next))
		e.next++
	}
	return nil
}

func (e *stepper) run(ctx context.Context) error {
	n := min(e.Batch, len(e.steps))
	for i := range n {
		e.Start(i, i, 7, uint64(i))
	}
	e.next = n
	e.Pool.Start()
	defer e.Pool.Stop()
	return e.Run(ctx, 0, n)
}

// One call a round makes all predictions; a slot that has ended takes the next sample at
// once, and an error is that of its slot.
func TestSlots(t *testing.T) {
	for _, c := range []slots.Shape{{Batch: 2, Workers: 1}, {Batch: 2, Workers: 2}, {Batch: 2, Tables: 1, Workers: 1}, {Batch: 3, Tables: 9, Workers: 3}} {
		for _, keep := range []bool{false, c.Tables != 1} {
			m := &recorder{}
			e := newStepper(t, m, c, 2, 1, 3, 9, 1)
			e.Keep = keep
			require.NoError(t, e.run(t.Context()))
			require.Len(t, e.ended, 5)
			for k, s := range e.ended {
				require.Equal(t, s == 3, e.faults[k] != nil, "only five steps are allowed")
			}
			require.Equal(t, 2+1+3+5+1, e.Asked)
			require.LessOrEqual(t, e.Step, 7)
			if c.Batch == 2 && c.Tables == 0 {
				require.Equal(t, [][]int{{0, 1}, {0, 2}, {3, 2}, {3, 2}, {3, 4}, {3}, {3}}, m.samples)
			}
		}
	}
}

// A table that is kept stays where its slot is, whichever slots are asked about.
func TestKeptTablesStay(t *testing.T) {
	m := &recorder{}
	e := newStepper(t, m, slots.Shape{Batch: 3, Workers: 1}, 3, 1, 3)
	e.Keep = true
	require.NoError(t, e.run(t.Context()))
	require.Equal(t, [][]int{{0, 1, 2}, {0, 2}, {0, 2}}, m.samples)
	for i, want := range []float32{20, 0, 20} {
		require.Equal(t, []float32{want, float32(i)}, e.Slots[i].V[:2])
	}
	// Where the state is as it was, so is the prediction.
	e = newStepper(t, m, slots.Shape{Batch: 1, Workers: 1}, 1)
	e.Keep, e.TimeFree, m.samples = true, true, nil
	left := 4
	e.Next = func(_, i int) error {
		left--
		e.Moved(i, float64(left), left == 2)
		return nil
	}
	require.NoError(t, e.run(t.Context()))
	require.Len(t, m.samples, 2)
}

// An error of the denoiser ends the run, or the slots that cause it.
func TestErrorsOfTheDenoiser(t *testing.T) {
	m := &recorder{fails: map[int]bool{1: true}}
	e := newStepper(t, m, slots.Shape{Batch: 3, Workers: 1}, 2, 2, 2)
	require.ErrorIs(t, e.run(t.Context()), errModel)
	require.Empty(t, e.ended)
	e.Blame, e.Keep = true, true
	require.NoError(t, e.run(t.Context()))
	require.Equal(t, []int{1, 0, 2}, e.ended)
	require.ErrorIs(t, e.faults[0], errModel)
	require.ErrorContains(t, e.faults[0], "model")
	require.NoError(t, errors.Join(e.faults[1:]...))
	ctx, cancel := context.WithCancel(t.Context())
	e.Ask = func(context.Context, []float32, energy.Noised[int32]) error { cancel(); return errModel }
	require.ErrorIs(t, e.run(ctx), context.Canceled)
}

// The end of a context, errors of the policy and panics end a run; the next one is as
// if nothing had been.
func TestRunsThatEnd(t *testing.T) {
	m := &recorder{}
	e := newStepper(t, m, slots.Shape{Batch: 3, Workers: 2}, 3, 3, 3)
	ctx, cancel := context.WithCancel(t.Context())
	e.Judge = func() error { cancel(); return nil }
	require.ErrorIs(t, e.run(ctx), context.Canceled)
	stop := errors.New("stop")
	e.Judge = func() error { return stop }
	require.ErrorIs(t, e.run(t.Context()), stop)
	e.Judge = nil
	retry := e.Retry
	e.Retry = func(int, error) error { return stop }
	require.ErrorIs(t, e.run(t.Context()), stop)
	next := e.Next
	ctx, cancel = context.WithCancel(t.Context())
	e.Next = func(w, i int) error { cancel(); return next(w, i) }
	require.ErrorIs(t, e.run(ctx), context.Canceled)
	e.Next = func(int, int) error { panic("no") }
	func() {
		defer func() {
			p, ok := recover().(*pool.Panic)
			require.True(t, ok)
			require.Equal(t, "no", p.Value)
		}()
		_ = e.run(t.Context())
	}()
	e.Next, e.Retry = next, retry
	require.NoError(t, e.run(t.Context()))
	require.Len(t, e.ended, 3)
	e.Retry = nil
	require.NoError(t, e.run(t.Context()))
}

// Judge moves slots on with what they have: a second part of a round.
func TestParts(t *testing.T) {
	e := newStepper(t, &recorder{}, slots.Shape{Batch: 4, Workers: 2}, 3, 3, 3, 3)
	move, looked := e.Next, make([]int, 4)
	e.Next = func(_, i int) error {
		if looked[i]++; i == 2 {
			e.Slots[i].Time = 0 // ends before it moves
		}
		return nil
	}
	rounds := 0
	e.Judge = func() error { rounds++; return e.Each(move) }
	require.NoError(t, e.run(t.Context()))
	require.Equal(t, []int{3, 3, 1, 3}, looked)
	require.Equal(t, []int{2, 0, 1, 3}, e.ended)
	require.Equal(t, 3, rounds)
	require.Equal(t, int32(0), e.Slots[2].X[0])
}

// Slots in the same state share a prediction; if that fails each asks for itself.
func TestSharedPredictions(t *testing.T) {
	m := &recorder{}
	shared := map[int32]*[]float32{}
	run := func(e *stepper) {
		e.Keep, e.Blame = true, true
		e.Shared = func(i int) *[]float32 {
			l := e.Slots[i].X[0]
			if l > 1 {
				return nil
			}
			if shared[l] == nil {
				shared[l] = new([]float32)
			}
			return shared[l]
		}
		e.Next = func(_, i int) error {
			s := &e.Slots[i]
			assert.Equal(t, float32(10*s.X[0]), s.V[0])
			s.V[0] = -1 // its own
			s.X[0]++
			e.Moved(i, max(0, 1-float64(s.X[0])/3), true)
			return nil
		}
		require.NoError(t, e.run(t.Context()))
	}
	run(newStepper(t, m, slots.Shape{Batch: 3, Workers: 1}, 3, 3, 3, 3))
	require.Equal(t, [][]int{{0}, {0}, {0, 1, 2}, {3}}, m.samples)
	clear(shared)
	m.samples, m.fails = nil, map[int]bool{0: true}
	e := newStepper(t, m, slots.Shape{Batch: 3, Workers: 1}, 3, 3, 3)
	run(e)
	require.Equal(t, []int{0, 1, 2}, e.ended)
	require.Error(t, e.faults[0])
	require.NoError(t, errors.Join(e.faults[1:]...))
	require.Equal(t, [][]int{{0}, {0}, {1}, {1}, {1, 2}}, m.samples)
}

// Clamped sites keep their values and are marked.
func TestClamps(t *testing.T) {
	m := &recorder{}
	e := newStepper(t, m, slots.Shape{Batch: 2, Workers: 1}, 1, 1)
	e.Clamp(0, []int32{-1, 2}, nil)
	e.Clamp(1, []int32{-1, 2}, []int32{-1, 1})
	require.NoError(t, e.run(t.Context()))
	require.Equal(t, []int32{1, 2}, e.Slots[0].X)
	require.Equal(t, []int32{1, 1}, e.Slots[1].X)
	require.Equal(t, []bool{false, true, false, true}, m.clean[0])
	e.Slots[0].X[1] = 0
	e.Restore(0)
	require.Equal(t, int32(2), e.Slots[0].X[1])
	e.Clamp(0, nil, nil)
	e.Clamp(1, nil, []int32{-1, -1})
	require.NoError(t, e.run(t.Context()))
	require.Nil(t, m.clean[1])
	nan := float32(math.NaN())
	require.Equal(t, []bool{true, false, true, false}, []bool{slots.Blank(int32(-1)), slots.Blank(int32(0)), slots.Blank(nan), slots.Blank(float32(-1))})
}

// Several states for each slot, and none at all.
func TestStatesForEachSlot(t *testing.T) {
	e := newStepper(t, &recorder{}, slots.Shape{Batch: 2, Per: 3, Workers: 1}, 1, 1)
	e.Ask = func(_ context.Context, v []float32, q energy.Noised[int32]) error {
		require.Equal(t, []int{0, 0, 0, 1, 1, 1}, q.Sample)
		require.Len(t, v, 6*6)
		for k := range v {
			v[k] = float32(k)
		}
		return nil
	}
	e.Next = func(_, i int) error {
		require.Equal(t, [2]float32{float32(18 * i), float32(18*i + 17)}, [2]float32{e.Slots[i].V[0], e.Slots[i].V[17]})
		e.Moved(i, 0, true)
		return nil
	}
	require.NoError(t, e.run(t.Context()))
	require.Equal(t, 6, e.Asked)
	none := slots.New(nil, slots.Shape{Sites: 2, Levels: 3, Batch: 1, Workers: 1}, begun)
	moved := 0
	none.Next = func(_, i int) error { moved++; none.Moved(i, 0, true); return nil }
	none.Begin(0)
	require.NoError(t, none.Run(t.Context(), 0, 1))
	require.Equal(t, 1, moved)
}

type checked struct{ recorder }

func (*checked) Check() error { return errors.New("a setting") }

type flat struct{ recorder }

func (*flat) Shape() (int, int) { return 2, 0 }

type masking struct{ recorder }

func (*masking) MaskLevel() int32 { return 2 }

// process binds three slots.
type process struct{ calls int }

func (p *process) Bind(_ context.Context, sites, levels int) (slots.Steps[int32], error) {
	if p.calls++; p.calls > 3 || sites != 2 || levels != 3 {
		return nil, errModel
	}
	return counting{}, nil
}

func TestModelsAndProcessesAreChecked(t *testing.T) {
	for want, m := range map[string]energy.Denoiser[int32]{"who: model = nil": (*recorder)(nil), "a setting": &checked{}, "who: the model has 2 sites and 0 levels": &flat{}} {
		_, _, err := slots.Model("who", m)
		require.ErrorContains(t, err, want)
	}
	sites, levels, err := slots.Model("who", &recorder{})
	require.NoError(t, err)
	require.Equal(t, [2]int{2, 3}, [2]int{sites, levels})
	p := new(process)
	steps, err := slots.Bind(t.Context(), "who", &recorder{}, p, 2)
	require.NoError(t, err)
	require.Len(t, steps, 2)
	_, err = slots.Bind(t.Context(), "who", &masking{}, p, 1)
	require.ErrorContains(t, err, "who: the denoiser predicts tokens masked by level 2, and the process has no mask")
	_, err = slots.Bind(t.Context(), "who", &recorder{}, p, 1)
	require.ErrorIs(t, err, errModel)
	_, err = slots.Bind(t.Context(), "who", &recorder{}, (*process)(nil), 1)
	require.ErrorContains(t, err, "who: process = nil")
	require.Equal(t, [3]int{1, 4, 64}, [3]int{slots.Batch(1 << 30), slots.Batch(1 << 24), slots.Batch(1)})
}

// A round allocates nothing.
func TestRoundsAllocateNothing(t *testing.T) {
	e := slots.New[int32](energy.DenoiserFunc[int32]{Sites: 2, Levels: 3, F: func(context.Context, []float32, energy.Noised[int32]) error { return nil }},
		slots.Shape{Sites: 2, Levels: 3, Batch: 4, Workers: 1}, begun)
	e.Next = func(_, i int) error { e.Moved(i, e.Slots[i].Time-1.0/64, true); return nil }
	run := func() {
		for i := range 4 {
			e.Start(i, i, 1, 1)
		}
		if err := e.Run(context.Background(), 0, 4); err != nil || e.Step != 64 {
			t.Fatal(err, e.Step)
		}
	}
	require.Zero(t, testing.AllocsPerRun(10, run))
}
