package samplertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Sizes of the runs that the checks make. The runs are short and have whole and partial blocks.
const (
	runChains     = 40 // number of chains of a run that a check makes: whole and partial blocks
	runWarmup     = 20 // number of warm-up steps of a run that a check makes
	runDraws      = 20 // number of draws per chain of a run that a check makes
	restoredSteps = 3  // number of steps before saving a kernel, and after restoring it
)

// history is the observable result of a run: a digest of every draw of every chain, and the final
// states, step sizes and statistics.
type history struct {
	draws  [][]uint64 // per chain: digests of its draws
	states []int32
	sizes  []float64
	stats  sampler.Stats
}

// Parameters of the 64-bit hash FNV-1a.
const (
	offset = 14695981039346656037 // initial value of the 64-bit hash FNV-1a
	prime  = 1099511628211        // multiplier of the 64-bit hash FNV-1a
)

// mix returns the hash h extended by the eight bytes of v.
func mix(h, v uint64) uint64 {
	for range 8 {
		h = (h ^ v&0xff) * prime
		v >>= 8
	}
	return h
}

// digest returns the hash of one draw: its state and its report.
func digest(x []int32, info *sampler.Info) uint64 {
	h := uint64(offset)
	for _, l := range x {
		h = mix(h, uint64(uint32(l)))
	}
	e := info.Energy
	if math.IsNaN(e) {
		e = math.NaN() // all NaN bit patterns are treated as equal
	}
	for _, v := range []uint64{math.Float64bits(e), math.Float64bits(info.Accept), uint64(info.Moved), uint64(info.Invalid)} {
		h = mix(h, v)
	}
	return h
}

// config returns the configuration of the runs that the checks make.
func (s *subject) config() sampler.Config {
	return sampler.Config{Chains: runChains, Seed: s.opt.Seed, Warmup: runWarmup, Init: s.init()}
}

// init returns a state of positive probability as the start of all chains, or nil if chains find
// one themselves.
func (s *subject) init() []int32 {
	sites, levels := s.model.Shape()
	if s.opt.Support != nil || size(sites, levels) > mostStates {
		return nil
	}
	all, e := laws.States(sites, levels), laws.Energies(s.model)
	best := 0
	for k, v := range e {
		if v < e[best] {
			best = k
		}
	}
	return all[best]
}

// observed returns cfg with an observer that stores digests of the draws in h.
func observed(h *history, cfg sampler.Config) sampler.Config {
	if h.draws == nil {
		h.draws = make([][]uint64, cfg.Chains)
		for i := range h.draws {
			h.draws[i] = make([]uint64, runDraws)
		}
	}
	cfg.Observe = func(chain, draw int, x []int32, info *sampler.Info) {
		if draw < runDraws {
			h.draws[chain][draw] = digest(x, info)
		}
	}
	return cfg
}

// end records the final states, step sizes and statistics of a run.
func (h *history) end(c *sampler.Chains) {
	h.states, h.sizes, h.stats = slices.Clone(c.States()), slices.Clone(c.StepSizes()), c.Stats()
}

// run makes a whole run and returns its history.
func (s *subject) run(m energy.Model, method sampler.Method, cfg sampler.Config) (*history, error) {
	h := &history{}
	c, err := sampler.NewChains(s.ctx, m, method, observed(h, cfg))
	if err != nil {
		return nil, err
	}
	if err := c.Run(s.ctx, runDraws); err != nil {
		return nil, err
	}
	h.end(c)
	return h, nil
}

// same returns an error if two runs differ. The text what begins the error.
func same(want, got *history, what string) error {
	for i := range want.draws {
		for d := range want.draws[i] {
			if want.draws[i][d] != got.draws[i][d] {
				return fmt.Errorf("%s: chain %d differs from draw %d on (%d chains, warm-up %d)", what, i, d, runChains, runWarmup)
			}
		}
	}
	if !slices.Equal(want.states, got.states) {
		return fmt.Errorf("%s: final states differ", what)
	}
	if !reflect.DeepEqual(want.sizes, got.sizes) {
		return fmt.Errorf("%s: step sizes %v, want %v", what, got.sizes, want.sizes)
	}
	if want.stats != got.stats {
		return fmt.Errorf("%s: Stats = %+v, want %+v", what, got.stats, want.stats)
	}
	return nil
}

