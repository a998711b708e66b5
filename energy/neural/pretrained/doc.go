// Package pretrained runs masked diffusion language models from the files that their
// authors publish: LLaDA, Dream, and the Qwen2, Qwen3 and Llama models that dLLM turned
// into masked (mdlm) or block (bd3lm) diffusions. [Open] reads a folder with config.json
// and the weights in .safetensors files; [Network.Masked] is the [energy.Denoiser] of
// states of a length:
//
//	net, err := pretrained.Open("LLaDA-8B-Instruct")
//	model, err := net.Masked(256, pretrained.Options{})
//	d, err := diffusion.New(ctx, model, diffusion.Masked{Mask: model.MaskLevel()}, diffusion.Config{})
//
// A prompt is clamped (diffusion.Config.Clamp); what the text must satisfy is the
// projector of the run.
//
// # Architecture
//
// Blocks of attention and gated units (SwiGLU), each after an RMSNorm, between an
// embedding and a linear layer over the vocabulary:
//
//	x ← x + O·attention(norm(x)),  x ← x + D·(silu(G·norm(x)) ⊙ U·norm(x)),
//
// with rotary positions, queries that share keys and values in groups, biases of
// queries, keys and values where the files have them, and norms of queries and keys for
// Qwen3 (Nie et al. 2025; Ye et al. 2025; Yang et al. 2025). Every position sees all
// others, or with [Options.Block] its own block and those before it. Dream predicts a
// token one position early; its rows are moved to where they belong. Rotary angles may be
// scaled for long texts, by rope_scaling or rope_parameters of config.json: linear,
// dynamic, yarn (Peng et al. 2023) or llama3. What would make a network compute something
// else is refused, with the file and the key or tensor.
//
// # Caveats
//
// Weights stay in memory in the type of the files, and are converted a few rows at a
// time; products are float32. Predictions have the same bits for any number of workers
// and any batch, per dispatch level of the processor (see the package doc of sampler).
package pretrained
