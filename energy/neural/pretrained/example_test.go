package pretrained_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// The folder holds a small network of Diffusion-TS for windows of three rows of one number.
func ExampleOpenSeries() {
	net, err := pretrained.OpenSeries("testdata/diffusion-ts")
	if err != nil {
		panic(err)
	}
	v := make([]float32, 3)
	err = net.Denoise(context.Background(), v, energy.Noised[float32]{X: []float32{1, -1, 2}, Time: []float64{.5}, Alpha: []float64{.5}})
	fmt.Printf("%d %d %.2f %v\n", net.Length(), net.Channels(), v, err)
	// Output: 3 1 [-1.27 0.83 -0.46] <nil>
}
