// Package denoise holds exact denoisers: what diffusions are tested with, and
// useful priors of their own.
//
// For tokens, [Table] sums over all states of a small model,
// [Markov] and [HMM] use forward–backward and [Independent] needs
// nothing of the kind; a [Corruption] says how their tokens were corrupted.
// For reals, [Mixture] is the denoiser of a mixture of Gaussians,
// [Autoregressive] of long Gaussian series and [Windows] of a data set. Given
// linear equations a mixture and a data set are known in closed form
// ([continuous.Mixture.Where], [Windows.Where]); [Ancestral] makes reverse steps
// exact. [Velocity] is the denoiser of a network that predicts velocities.
//
// Each satisfies [energy.Denoiser] and documents what a prediction costs. All
// are safe for concurrent use.
//
// A product that enters a sum is written float64(a*b) + c, because a compiler
// may fuse the two otherwise, and fused bits differ between processors.
package denoise
