// Package pretrained runs masked diffusion language models from the files that their authors
// publish. It supports LLaDA, Dream, and the Qwen2, Qwen3 and Llama models that dLLM turned into
// masked (mdlm) or block (bd3lm) diffusions. [Open] reads a folder with config.json and the weights
// in .safetensors files. [Network.Masked] returns the [energy.Denoiser] of states of a given
// length:
//
//	net, err := pretrained.Open("LLaDA-8B-Instruct")
//	model, err := net.Masked(256, pretrained.Options{})
//	d, err := diffusion.New(ctx, model, diffusion.Masked{Mask: model.MaskLevel()}, diffusion.Config{})
//
// To give a prompt, clamp its tokens (diffusion.Config.Clamp). Constraints on the text are enforced
// by the projector of the diffusion. For time series, [OpenSeries] reads networks of Diffusion-TS
// and CSDI.
//
// # Architecture
//
// A network begins with an embedding and ends with a linear layer over the vocabulary. Between them
// are blocks. Each block has a layer of attention and a layer of gated units (SwiGLU), each after
// an RMSNorm:
//
//	x ← x + O·attention(norm(x)),  x ← x + D·(silu(G·norm(x)) ⊙ U·norm(x)),
//
// where O, D, G and U are matrices of weights. Queries and keys are rotated by angles that depend
// on the position (rotary positions). Groups of query heads share keys and values. Queries, keys
// and values have biases if the files contain them. In Qwen3, queries and keys have norms (Nie et
// al. 2025; Ye et al. 2025; Yang et al. 2025). Every position attends to all others or, if
// [Options.Block] is set, to its own block and the blocks before it. In Dream, the outputs for a
// token are at the position before it; the denoiser shifts them to the token's position.
//
// Rotary angles may be scaled for long texts, by rope_scaling or rope_parameters of config.json:
// linear, dynamic, yarn (Peng et al. 2023) or llama3. If a setting or tensor requires any other
// computation, [Open] returns an error that names the file and the key or tensor.
//
// # Caveats
//
// [Open] maps the files into memory if the system can do so. [OpenFS] reads the weights again for
// every prediction. If files of the file system do not implement io.ReaderAt, it reads them into
// memory once. Products are float32. Predictions have the same bits for any number of workers and
// any batch. They are reproducible only on processors with the same vector instructions (see the
// package doc of sampler).
package pretrained
