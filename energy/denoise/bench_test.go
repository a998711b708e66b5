package denoise_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// BenchmarkMarkovDenoiser times the prediction for one sequence of 32 out of 40
// tokens, of which a share is masked.
func BenchmarkMarkovDenoiser(b *testing.B) {
	const sites, k = 32, 40
	r := rand.New(rand.NewPCG(1, 1))
	for _, order := range []int{1, 2} {
		contexts := k
		if order == 2 {
			contexts = k * k
		}
		m, err := model.NewMarkov(sites, k, order, simplex(r, contexts, 0), simplices(r, contexts, k, 0.5))
		if err != nil {
			b.Fatal(err)
		}
		d, err := denoise.NewMarkov(m, denoise.Absorbing)
		if err != nil {
			b.Fatal(err)
		}
		for _, masked := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("order=%d/masked=%d", order, masked), func(b *testing.B) {
				q := energy.Noised[int32]{X: make([]int32, sites), Time: make([]float64, 1), Alpha: make([]float64, 1), Sample: make([]int, 1), Src: make([]rand.Source, 1)}
				for j := range masked {
					q.X[j*sites/masked] = k
				}
				v := make([]float32, sites*(k+1))
				for b.Loop() {
					_ = d.Denoise(context.Background(), v, q)
				}
			})
		}
	}
}