func checkWorkers(s *subject) error {
	cfg := s.config()
	cfg.Workers = 1
	want, err := s.run(s.model, s.method, cfg)
	if err != nil {
		return err
	}
	for _, n := range []int{2, 5} {
		cfg.Workers = n
		got, err := s.run(s.model, s.method, cfg)
		if err != nil {
			return err
		}
		if err := same(want, got, fmt.Sprintf("with %d workers", n)); err != nil {
			return err
		}
	}
	cfg = s.config()
	c, err := sampler.NewChains(s.ctx, s.model, s.method, cfg)
	if err != nil {
		return err
	}
	if err := c.Run(s.ctx, runDraws); err != nil {
		return err
	}
	if !slices.Equal(c.States(), want.states) {
		return errors.New("states of a run that nobody observes differ")
	}
	return nil
}

func checkParts(s *subject) error {
	whole := s.config()
	want, err := s.run(s.model, s.method, whole)
	if err != nil {
		return err
	}
	for _, n := range []int{2, 3} {
		got := &history{}
		for k := range n {
			cfg, err := whole.Part(k, n)
			if err != nil {
				return err
			}
			c, err := sampler.NewChains(s.ctx, s.model, s.method, observed(got, cfg))
			if err != nil {
				return err
			}
			if err := c.Run(s.ctx, runDraws); err != nil {
				return err
			}
			got.states = append(got.states, c.States()...)
		}
		got.sizes, got.stats = want.sizes, want.stats
		if err := same(want, got, fmt.Sprintf("in %d parts", n)); err != nil {
			return err
		}
	}
	return nil
}

// resumed makes a run in two pieces and returns its history. The function begin advances the chains
// to some point. The chains are then saved, and new chains load the checkpoint and finish the run.
func (s *subject) resumed(begin func(c *sampler.Chains) error) (*history, error) {
	h, cfg := &history{}, s.config()
	first, err := sampler.NewChains(s.ctx, s.model, s.method, observed(h, cfg))
	if err != nil {
		return nil, err
	}
	if err := begin(first); err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := first.Save(&file); err != nil {
		return nil, fmt.Errorf("method Save: %w", err)
	}
	cfg.Seed, cfg.Workers = cfg.Seed+1, 1
	second, err := sampler.NewChains(s.ctx, s.model, s.method, observed(h, cfg))
	if err != nil {
		return nil, err
	}
	if err := second.Load(s.ctx, &file); err != nil {
		return nil, fmt.Errorf("method Load: %w", err)
	}
	if got, want := second.Len(), first.Len(); got != want {
		return nil, fmt.Errorf("method Len = %d after Load, want %d", got, want)
	}
	if err := second.Run(s.ctx, runDraws-second.Len()); err != nil {
		return nil, err
	}
	h.end(second)
	return h, nil
}

func checkResume(s *subject) error {
	want, err := s.run(s.model, s.method, s.config())
	if err != nil {
		return err
	}
	for _, n := range []int{0, 1, 7} {
		got, err := s.resumed(func(c *sampler.Chains) error {
			if n == 0 {
				return nil
			}
			return c.Run(s.ctx, n)
		})
		what := fmt.Sprintf("saved after %d of %d draws and loaded", n, runDraws)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := same(want, got, what); err != nil {
			return err
		}
	}
	// a sample of interruption points in Reset, warm-up and draws, because all points would take
	// long
	for looks := 2; ; looks = 2*looks + 1 {
		ended := true
		got, err := s.resumed(func(c *sampler.Chains) error {
			err := c.Run(laws.NewPolled(s.ctx, looks), runDraws)
			if ended = err != nil; ended && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		})
		what := fmt.Sprintf("ended by its context at look %d, saved and loaded", looks)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if !ended {
			break
		}
		if err := same(want, got, what); err != nil {
			return err
		}
	}
	return s.restored(want.states)
}

