package lagrange

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Projection is a [Projector] compiled for given numbers of sites and levels. In its methods, v
// holds log-weights (sites × levels), with the same meaning and errors as in
// [projection.PathProjection]. Different samples may be projected concurrently if the functions of
// the constraint may be called concurrently. One sample must be projected by one goroutine at a
// time. After warm-up, Project allocates nothing unless those functions do.
type Projection struct {
	target

	lambda []float64 // for each sample, the multipliers at the end of its last projection

	idle scratch.Stock[search]
}

// Shape returns the number of sites and of levels.
func (a *Projection) Shape() (sites, levels int) { return a.sites, a.levels }

// Project searches for the distribution nearest to v whose likeliest sequence satisfies the
// constraint. It stores the log-weights of this distribution in v. It returns the largest violation
// of the constraint by that sequence, which is at most the tolerance. If the likeliest sequence
// under v already satisfies the constraint, v does not change. Noise is drawn from src. The search
// starts from the multipliers of the sample's last projection (see [Projection.Reset]).
//
// If no sequence was found, the error is a *[projection.NotConverged], and v and the violation
// describe the best attempt. After any other error, v is unchanged. The error is an
// *[projection.InfeasibleError] if no sequence is in the language of the field Path. Otherwise it
// wraps the error of ctx, or names a value of the constraint that is NaN.
func (a *Projection) Project(ctx context.Context, sample int, v []float32, start, end float64, src rand.Source) (violation float64, err error) {
	m := a.smooth.Len()
	if sample < 0 || (sample+1)*m > len(a.lambda) {
		panic(fmt.Sprintf("lagrange: sample = %d, want one of %d", sample, len(a.lambda)/m))
	}
	s := a.take()
	defer a.give(s)
	_, violation, err = s.project(ctx, s.best, v, a.lambda[sample*m:(sample+1)*m], src)
	return violation, err
}

// Nearest is like Project, but starts from multipliers of zero and also stores in x the sequence
// that it finds. It returns the divergence KL(p‖q) in nats, where p is the given distribution and q
// the new distribution. It also returns the largest violation of the constraint by x.
func (a *Projection) Nearest(ctx context.Context, x []int32, v []float32, src rand.Source) (divergence, violation float64, err error) {
	check.Len("lagrange", "x", len(x), a.sites)
	s := a.take()
	defer a.give(s)
	clear(s.start)
	return s.project(ctx, x, v, s.start, src)
}

// Reset makes the next projection of a sample start from multipliers of zero, instead of those of
// its last projection. The sample must not be projected at the same time. Reset panics unless 0 ≤
// sample < samples, where samples is the argument of Bind.
func (a *Projection) Reset(sample int) {
	m := a.smooth.Len()
	clear(a.lambda[sample*m : (sample+1)*m])
}

// Copy copies the Lagrange multipliers of sample src to sample dst. Use it when particles are
// resampled. Neither sample may be projected at the same time.
func (a *Projection) Copy(dst, src int) {
	m := a.smooth.Len()
	copy(a.lambda[dst*m:(dst+1)*m], a.lambda[src*m:(src+1)*m])
}

// take returns a search that is not in use.
func (a *Projection) take() *search {
	return a.idle.Take(func() *search { return newSearch(&a.target) })
}

// give returns a search for reuse.
func (a *Projection) give(s *search) { a.idle.Give(s) }
