// Package neural holds networks that predict: diffusion transformers whose
// weights are trained here (package energy/neural/train) or read from
// .safetensors files, among them the public MDLM, UDLM and SEDD checkpoints, and
// the denoisers made of them; also [Potential], a residual network as an energy, and
// [Posterior], the binary weights of a network given data, as one.
//
// A [Transformer] is weights. [Masked], [Uniform], [Ratio] and [Reals] turn one
// into an [energy.Denoiser]:
//
//	net, err := neural.Open("model.safetensors", neural.Config{Length: 128, Heads: 12})
//	model, err := neural.NewMasked(net, mask, neural.Options{TimeFree: true})
//	d, err := diffusion.New(ctx, model, diffusion.Masked{Mask: mask}, diffusion.Config{})
//
// What a network was conditioned on is its noise level, a function of the time
// and the signal level: see [Options].
//
// # Caveats
//
// Predictions are tables built by matrix products: the same bits for any number
// of workers and any batch, but reproducible per dispatch level of the processor
// only (see the package doc of sampler).
//
// A product that enters a sum is written float32(a*b) + c, because a compiler
// may fuse the two otherwise, and fused bits differ between processors.
package neural
