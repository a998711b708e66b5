package projection

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Augmented is a [KL] compiled for a shape. Log-weights v and errors about them
// are those of [Exact]. It is safe for concurrent use, for one sample by one
// goroutine at a time, as far as the functions of the constraint are; a
// projection allocates nothing after warm-up unless those do.
type Augmented struct {
	recipe        KL
	smooth        constraint.Smooth
	judge         constraint.Set
	within        *Exact // the language, or all sequences
	free          bool   // there is no language
	sites, levels int
	name          string

	lambda []float64 // by slot, what the last projection of the sample ended with

	mu   sync.Mutex
	idle []*search
}

// Shape returns the number of sites and of levels.
func (a *Augmented) Shape() (sites, levels int) { return a.sites, a.levels }

// Project replaces v by the nearest distribution found whose likeliest sequence
// satisfies the constraint, and returns the largest violation of that sequence,
// at most the tolerance. A v whose likeliest sequence does so already stays as
// it is. src gives the noise. The multipliers begin where the last projection of
// the sample left them (see [Augmented.Reset]).
//
// The error is a *[NotConverged] if no sequence was found, in which case v and
// the violation are the best there were; an *[InfeasibleError] if the language
// alone excludes everything; it wraps the error of ctx, or names a value of the
// constraint that is NaN. In all cases but the first v is unchanged.
func (a *Augmented) Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (violation float64, err error) {
	m := a.smooth.Len()
	if sample < 0 || (sample+1)*m > len(a.lambda) {
		panic(fmt.Sprintf("projection: sample = %d, want one of %d", sample, len(a.lambda)/m))
	}
	s := a.take()
	defer a.give(s)
	_, violation, err = s.project(ctx, s.best, v, a.lambda[sample*m:(sample+1)*m], src)
	return violation, err
}

// Nearest does what Project does, with multipliers that begin anew, stores the
// sequence in x and returns KL(x‖y) in nats beside its largest violation.
func (a *Augmented) Nearest(ctx context.Context, x []int32, v []float32, src rand.Source) (divergence, violation float64, err error) {
	check.Len("projection", "x", len(x), a.sites)
	s := a.take()
	defer a.give(s)
	for j := range s.start {
		s.start[j] = a.recipe.Lambda
	}
	return s.project(ctx, x, v, s.start, src)
}

// Reset forgets the multipliers of a sample.
func (a *Augmented) Reset(sample int) {
	m := a.smooth.Len()
	for j := range m {
		a.lambda[sample*m+j] = a.recipe.Lambda
	}
}

// Copy makes sample dst begin where src left.
func (a *Augmented) Copy(dst, src int) {
	m := a.smooth.Len()
	copy(a.lambda[dst*m:(dst+1)*m], a.lambda[src*m:(src+1)*m])
}

// take returns a search that nobody uses.
func (a *Augmented) take() *search {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.idle); n > 0 {
		s := a.idle[n-1]
		a.idle = a.idle[:n-1]
		return s
	}
	return newSearch(a)
}

// give returns a search to the others.
func (a *Augmented) give(s *search) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle = append(a.idle, s)
}

// violationOf returns the largest of g, NaN if one is.
func violationOf(g []float64) float64 {
	worst := math.Inf(-1)
	for _, v := range g {
		if v != v {
			return v
		}
		worst = max(worst, v)
	}
	return worst
}