// restored compares a kernel with a new kernel that is restored from the first one's checkpoint.
// Both move the same states, and the new kernel is Reset only if the checkpoint is empty. A run
// would not show a difference, because a runner evaluates energies when it loads. But a kernel
// that contains other kernels depends on this.
func (s *subject) restored(x []int32) error {
	sites, _ := s.model.Shape()
	chains := min(len(x)/sites, sampler.BlockSize)
	x = slices.Clone(x[:chains*sites])
	first, err := s.method.Kernel(s.ctx, s.model, chains)
	if err != nil {
		return err
	}
	info, r := make([]sampler.Info, chains), make([]sampler.Stream, chains)
	for i := range r {
		r[i].Seed(s.opt.Seed, uint64(i))
	}
	if err := reset(first, x); err != nil {
		return err
	}
	for range restoredSteps {
		step(first, info, x, r)
	}
	image, err := first.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("method AppendBinary: %w", err)
	}
	second, err := s.method.Kernel(s.ctx, s.model, chains)
	if err != nil {
		return err
	}
	if err := second.UnmarshalBinary(image); err != nil {
		return fmt.Errorf("method UnmarshalBinary: %w", err)
	}
	y, again := slices.Clone(x), slices.Clone(r)
	if len(image) == 0 {
		if err := reset(second, y); err != nil {
			return err
		}
	}
	other := make([]sampler.Info, chains)
	for n := range restoredSteps {
		step(first, info, x, r)
		step(second, other, y, again)
		for i := range info {
			at, end := i*sites, (i+1)*sites
			if !slices.Equal(x[at:end], y[at:end]) || math.Float64bits(info[i].Energy) != math.Float64bits(other[i].Energy) {
				return fmt.Errorf("a kernel restored by UnmarshalBinary: chain %d goes to %v (energy %v) in step %d, the one that wrote itself to %v (%v): AppendBinary leaves out something that Step reads, such as an energy",
					i, y[at:end], other[i].Energy, n, x[at:end], info[i].Energy)
			}
		}
	}
	return nil
}

// watched returns the model with a counter of its evaluations. Only one goroutine may use it.
func (s *subject) watched() (*hooked, *int) {
	count := 0
	return &hooked{s.model, func() { count++ }}, &count
}

func checkStop(s *subject) error {
	m, count := s.watched()
	cfg := s.config()
	cfg.Chains, cfg.Workers = 1, 1
	if _, err := s.method.Kernel(s.ctx, m, 1); err != nil {
		return errNothing
	}
	want, err := s.run(s.model, s.method, cfg)
	if err != nil {
		return err
	}
	most, before := 0, 0
	cfg.Warmup = -1
	cfg.Observe = func(int, int, []int32, *sampler.Info) {
		most = max(most, *count-before)
		before = *count
	}
	c, err := sampler.NewChains(s.ctx, m, s.method, cfg)
	if err != nil {
		return err
	}
	before = *count
	if err := c.Run(s.ctx, runDraws); err != nil {
		return err
	}
	for _, after := range []int{1, 2, most + 1, 2*most + 3, 7*most + 1} {
		ctx, cancel := context.WithCancel(s.ctx)
		seen, armed := 0, false
		h := &history{}
		stopped := &hooked{s.model, func() {
			if !armed {
				return
			}
			if seen++; seen == after {
				cancel()
			}
		}}
		cfg := s.config()
		cfg.Chains, cfg.Workers = 1, 1
		c, err := sampler.NewChains(s.ctx, stopped, s.method, observed(h, cfg))
		if err != nil {
			cancel()
			return err
		}
		armed = true
		err = c.Run(ctx, runDraws)
		cancel()
		if seen < after {
			continue // the method never evaluates the model that often
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("context that ends at evaluation %d: Run returns %w", after, err)
		}
		if err == nil && c.Len() < runDraws {
			return fmt.Errorf("context that ends at evaluation %d: Run returns nil after %d of %d draws", after, c.Len(), runDraws)
		}
		if extra := seen - after; err != nil && extra > 2*most {
			return fmt.Errorf("context that ends at evaluation %d: %d evaluations follow, want at most the %d of two steps", after, extra, 2*most)
		}
		armed = false
		if err := c.Run(s.ctx, runDraws-c.Len()); err != nil {
			return err
		}
		h.end(c)
		if err := same(want, h, fmt.Sprintf("stopped at evaluation %d and gone on", after)); err != nil {
			return err
		}
	}
	return nil
}

