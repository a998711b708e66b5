package pretrained_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
)

// A folder with config.json and model.safetensors is a denoiser; this one holds a network
// whose block adds nothing, and whose last layer prefers token 1.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := publish(dir); err != nil {
		panic(err)
	}

	net, err := pretrained.Open(dir)
	if err != nil {
		panic(err)
	}
	defer net.Close()
	fmt.Println(net.Config().Blocks, "block of width", net.Config().Width)
	model, err := net.Masked(3, pretrained.Options{})
	if err != nil {
		panic(err)
	}
	sites, levels := model.Shape()
	v := make([]float32, sites*levels)
	state := []int32{1, 3, 3} // the mask is token 3
	err = model.Denoise(context.Background(), v, energy.Noised[int32]{X: state, Time: []float64{.5}, Alpha: []float64{.5}})
	fmt.Printf("%.2f %v\n", v[levels:2*levels], err)
	// Output:
	// 1 block of width 2
	// [0.00 2.00 0.00 -Inf] <nil>
}

// A block diffusion whose files do not name the mask token.
func ExampleNetwork_Masked() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := publish(dir); err != nil {
		panic(err)
	}
	net, err := pretrained.OpenFS(os.DirFS(dir), ".")
	if err != nil {
		panic(err)
	}
	defer net.Close()
	mask := int32(3)
	model, err := net.Masked(8, pretrained.Options{Mask: &mask, Block: 4, Workers: 1})
	if err != nil {
		panic(err)
	}
	sites, levels := model.Shape()
	fmt.Println(sites, levels, model.MaskLevel())
	// Output: 8 4 3
}

// publish writes a model of four tokens.
func publish(dir string) error {
	config := `{"model_type": "llada", "embedding_size": 4, "d_model": 2, "mlp_hidden_size": 1, "n_layers": 1,
		"n_heads": 1, "max_sequence_length": 8, "mask_token_id": 3}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		return err
	}
	tensor := func(name string, rows, cols int, data ...float32) neural.Tensor {
		t := neural.Tensor{Name: "model.transformer." + name + ".weight", Shape: []int{rows, cols}, Data: make([]float32, rows*cols)}
		if cols == 0 {
			t.Shape, t.Data = []int{rows}, make([]float32, rows)
		}
		copy(t.Data, data)
		return t
	}
	b := "blocks.0."
	var f bytes.Buffer
	err := neural.WriteFile(&f, neural.BF16, []neural.Tensor{
		tensor("wte", 4, 2, 1, 1, 1, 1, 1, 1, 1, 1), tensor("ln_f", 2, 0, 1, 1), tensor("ff_out", 4, 2, 0, 0, 1, 1),
		tensor(b+"attn_norm", 2, 0, 1, 1), tensor(b+"ff_norm", 2, 0, 1, 1),
		tensor(b+"q_proj", 2, 2), tensor(b+"k_proj", 2, 2), tensor(b+"v_proj", 2, 2), tensor(b+"attn_out", 2, 2),
		tensor(b+"ff_proj", 1, 2), tensor(b+"up_proj", 1, 2), tensor(b+"ff_out", 2, 1),
	}, nil)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.safetensors"), f.Bytes(), 0o600)
}

func ExampleConfig_Chat() {
	config, err := pretrained.ReadConfig(strings.NewReader(`{"model_type": "a2d-qwen3", "vocab_size": 8, "hidden_size": 8,
		"intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 64}`))
	if err != nil {
		panic(err)
	}
	prompt, err := config.Chat(pretrained.Message{Role: "user", Content: "Name a prime."})
	fmt.Printf("%q %v\n", prompt, err)
	// Output: "<|im_start|>user\nName a prime.<|im_end|>\n<|im_start|>assistant\n" <nil>
}

// A network of windows of three numbers whose weights are all 0, so that it predicts the bias of
// its last layer.
func ExampleOpenSeriesFS() {
	tensors := series()
	for _, t := range tensors {
		if t.Name == "model.inverse.sequential.1.bias" {
			t.Data[0] = .5
		}
	}
	var b bytes.Buffer
	if err := neural.WriteFile(&b, neural.F32, tensors, nil); err != nil {
		panic(err)
	}
	config := `{"seq_length": 3, "feature_size": 1, "d_model": 4, "n_layer_enc": 1, "n_layer_dec": 1, "n_heads": 1,
		"mlp_hidden_times": 1, "timesteps": 2}`
	net, err := pretrained.OpenSeriesFS(fstest.MapFS{"config.json": {Data: []byte(config)}, "model.safetensors": {Data: b.Bytes()}}, ".")
	if err != nil {
		panic(err)
	}
	v := make([]float32, 3)
	err = net.Denoise(context.Background(), v, energy.Noised[float32]{X: []float32{1, -1, 2}, Time: []float64{.5}, Alpha: []float64{.5}})
	fmt.Println(net.Length(), net.Channels(), v, err)
	// Output: 3 1 [0.5 0.5 0.5] <nil>
}

// series lists the tensors of a network of one block each, for windows of three rows of one number.
func series() (all []neural.Tensor) {
	add := func(name string, shape ...int) {
		n := 1
		for _, k := range shape {
			n *= k
		}
		all = append(all, neural.Tensor{Name: name, Shape: shape, Data: make([]float32, n)})
	}
	layer := func(name string, shape ...int) {
		add("model."+name+".weight", shape...)
		add("model."+name+".bias", shape[0])
	}
	encoder, decoder := "encoder.blocks.0.", "decoder.blocks.0."
	add("alphas_cumprod", 2)
	copy(all[0].Data, []float32{.9, .1})
	layer("emb.sequential.1", 4, 1, 3)
	layer("inverse.sequential.1", 1, 4, 3)
	add("model.combine_s.weight", 1, 4, 1)
	add("model.combine_m.weight", 1, 1, 1)
	add("model.pos_enc.pe", 1, 3, 4)
	add("model.pos_dec.pe", 1, 3, 4)
	for _, norm := range []string{encoder + "ln1", decoder + "ln1", decoder + "ln1_1"} {
		layer(norm+".linear", 8, 4)
	}
	for _, attention := range []string{encoder + "attn", decoder + "attn1", decoder + "attn2"} {
		for _, part := range []string{".query", ".key", ".value", ".proj"} {
			layer(attention+part, 4, 4)
		}
	}
	for _, block := range []string{encoder, decoder} {
		layer(block+"ln2", 4)
		layer(block+"mlp.0", 4, 4)
		layer(block+"mlp.2", 4, 4)
	}
	layer(decoder+"proj", 6, 3, 1)
	layer(decoder+"trend.trend.0", 3, 3, 3)
	layer(decoder+"trend.trend.3", 1, 4, 3)
	layer(decoder+"linear", 1, 4)
	return all
}
