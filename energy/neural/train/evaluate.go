package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

// evaluated is the number of states in one job of [Evaluate].
const evaluated = 16

// mostDraws is the largest number of corruptions per state; a larger number is certainly a
// mistake.
const mostDraws = 1 << 30

// Evaluate returns an estimate of the mean of the objective over data, in nats per state, and its
// standard error. The argument data holds rows of Length tokens. Each row is corrupted the given
// number of times (draws), at most 2³⁰; a value below 1 means 1. The standard error covers both the
// corruptions and the choice of data. The number of workers (goroutines) does not affect the
// result; a value below 1 means 1. Evaluate ends early with an error if ctx ends.
func Evaluate(ctx context.Context, net *neural.Transformer, objective Objective, data []int32, draws int, seed uint64, workers int) (mean, stderr float64, err error) {
	p, err := tokenProblem(net, objective, data)
	if err != nil {
		return 0, 0, err
	}
	return p.evaluate(ctx, net, draws, seed, workers)
}

// EvaluateReals estimates the mean squared error per entry of a network of reals, over data in rows
// of Length × Channels numbers. All other arguments are as in [Evaluate].
func EvaluateReals(ctx context.Context, net *neural.Transformer, objective RealObjective, data []float32, draws int, seed uint64, workers int) (mean, stderr float64, err error) {
	p, err := realProblem(net, objective, data)
	if err != nil {
		return 0, 0, err
	}
	return p.evaluate(ctx, net, draws, seed, workers)
}

// Losses returns the loss of every row of data; [Evaluate] returns the mean of these losses. The
// corruptions depend only on the seed and the index of the row, so they are the same for all
// networks. To compare two networks, subtract their losses: the noise of the corruptions nearly
// cancels.
func Losses(ctx context.Context, net *neural.Transformer, objective Objective, data []int32, draws int, seed uint64, workers int) ([]float64, error) {
	p, err := tokenProblem(net, objective, data)
	if err != nil {
		return nil, err
	}
	return p.losses(ctx, net, draws, seed, workers)
}

func (p *problem) evaluate(ctx context.Context, net *neural.Transformer, draws int, seed uint64, workers int) (mean, stderr float64, err error) {
	loss, err := p.losses(ctx, net, draws, seed, workers)
	if err != nil {
		return 0, 0, err
	}
	n := float64(len(loss))
	for _, v := range loss {
		mean += v
	}
	mean /= n
	for _, v := range loss {
		stderr += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(stderr / max(1, n-1) / n), nil
}

func (p *problem) losses(ctx context.Context, net *neural.Transformer, draws int, seed uint64, workers int) ([]float64, error) {
	if draws > mostDraws {
		return nil, fmt.Errorf("train: Evaluate: draws = %d, want ≤ %d", draws, mostDraws)
	}
	n := p.rows
	jobs := (n + evaluated - 1) / evaluated
	draws, workers = max(draws, 1), min(max(workers, 1), jobs)
	loss := make([]float64, n)
	free := make(chan *shard, workers)
	for range workers {
		free <- newShard(net, p, 1, false)
	}
	pool.Each(workers, jobs, func(j int) {
		if poll.Err(ctx) != nil {
			return
		}
		s := <-free
		for i := j * evaluated; i < min(n, (j+1)*evaluated); i++ {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for d := range draws {
				if poll.Err(ctx) != nil {
					break
				}
				// convert explicitly, so that no compiler fuses the product with
				// the sum
				v := float64(r.Float64())
				u := (float64(d) + v) / float64(draws)
				loss[i] += s.run(1, func(int) (int, float64, *rand.Rand) { return i, u, r }, 0)
			}
			loss[i] /= float64(draws)
		}
		free <- s
	})
	if err := poll.Err(ctx); err != nil {
		return nil, err
	}
	return loss, nil
}
