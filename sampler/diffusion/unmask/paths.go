package unmask

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// paths go from noise to samples by conditioned steps, each by itself, and weigh
// themselves as diffusion.Particles do.
type paths struct {
	*model
	seed        uint64
	gridSteps   int
	leaveOneOut bool
	steps       []diffusion.Steps[int32]
	joint       []diffusion.Joint

	// By slot.
	state  []int32
	time   []float64
	stream []sampler.Stream
	logW   []float64
	logRho []float64
	slot   []int // of the states that are asked for

	v             []float32
	before, clean []int32
}

// newPaths binds the process once for every slot.
func newPaths(ctx context.Context, m *model, process diffusion.Process[int32], cfg Config, steps int) (*paths, error) {
	n := cfg.Batch
	p := &paths{
		model: m, seed: cfg.Seed, gridSteps: steps, leaveOneOut: energy.LeaveOneOut(m.Denoiser),
		state: make([]int32, n*m.sites), time: make([]float64, n), stream: make([]sampler.Stream, n),
		logW: make([]float64, n), logRho: make([]float64, n), slot: make([]int, n),
		v: make([]float32, n*m.sites*m.levels), before: make([]int32, m.sites), clean: make([]int32, m.sites),
	}
	for range n {
		s, err := process.Bind(ctx, m.sites, m.levels)
		if err != nil {
			return nil, err
		}
		if err := corruption.Check(m.Denoiser, s); err != nil {
			return nil, fmt.Errorf("unmask: %w", err)
		}
		j, ok := s.(diffusion.Joint)
		if !ok {
			return nil, fmt.Errorf("unmask: NewRejection: %T cannot be weighed: it is no diffusion.Joint", process)
		}
		p.steps, p.joint = append(p.steps, s), append(p.joint, j)
	}
	return p, nil
}

// run makes n paths, numbered from first on.
func (p *paths) run(ctx context.Context, first, n int) error {
	for i := range n {
		p.stream[i].Seed(p.seed, uint64(first+i))
		p.steps[i].Prior(p.of(i), &p.stream[i])
		p.time[i], p.logW[i], p.logRho[i] = 1, 0, 0
	}
	for step := 0; ; step++ {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		k := 0
		for i := range n {
			if p.time[i] <= 0 {
				continue
			}
			copy(p.x[k*p.sites:], p.of(i))
			p.t[k], p.a[k] = p.time[i], p.steps[i].Alpha(p.time[i])
			p.sample[k], p.src[k], p.slot[k] = first+i, &p.stream[i], i
			k++
		}
		if k == 0 {
			return nil
		}
		if err := p.predict(ctx, p.v, k); err != nil {
			return fmt.Errorf("unmask: Rejection: denoiser at step %d: %w", step, err)
		}
		size := p.sites * p.levels
		for j, i := range p.slot[:k] {
			if err := p.move(ctx, i, step, p.v[j*size:(j+1)*size]); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fmt.Errorf("unmask: Rejection: path %d, step %d: %w", first+i, step, err)
			}
		}
	}
}

// of returns the state of slot i.
func (p *paths) of(i int) []int32 { return p.state[i*p.sites : (i+1)*p.sites] }

// move makes one step of slot i with its prediction v, which it overwrites. The
// weight grows by Z_C(p(·|x_t))/Z_C(ρ), ρ what the last step took the language to
// be.
func (p *paths) move(ctx context.Context, i, step int, v []float32) error {
	x, r, t, joint := p.of(i), &p.stream[i], p.time[i], p.joint[i]
	joint.Condition(v, x, t, p.leaveOneOut)
	s := p.steps[i].Next(x, t, step, p.gridSteps, r)
	z, err := p.drawer.Draw(ctx, p.clean, v, r)
	if errors.Is(err, constraint.ErrInfeasible) {
		p.logW[i], p.time[i] = math.Inf(-1), 0
		return nil
	}
	if err != nil {
		return err
	}
	p.logW[i] += p.normalise(z, v) - p.logRho[i]
	copy(p.before, x)
	joint.Renoise(x, p.clean, v, t, s, r)
	p.time[i], p.logRho[i] = s, 0
	if s <= 0 {
		return nil
	}
	joint.Reweight(v, p.before, x, t, s)
	z, err = p.drawer.LogZ(ctx, v)
	if err != nil {
		return err
	}
	p.logRho[i] = p.normalise(z, v)
	return nil
}
