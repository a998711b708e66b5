// Package denoise provides exact denoisers. A denoiser predicts a clean state from a noisy state.
// Exact denoisers serve as priors for diffusions and as references in tests.
//
// For tokens, the noise is masking or uniform replacement ([Corruption]). [Table] sums over all
// states of a small model, [Factored] over the states of a graph of low tree-width. [Markov] and
// [HMM] use the forward–backward algorithm. [Independent] treats each site separately.
//
// For reals, [Mixture] is the denoiser of a mixture of Gaussians, [Autoregressive] of long Gaussian
// series, and [Windows] of a data set. A mixture or a data set can be conditioned exactly on linear
// equations ([continuous.Mixture.Where], [Windows.Where]). With [Ancestral], diffusions draw from a
// mixture exactly. [Velocity] turns a predictor of velocities, such as a flow, into a denoiser.
//
// [Likelihood] and [RealLikelihood] compute the probability of a state under the distribution that
// a diffusion generates with any denoiser, exact or not.
//
// Each denoiser implements [energy.Denoiser] and documents the cost of a prediction. All are safe
// for concurrent use.
package denoise
