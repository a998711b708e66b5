package denoise

import (
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Ancestral predicts by a draw of x_0 given x_t in place of its mean. A reverse
// step of diffusion.Gaussian, whatever its Eta, that is led by such a draw is a
// draw of x_s given x_t: the samples have the distribution of the mixture at any
// number of steps, if the schedule begins with pure noise. Of
// [continuous.Mixture.Where] it makes samples given equations. It is safe for
// concurrent use.
type Ancestral struct{ prior *continuous.Mixture }

// NewAncestral returns the denoiser that draws. The error says that m is nil.
func NewAncestral(m *continuous.Mixture) (*Ancestral, error) {
	if m == nil {
		return nil, fmt.Errorf("denoise: NewAncestral: m is nil")
	}
	return &Ancestral{m}, nil
}

// Shape returns the number of sites and 1.
func (a *Ancestral) Shape() (sites, levels int) { return a.prior.Sites(), 1 }

// Denoise implements [energy.Denoiser], with random numbers of q.Src. Clean
// entries are an error: condition the mixture on them by Where.
func (a *Ancestral) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	q.States(a.prior.Sites())
	check.Len("denoise", "v", len(v), len(q.X))
	if err := poll.Err(ctx); err != nil {
		return err
	}
	if slices.Contains(q.Clean, true) {
		return fmt.Errorf("denoise: Ancestral: clean entries, want none: condition the mixture on them by Where")
	}
	a.prior.DrawPosterior(v, q.X, q.Alpha, q.Src)
	return nil
}
