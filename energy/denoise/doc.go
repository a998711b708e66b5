// Package denoise provides exact denoisers. They serve as priors for diffusions and as references
// in tests.
//
// For tokens, [Table] sums over all states of a small model, [Factored] over the states of a graph
// of low width, [Markov] and [HMM] use forward–backward, and [Independent] treats sites
// separately. Their [Corruption] is masking or uniform noise.
//
// For reals, [Mixture] is the denoiser of a mixture of Gaussians, [Autoregressive] that of long
// Gaussian series, and [Windows] that of a data set. Conditioning a mixture or a data set on
// linear equations is exact ([continuous.Mixture.Where], [Windows.Where]). [Ancestral] makes
// reverse steps exact. [Velocity] turns a predictor of velocities into a denoiser.
//
// [Likelihood] and [RealLikelihood] compute the probability of a state under the distribution
// that a diffusion generates with a denoiser, exact or not.
//
// Each denoiser implements [energy.Denoiser] and documents the cost of a prediction. All are safe
// for concurrent use.
package denoise
