package scored

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// many is a drawer whose draws can share their sums.
type many interface {
	// Sample fills dst with independent draws, as by Draw.
	Sample(ctx context.Context, dst []int32, v []float32, src rand.Source) (logZ float64, err error)
}

// member is a drawer that knows its members.
type member interface{ Accepts(x []int32) bool }

// language is what completions are drawn within.
type language struct {
	slots.Drawer
	many   many   // nil if there is none
	member member // nil if there is none
}

// bindLanguage makes the language of a projector.
func bindLanguage(ctx context.Context, p diffusion.Projector, sites, levels, samples int) (*language, error) {
	projection, err := p.Bind(ctx, sites, levels, samples)
	if err != nil {
		return nil, err
	}
	l := &language{}
	if l.Drawer, err = slots.DrawerOf("scored: Config.Within", projection); err != nil {
		return nil, err
	}
	l.many, _ = projection.(many)
	l.member, _ = projection.(member)
	return l, nil
}

// fill fills dst with draws from the rows of v within the language.
func (l *language) fill(ctx context.Context, dst []int32, v []float32, sites int, src rand.Source) (logZ float64, err error) {
	if l.many != nil {
		return l.many.Sample(ctx, dst, v, src)
	}
	for ; len(dst) > 0; dst = dst[sites:] {
		if logZ, err = l.Draw(ctx, dst[:sites], v, src); err != nil {
			return 0, err
		}
	}
	return logZ, nil
}

// accepts reports whether x is in the language, where v is a table whose rows are
// those of x except for one site.
func (l *language) accepts(ctx context.Context, x []int32, v []float32) (bool, error) {
	if l.member != nil {
		return l.member.Accepts(x), nil
	}
	_, err := l.LogZ(ctx, v)
	if errors.Is(err, constraint.ErrInfeasible) {
		return false, nil
	}
	return err == nil, err
}
