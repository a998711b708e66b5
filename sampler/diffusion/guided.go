package diffusion

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// guided is what a runner keeps for guidance at the posterior.
type guided struct {
	scale      float64
	other      energy.Denoiser[int32] // of classifier-free guidance, or nil
	classifier Classifier             // or nil
	table      []float32              // predictions of other, a block per slot
	post, tab  [][]float32            // by worker: sites × levels
}

// predict asks the other denoiser for the same states.
func (g *guided) predict(ctx context.Context, size int, q energy.Noised[int32]) error {
	if g.other == nil {
		return nil
	}
	return g.other.Denoise(ctx, g.table[:size], q)
}

// reverse moves x by a guided step of f. other is the conditioned prediction
// without the condition, if there is a denoiser for it.
func (g *guided) reverse(w int, f Factorised, x []int32, raw, other []float32, t, s float64, r *sampler.Stream) error {
	post, tab := g.post[w], g.tab[w]
	f.Posterior(post, raw, x, t, s)
	if g.other != nil {
		f.Posterior(tab, other, x, t, s)
		blend(post, tab, g.scale)
	} else {
		if err := g.classifier.Table(tab, x, t); err != nil {
			return err
		}
		lean(post, tab, g.scale)
	}
	levels := len(post) / len(x)
	for j := range x {
		l, err := drawRow(post, j, levels, r)
		if err != nil {
			return err
		}
		x[j] = l
	}
	return nil
}
