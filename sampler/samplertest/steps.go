package samplertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// counter counts down to an event. Several goroutines may use it.
type counter struct{ left atomic.Int64 }

func newCounter(n int) *counter {
	c := &counter{}
	c.set(n)
	return c
}

func (c *counter) set(n int) { c.left.Store(int64(n)) }

// down reports whether this is call number n since set(n).
func (c *counter) down() bool { return c.left.Add(-1) == 0 }

func checkArguments(s *subject) error {
	if _, err := s.method.Kernel(s.ctx, nil, 1); err == nil {
		return fmt.Errorf("Kernel(ctx, nil, 1) returns no error")
	}
	for _, chains := range []int{-1, 0, sampler.BlockSize + 1} {
		if _, err := s.method.Kernel(s.ctx, s.model, chains); err == nil {
			return fmt.Errorf("Kernel(ctx, m, %d) returns no error, want 1 … %d chains", chains, sampler.BlockSize)
		}
	}
	return nil
}

func checkReports(s *subject) error {
	p, err := s.target(s.model)
	if err != nil && s.opt.Target == nil {
		return err
	}
	if err != nil {
		p = uniform(s)
	}
	sites, levels := s.model.Shape()
	k, err := s.method.Kernel(s.ctx, s.model, sampler.BlockSize)
	if err != nil {
		return err
	}
	x, info, r := make([]int32, sampler.BlockSize*sites), make([]sampler.Info, sampler.BlockSize), streams(s.opt.Seed)
	draw(x, p, sites, levels, rand.New(rand.NewPCG(s.opt.Seed, 3)))
	if err := reset(k, x); err != nil {
		return err
	}
	unknown, changed := 0, 0
	for t := 1; t <= 50; t++ {
		before := slices.Clone(x)
		step(k, info, x, r)
		for i := range info {
			from, to := before[i*sites:(i+1)*sites], x[i*sites:(i+1)*sites]
			if info[i].Err != nil {
				return fmt.Errorf("step %d from %v: %w", t, from, info[i].Err)
			}
			if math.IsNaN(info[i].Energy) {
				unknown++
			}
			if err := s.energyOf(fmt.Sprintf("step %d", t), i, info[i].Energy, to); err != nil {
				return err
			}
			if a := info[i].Accept; !(a >= 0 && a <= 1) {
				return fmt.Errorf("step %d, chain %d: Accept = %v, want within [0, 1]", t, i, a)
			}
			n := 0
			for j := range from {
				if from[j] != to[j] {
					n++
				}
			}
			changed += n
			if got := info[i].Moved; got < n || levels == 2 && (got-n)%2 != 0 {
				return fmt.Errorf("step %d, chain %d: Moved = %d where %d sites differ, from %v to %v: on two levels want that number or an even number more, as sites change and change back", t, i, got, n, from, to)
			}
		}
	}
	if unknown != 0 && unknown != 50*sampler.BlockSize {
		return fmt.Errorf("Energy is NaN in %d of %d reports, want all or none", unknown, 50*sampler.BlockSize)
	}
	if changed == 0 {
		return fmt.Errorf("no site changes in 50 steps of %d chains", sampler.BlockSize)
	}
	return nil
}

// uniform returns the uniform distribution on the states of finite energy in Options.Support.
func uniform(s *subject) []float64 {
	w := laws.Energies(s.model)
	for k, x := range laws.States(s.model.Shape()) {
		e := w[k]
		if w[k] = 0; math.IsInf(e, 1) || s.opt.Support != nil && !s.opt.Support(x) {
			w[k] = math.Inf(-1)
		}
	}
	laws.Normalize(w)
	return w
}

func checkAllocations(s *subject) error {
	const chains = 4
	k, err := s.method.Kernel(s.ctx, s.model, chains)
	if err != nil {
		return err
	}
	p, err := s.target(s.model)
	if err != nil && s.opt.Target == nil {
		return err
	}
	if err != nil {
		p = uniform(s)
	}
	sites, levels := s.model.Shape()
	x, info, r := make([]int32, chains*sites), make([]sampler.Info, chains), streams(s.opt.Seed)[:chains]
	draw(x, p, sites, levels, rand.New(rand.NewPCG(s.opt.Seed, 4)))
	if err := reset(k, x); err != nil {
		return err
	}
	if n := laws.Allocations(func() { step(k, info, x, r) }); n > 0 {
		return fmt.Errorf("%v allocations in a step, want none", n)
	}
	return nil
}

// reset and step are the only direct calls of kernel methods; all other calls go through a
// runner.

// reset resets a kernel to the states x.
func reset(k sampler.Kernel, x []int32) error { return k.Reset(sampler.Control{}, x) }

// step makes one whole step whose states and reports can be read afterwards.
func step(k sampler.Kernel, info []sampler.Info, x []int32, r []sampler.Stream) {
	k.Step(sampler.Control{}, info, x, r)
}
