package diffusion

import (
	"cmp"
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Defaults of Corrected: one move before each step, whose variance is off by a twentieth at pure
// noise (see Corrected).
const (
	defaultMoves = 1
	defaultSize  = 0.1
	mostMoves    = 1 << 10 // bounds the number of steps of a sample
)

// Corrected is a process of reals with Langevin moves between the steps of another process (Song et
// al. 2021b, algorithm 5; Cardei et al. 2025, eq. 3). Before each step of Process, it makes some
// moves that leave the time t unchanged:
//
//	x ← x + γ·score + √(2γ)·noise,  score = (√ᾱ·x̂_0 − x)/(1−ᾱ),  γ = Size·(1−ᾱ).
//
// The field Moves is the number of these moves. Here ᾱ is the signal level at t (see
// [noise.Schedule]). The prediction x̂_0 is made from x and projected if there is a projector. If
// predictions are exact, small moves correct errors of earlier steps and nearly keep the
// distribution of x_t. Their error is of the order of Size: at pure noise, their stationary
// variance is 1/(1 − Size/2).
//
// A sample of n steps takes n·(Moves + 1) predictions. Config.ProjectEvery and the step numbers in
// a [Snapshot] count moves as steps.
type Corrected struct {
	Process Process[float32] // process to which the moves are added; nil means Gaussian{}

	Moves int     // number of moves before each step, at most 1024; 0 means 1
	Size  float64 // size of a move as a fraction of 1−ᾱ, in (0, 1]; 0 means 0.1
}

// Bind returns steps that make Langevin moves before each step of the field Process. It returns an
// error if a field is out of range or Process cannot be bound. It implements [Process].
func (p Corrected) Bind(ctx context.Context, sites, levels int) (Steps[float32], error) {
	if p.Process == nil {
		p.Process = Gaussian{}
	}
	p.Moves, p.Size = cmp.Or(p.Moves, defaultMoves), cmp.Or(p.Size, defaultSize)
	if err := cmp.Or(
		checkShape("Corrected", sites, levels),
		check.If(p.Moves < 1 || p.Moves > mostMoves, "diffusion: Corrected: Moves = %d, want 1 … %d", p.Moves, mostMoves),
		check.If(!(p.Size > 0 && p.Size <= 1), "diffusion: Corrected: Size = %v, want > 0 and ≤ 1", p.Size),
		check.Given("diffusion: Corrected", "Process", p.Process),
	); err != nil {
		return nil, err
	}
	steps, err := p.Process.Bind(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	return &corrected{Steps: steps, moves: p.Moves, size: p.Size}, nil
}

// corrected holds the steps of a [Corrected] process.
type corrected struct {
	Steps[float32]
	moves  int
	size   float64
	moving bool // whether the step that Next announced is a move
}

// MaxSteps returns the largest number of moves and steps that a sample may take if a run requests
// the given number of steps. It implements [Clocked].
func (p *corrected) MaxSteps(steps int) int {
	most := slots.MaxSteps(p.Steps, steps)
	if most > math.MaxInt/(p.moves+1) {
		return math.MaxInt
	}
	return most * (p.moves + 1)
}

// Next returns t if a Langevin move comes next, and otherwise the time after the next step of the
// wrapped process. It implements [Steps].
func (p *corrected) Next(x []float32, t float64, step, steps int, r *sampler.Stream) float64 {
	every := p.moves + 1
	if p.moving = step%every < p.moves; p.moving {
		return t
	}
	return p.Steps.Next(x, t, step/every, steps, r)
}

// Reverse makes a move or a step of the wrapped process, whichever the last call of Next announced.
// It implements [Steps].
func (p *corrected) Reverse(x []float32, raw, v []float32, t, s float64, r *sampler.Stream) error {
	if !p.moving || s < t {
		return p.Steps.Reverse(x, raw, v, t, s, r)
	}
	alpha := p.Alpha(t)
	signal, spread := math.Sqrt(alpha), math.Sqrt(float64(2*p.size)*(1-alpha))
	spare, has := 0.0, false
	for i, z := range x {
		if v[i]-v[i] != 0 { // true for ±Inf and NaN
			return &PredictionError{Site: i}
		}
		noise := spare
		if !has {
			noise, spare = normal.Pair(r)
		}
		has = !has
		towards := float64(signal*float64(v[i])) - float64(z)
		x[i] = float32(float64(z) + float64(p.size*towards) + float64(spread*noise))
	}
	return nil
}
