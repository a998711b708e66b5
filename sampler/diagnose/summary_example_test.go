package diagnose_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// traced runs four Gibbs chains on a ring of spins and returns the trace of f.
func traced(draws int, f func(x []int32) float64) *diagnose.Trace {
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	tr := diagnose.NewTrace(f).Name("f")
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Seed: 1, Observe: tr.Observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), draws); err != nil {
		log.Fatal(err)
	}
	return tr
}

// A program that decides by itself whether it has drawn enough asks for the
// warnings.
func ExampleSummary_Warnings() {
	for _, draws := range []int{20, 2000} {
		w := traced(draws, energy.Magnetization).Summary().Warnings()
		fmt.Println(draws, "draws:", len(w) == 0)
		for _, sentence := range w {
			fmt.Println("\t" + sentence)
		}
	}
	// Output:
	// 20 draws: false
	// 	f: R-hat = 1.010 > 1.01: the chains have not mixed
	// 	f: bulk ESS = 79 < 400: estimates are unreliable
	// 	f: tail ESS = 63 < 400: estimates are unreliable
	// 2000 draws: true
}

// A Row holds the figures that the table prints, for a confidence interval for
// instance.
func ExampleRow() {
	r := traced(2000, energy.Magnetization).Summary().Rows[0]
	fmt.Printf("%s = %.3f ± %.3f\n", r.Name, r.Mean.Value, 2*r.MCSE.Value)
	fmt.Printf("90 %% of the draws are in [%.1f, %.1f]\n", r.Q5.Value, r.Q95.Value)
	// Output:
	// f = 0.180 ± 0.013
	// 90 % of the draws are in [-0.6, 0.8]
}

// A figure that cannot be had says why: it is never NaN.
func ExampleEstimate() {
	r := traced(100, func(x []int32) float64 { return float64(len(x)) }).Summary().Rows[0]
	fmt.Println("mean", r.Mean)
	fmt.Println("R-hat", r.RHat, "because", r.RHat.Err)
	// Output:
	// mean 10
	// R-hat – because the series is constant
}

// A program tells the reasons by their errors.
func ExampleEstimate_Defined() {
	rows := []diagnose.Row{
		traced(100, func(x []int32) float64 { return float64(len(x)) }).Summary().Rows[0],
		traced(100, func(x []int32) float64 { return 1e200 * energy.Magnetization(x) }).Summary().Rows[0],
	}
	stream := diagnose.NewStreamingTrace(energy.Magnetization)
	tally, err := diagnose.NewTally(diagnose.TallyConfig{Chains: 1, Draws: 8}, energy.Magnetization)
	if err != nil {
		log.Fatal(err)
	}
	for draw := range 8 {
		x, info := []int32{int32(draw & 1), 1}, &sampler.Info{}
		stream.Observe(0, draw, x, info)
		tally.Observe(0, draw, x, info)
	}
	whole, err := tally.Summary()
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range append(rows, stream.Summary().Rows[0], whole.Rows[0]) {
		for _, why := range []error{diagnose.ErrConstant, diagnose.ErrRange, diagnose.ErrStreaming, diagnose.ErrRanks} {
			if errors.Is(r.ESSBulk.Err, why) || errors.Is(r.SD.Err, why) {
				fmt.Println(r.ESSBulk.Defined(), r.SD.Defined(), why)
			}
		}
	}
	// Output:
	// false true the series is constant
	// true false the variance is outside the range of float64
	// false true not kept in streaming mode
	// false true ranks do not merge
}

// The first draw that is no finite number is named.
func ExampleNotFinite() {
	_, err := diagnose.RHat([][]float64{
		{1, 2, 3, 4},
		{2, 3, math.NaN(), 1},
	})
	var bad *diagnose.NotFinite
	if errors.As(err, &bad) {
		fmt.Println("chain", bad.Chain, "draw", bad.Draw, "value", bad.Value)
	}
	// Output: chain 1 draw 2 value NaN
}
