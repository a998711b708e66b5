package diffusion_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

// Guidance at the posterior inside Tempered is refused where a runner is made, and so are
// wrong settings of what is inside.
func TestGuidanceInsideTempered(t *testing.T) {
	table := exact.Must(denoise.NewTable(exact.NewRugged(3, 2, 1, 0, 9), denoise.Absorbing))
	judge := diffusion.ExactClassifier{Model: exact.NewRugged(3, 3, 1, 0, 4)}
	for what, inside := range map[string]energy.Denoiser[int32]{
		"ClassifierFree: AtPosterior = true inside another denoiser":   diffusion.ClassifierFree{Conditional: table, Unconditional: table, Scale: 1, AtPosterior: true},
		"ClassifierGuided: AtPosterior = true inside another denoiser": diffusion.ClassifierGuided{Denoiser: table, Classifier: judge, Scale: 1, AtPosterior: true},
		"ClassifierFree: Scale = -1":                                   diffusion.ClassifierFree{Conditional: table, Unconditional: table, Scale: -1},
		"ClassifierGuided: Denoiser and Classifier must be set":        diffusion.ClassifierGuided{Denoiser: table, Scale: 1},
	} {
		d := denoise.Tempered{Denoiser: inside, Temperature: 0.5, Without: []int32{2}}
		_, err := diffusion.New(context.Background(), energy.Denoiser[int32](d), diffusion.Masked{Mask: 2}, diffusion.Config{})
		require.ErrorContains(t, err, "denoise: Tempered: diffusion: "+what)
		_, err = unmask.NewBacktrack(context.Background(), d, unmask.BacktrackConfig{Mask: 2})
		require.ErrorContains(t, err, "denoise: Tempered: diffusion: "+what)
	}
	fine := denoise.Tempered{Denoiser: diffusion.ClassifierFree{Conditional: table, Unconditional: table, Scale: 2}, Temperature: 0.5, Without: []int32{2}}
	_, err := diffusion.New(context.Background(), energy.Denoiser[int32](fine), diffusion.Masked{Mask: 2}, diffusion.Config{})
	require.NoError(t, err)
}
