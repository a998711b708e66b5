package noise_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// show prints how much of the signal is left at five times, and when half is.
func show(c noise.Schedule) {
	for _, t := range []float64{0, 0.25, 0.5, 0.75, 1} {
		fmt.Printf("%.4f ", c.Alpha(t))
	}
	fmt.Printf("half at %.3f\n", c.Time(0.5))
}

// Tokens are masked at a constant rate.
func ExampleLogLinear() {
	show(noise.LogLinear{})
	// Output:
	// 1.0000 0.7502 0.5005 0.2508 0.0010 half at 0.501
}

// Few tokens are masked at first.
func ExampleCosine() {
	show(noise.Cosine{})
	// Output:
	// 1.0000 0.9240 0.7074 0.3833 0.0010 half at 0.667
}

// Few tokens are masked at first, and few are left to mask at the end.
func ExampleCosineSquared() {
	show(noise.CosineSquared{})
	// Output:
	// 1.0000 0.8537 0.5005 0.1473 0.0010 half at 0.500
}

// σ grows evenly: most of the signal is gone early.
func ExampleLinearSigma() {
	show(noise.LinearSigma{Max: 5})
	// Output:
	// 1.0000 0.2865 0.0821 0.0235 0.0067 half at 0.139
}

// σ grows by the same factor in equal times.
func ExampleGeometricSigma() {
	show(noise.GeometricSigma{})
	show(noise.GeometricSigma{Max: 5})
	// Output:
	// 1.0000 0.9882 0.8681 0.1860 0.0000 half at 0.660
	// 1.0000 0.9916 0.9317 0.5518 0.0067 half at 0.768
}

// The schedule of DDPM, for reals.
func ExampleLinearBeta() {
	show(noise.LinearBeta{})
	fmt.Println(noise.LinearBeta{From: 2}.Check())
	// Output:
	// 1.0000 0.5241 0.0786 0.0034 0.0000 half at 0.259
	// noise: LinearBeta: From = 2, To = 0.02, Steps = 1000, want β in (0, 1) and Steps ≥ 1
}

// Half of the signal is left half-way, unlike with LinearBeta.
func ExampleCosineBar() {
	show(noise.CosineBar{})
	// Output:
	// 1.0000 0.8470 0.4938 0.1443 0.0000 half at 0.496
}

// Steeper in the middle as τ falls, and at the start with b = 0; MinAlpha is where it ends.
func ExampleSigmoidBar() {
	show(noise.SigmoidBar{})
	show(noise.SigmoidBar{Tau: 0.5})
	show(noise.SigmoidBar{End: 3, MinAlpha: 0.01})
	// Output:
	// 1.0000 0.8509 0.5000 0.1491 0.0000 half at 0.500
	// 1.0000 0.9548 0.5000 0.0452 0.0000 half at 0.500
	// 1.0000 0.6041 0.2983 0.1059 0.0100 half at 0.325
}

// Flow matching: in the middle of a straight path signal and noise are alike.
func ExampleStraight() {
	show(noise.Straight{})
	// Output:
	// 1.0000 0.9000 0.5000 0.1000 0.0000 half at 0.500
}

// The signal-to-noise ratio is proportional to the time left, or to a power of it.
func ExamplePolynomialSNR() {
	show(noise.PolynomialSNR{Power: 1, Max: 50})
	show(noise.PolynomialSNR{MinAlpha: 1e-6})
	// Output:
	// 1.0000 0.9740 0.9615 0.9259 0.0000 half at 0.980
	// 1.0000 0.9997 0.9984 0.9750 0.0000 half at 0.900
}
