// Package neural provides diffusion transformers and denoisers that use them. The weights of a
// network are trained by package energy/neural/train or read from .safetensors files, including the
// public MDLM, UDLM and SEDD checkpoints. The package also has two energies. [Potential] is a
// residual network. [Posterior] is the posterior distribution of a network's binary weights.
//
// A [Transformer] holds a network's weights. [Masked], [Uniform], [Ratio] and [Reals] turn it into
// an [energy.Denoiser]:
//
//	net, err := neural.Open("model.safetensors", neural.Config{Length: 128, Heads: 12})
//	model, err := neural.NewMasked(net, mask, neural.Options{TimeFree: true})
//	d, err := diffusion.New(ctx, model, diffusion.Masked{Mask: mask}, diffusion.Config{})
//
// There are three ways to guide samples. [Transformer.Given] returns a network with classes
// ([Config.Classes]) for one class, for diffusion.ClassifierFree. A [Classifier] of noisy tokens
// serves diffusion.ClassifierGuided. A [Scorer] computes a number for each clean state and the
// gradient of this number, for use in a constraint.Score.
//
// A network may have the noise level as an input. [Options] sets it as a function of the time and
// the signal level.
//
// # Caveats
//
// Predictions have the same bits for any number of workers and any batch. They use matrix products,
// so they are reproducible only on processors with the same vector instructions (see the package
// doc of sampler).
package neural
