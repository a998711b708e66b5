// Package denoise holds exact denoisers, which serve as priors for diffusions and as
// references to test them against.
//
// For tokens, [Table] sums over all states of a small model, [Markov] and [HMM] use
// forward–backward, and [Independent] treats sites separately. Their [Corruption] is masking or
// uniform noise. For reals, [Mixture] is the denoiser of a mixture of Gaussians, [Autoregressive]
// that of long Gaussian series, and [Windows] that of a data set. Conditioning a mixture or a
// data set on linear equations is exact ([continuous.Mixture.Where], [Windows.Where]).
// [Ancestral] makes reverse steps exact. [Velocity] turns a predictor of velocities into a
// denoiser. [Likelihood] and [RealLikelihood] compute how probable a state is under the
// distribution that a diffusion generates with a denoiser, exact or not.
//
// Each satisfies [energy.Denoiser] and documents what a prediction costs. All
// are safe for concurrent use.
package denoise