var errPanic = errors.New("a panic of the model")

func checkPanics(s *subject) error {
	m, count := s.watched()
	if _, err := s.method.Kernel(s.ctx, m, 1); err != nil {
		return errNothing
	}
	cfg := s.config()
	cfg.Chains, cfg.Workers, cfg.Warmup = 8, 1, -1
	c, err := sampler.NewChains(s.ctx, m, s.method, cfg)
	if err != nil {
		return err
	}
	*count = 0
	if err := c.Run(s.ctx, 4); err != nil {
		return err
	}
	total := *count
	if total == 0 {
		return errNothing
	}
	for _, workers := range []int{1, 3} {
		for _, at := range []int{1, total/2 + 1, total - 1} {
			if at < 1 {
				continue
			}
			if err := s.panicked(at, workers, cfg); err != nil {
				return fmt.Errorf("the model panics at evaluation %d, %d workers: %w", at, workers, err)
			}
		}
	}
	return nil
}

// panicked makes a run whose model panics once, at the evaluation with the given number, and then
// continues the run.
func (s *subject) panicked(at, workers int, cfg sampler.Config) error {
	left := newCounter(-1)
	m := &hooked{s.model, func() {
		if left.down() {
			panic(errPanic)
		}
	}}
	cfg.Workers = workers
	c, err := sampler.NewChains(s.ctx, m, s.method, cfg)
	if err != nil {
		return err
	}
	left.set(at)
	var ran error
	v := laws.Panic(func() { ran = c.Run(s.ctx, 4) })
	if v == nil {
		return fmt.Errorf("method Run returns (%v) instead of panicking", ran)
	}
	if err, ok := v.(error); !ok || !errors.Is(err, errPanic) {
		return fmt.Errorf("method Run panics with %q, want an error that wraps the value %q", laws.Text(v), errPanic)
	}
	if err := c.Run(s.ctx, 4); err != nil {
		return fmt.Errorf("a later Run: %w", err)
	}
	return s.atHome(c)
}

// atHome returns an error if the energy that a chain reports is not that of its state.
func (s *subject) atHome(c *sampler.Chains) error {
	sites, _ := s.model.Shape()
	for i, info := range c.Info() {
		if err := s.energyOf("afterwards", i, info.Energy, c.States()[i*sites:(i+1)*sites]); err != nil {
			return err
		}
	}
	return nil
}

// energyOf returns an error if the energy that a chain reports differs from that of its state.
// The tolerance of 10⁻⁹ is far larger than the rounding error of the sums that kernels keep.
func (s *subject) energyOf(what string, chain int, got float64, x []int32) error {
	e := make([]float64, 1)
	s.model.Energy(e, x)
	if math.IsNaN(got) || math.Abs(got-e[0]) <= 1e-9*(1+math.Abs(e[0])) {
		return nil
	}
	return fmt.Errorf("%s: chain %d reports the energy %v at %v, want %v", what, chain, got, x, e[0])
}

