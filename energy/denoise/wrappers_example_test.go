package denoise_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// days is a chain of eight tokens that rarely changes; 2 is the mask.
func days() *denoise.Markov {
	m, err := model.NewMarkov(8, 2, 1, []float64{0.5, 0.5}, []float64{0.8, 0.2, 0.2, 0.8})
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewMarkov(m, denoise.Absorbing)
	if err != nil {
		panic(err)
	}
	return d
}

// Lower temperatures change less often than the chain.
func ExampleTempered() {
	for _, temperature := range []float64{1, 0.5} {
		cold := denoise.Tempered{Denoiser: days(), Temperature: temperature, TopP: 0.95, Without: []int32{2}}
		d, err := diffusion.New(context.Background(), cold, diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		const n = 500
		x := make([]int32, n*8)
		if err := d.Sample(context.Background(), x); err != nil {
			fmt.Println(err)
			return
		}
		changes := 0
		for i, l := range x {
			if i%8 > 0 && l != x[i-1] {
				changes++
			}
		}
		fmt.Printf("temperature %v: %.1f changes\n", temperature, float64(changes)/n)
	}
	// Output:
	// temperature 1: 1.4 changes
	// temperature 0.5: 0.6 changes
}

// Only the likeliest token of each site stays, the first of equals: every sample is one of
// the two most likely sequences.
func ExampleTempered_Denoise() {
	first := denoise.Tempered{Denoiser: days(), TopK: 1, Without: []int32{2}}
	d, err := diffusion.New(context.Background(), first, diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]int32, 2*8)
	err = d.Sample(context.Background(), x)
	fmt.Println(x[:8], x[8:], err)
	// Output:
	// [0 0 0 0 0 0 0 0] [0 0 0 0 0 0 0 0] <nil>
}

// What 100 samples ask of a denoiser, and how much of it a cache answers.
func ExampleMetered() {
	m, err := denoise.NewMetered(days(), 2, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := diffusion.New(context.Background(), m, diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := d.Sample(context.Background(), make([]int32, 100*8)); err != nil {
		fmt.Println(err)
		return
	}
	c := m.Cost()
	fmt.Printf("%d calls, %d states, %d from the cache\n", c.Calls, c.Rows, c.Hits)
	// Output:
	// 16 calls, 800 states, 129 from the cache
}

// Two steps of eight samples without a cache: every state is asked for.
func ExampleCost() {
	m, err := denoise.NewMetered(days(), 2, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := diffusion.New(context.Background(), m, diffusion.Masked{Mask: 2}, diffusion.Config{Steps: 2, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := d.Sample(context.Background(), make([]int32, 8*8)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", m.Cost())
	// Output:
	// {Calls:2 Rows:16 Asked:16 Hits:0 Shown:0}
}
