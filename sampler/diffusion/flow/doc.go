// Package flow samples from flows of reals under constraints that correct where a
// trajectory will end.
//
// A network that predicts the velocity of a flow on straight paths becomes a denoiser by
// denoise.Velocity, and any denoiser of reals is a velocity, E[ε − x_0 | z]. A
// flow without constraints is diffusion.Gaussian with the schedule noise.Straight, whose
// steps are Euler's. [ECI] takes a projector as well:
//
//	d, err := diffusion.New(ctx, model, flow.ECI{}, diffusion.Config{Projector: p})
//
// # Caveats
//
// The distribution of [ECI] is not the model's, even where nothing is constrained,
// because ε is not the noise that the state holds. A standard normal number comes out
// with the variance
//
//	steps                    10    50    200   1000
//	ε drawn anew each round  .40   .47   .49   .50
//	ε kept (PCFM)            2.2   8.7   25    79
//
// as the recursion of the test has it; with Mix 5 and ε kept it is three times as much.
// Directions that the model knows to be narrow suffer less. diffusion.Gaussian with
// noise.Straight and a projector has neither error, and package twisted draws from the
// right conditional distribution.
//
// Products are written float64(a*b) + c: a compiler may fuse them into one rounding
// otherwise, and fused bits differ between processors.
package flow