func checkFailures(s *subject) error {
	p, err := s.target(s.model)
	if err != nil {
		return err
	}
	sites, levels := s.model.Shape()
	all := laws.States(sites, levels)
	given, first := s.class(p, all)
	if given == nil {
		return errNothing
	}
	e := laws.Energies(s.model)
	// every second state that chains would visit gets a bad energy
	ill, seen := make([]bool, len(given)), 0
	for k, v := range given {
		if k != laws.Index(first, levels) && v > 0 {
			ill[k] = seen%2 == 0
			seen++
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		m := energy.Func{Sites: sites, Levels: levels, E: func(x []int32) float64 {
			k := laws.Index(x, levels)
			if ill[k] {
				return bad
			}
			return e[k]
		}}
		if _, err := s.method.Kernel(s.ctx, m, 1); err != nil {
			return errNothing
		}
		c, err := sampler.NewChains(s.ctx, m, s.method, sampler.Config{Chains: 8, Seed: s.opt.Seed, Warmup: -1, Init: first})
		if err != nil {
			return err
		}
		err = c.Run(s.ctx, 200)
		if err == nil && c.Stats().Invalid == 0 && math.IsNaN(bad) {
			return fmt.Errorf("some states have the energy %v: Run returns nil and no proposal counts as invalid", bad)
		}
		got := make([]float64, 8)
		m.Energy(got, c.States())
		for i, v := range got {
			// a method that does not know energies cannot see −Inf
			unknown := math.IsNaN(c.Info()[i].Energy)
			if math.IsNaN(v) || math.IsInf(v, -1) && !unknown {
				return fmt.Errorf("some states have the energy %v: chain %d has moved to one, %v", bad, i, c.States()[i*sites:(i+1)*sites])
			}
		}
	}
	gone := energy.Func{Sites: sites, Levels: levels, E: func(x []int32) float64 {
		if k := laws.Index(x, levels); k != laws.Index(first, levels) {
			return e[k]
		}
		return math.Inf(1)
	}}
	c, err := sampler.NewChains(s.ctx, gone, s.method, sampler.Config{Chains: 2, Seed: s.opt.Seed, Warmup: -1, Init: first})
	if err != nil {
		return err
	}
	var start *sampler.StartError
	if err := c.Run(s.ctx, 1); !errors.As(err, &start) {
		return fmt.Errorf("the initial state %v has probability zero: Run returns %v, want a *sampler.StartError", first, err)
	}
	return nil
}

func checkWrappers(s *subject) error {
	cfg := s.config()
	want, err := s.run(s.model, s.method, cfg)
	if err != nil {
		return err
	}
	forms := map[string]sampler.Method{"a struct that embeds the method": struct{ sampler.Method }{s.method}}
	if v := reflect.ValueOf(s.method); v.Kind() == reflect.Pointer {
		if m, ok := v.Elem().Interface().(sampler.Method); ok {
			forms["its value"] = m
		}
	} else {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		forms["its pointer"] = p.Interface().(sampler.Method)
	}
	for what, method := range forms {
		got, err := s.run(s.model, method, cfg)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := same(want, got, what); err != nil {
			return err
		}
		for _, pair := range [][2]sampler.Method{{s.method, method}, {method, s.method}} {
			if err := s.exchanged(pair[0], pair[1]); err != nil {
				return fmt.Errorf("%s: a checkpoint of one does not load into the other: %w", what, err)
			}
		}
	}
	got, err := s.run(forwarded{s.model}, s.method, cfg)
	if err != nil {
		return fmt.Errorf("a wrapper around the model: %w", err)
	}
	return same(want, got, "a wrapper around the model")
}

// exchanged saves chains of one method and loads the checkpoint into chains of another method.
func (s *subject) exchanged(from, to sampler.Method) error {
	cfg := s.config()
	a, err := sampler.NewChains(s.ctx, s.model, from, cfg)
	if err != nil {
		return err
	}
	b, err := sampler.NewChains(s.ctx, s.model, to, cfg)
	if err != nil {
		return err
	}
	if err := a.Run(s.ctx, 1); err != nil {
		return err
	}
	var file bytes.Buffer
	if err := a.Save(&file); err != nil {
		return err
	}
	return b.Load(s.ctx, &file)
}

// Digest runs the method on every model of the options and returns a digest of the states. Store it
// in golden files to verify that a seed gives the same states in every release, on every machine
// and instruction set. Models that the method rejects or on which it fails are omitted. It is an
// error if no model remains.
func Digest(ctx context.Context, method sampler.Method, opt Options) (uint64, error) {
	name, err := fill(ctx, method, &opt)
	if err != nil {
		return 0, err
	}
	sum, ran := uint64(offset), 0
	for _, m := range opt.Models {
		if _, err := method.Kernel(ctx, m, 1); err != nil {
			continue
		}
		s := &subject{ctx: ctx, method: method, model: m, opt: opt}
		c, err := sampler.NewChains(ctx, m, method, s.config())
		if err != nil {
			return 0, err
		}
		for range runDraws {
			if err = c.Run(ctx, 1); err != nil {
				break
			}
			for _, l := range c.States() {
				sum = mix(sum, uint64(uint32(l)))
			}
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		// a failed run, such as one of DULA at a state of probability zero, does not count
		if err == nil {
			ran++
		}
	}
	if ran == 0 {
		return 0, fmt.Errorf("samplertest: %s: Digest: the method runs on none of %d models", name, len(opt.Models))
	}
	return sum, nil
}
