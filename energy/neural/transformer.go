package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
)

// Transformer is a diffusion transformer (DDiT; Peebles and Xie 2023, in the form of Lou, Meng and
// Ermon 2024). It embeds tokens, or passes reals through a linear layer. Each block has an
// attention layer with rotary positions and a layer of GELU units, both after a LayerNorm without
// bias. The noise level shifts and scales the input of a layer and multiplies (gates) its output.
//
// A Transformer holds only weights; [Transformer.NewPass] allocates the scratch memory to run it.
// Goroutines may share the weights while no goroutine trains them.
type Transformer struct {
	cfg     Config
	weights []float32
	body    body
	tensors []Tensor
	class   int32 // class for inputs that have none; Classes means no class
}

// New returns a network with random initial weights drawn from src, as in the diffusion transformer
// DiT (Peebles and Xie 2023). Weights of a linear layer with n inputs are normal with variance 1/n,
// and embeddings are normal with variance 0.02². Gains are 1. The last layer and the weights of
// shifts, scales and gates are 0. New returns an error if a field of cfg is out of range or src is
// nil.
func New(cfg Config, src rand.Source) (*Transformer, error) {
	cfg, err := cfg.resolve("New")
	if err != nil {
		return nil, err
	}
	if err := check.Given("neural: New", "src", src); err != nil {
		return nil, err
	}
	t := build(cfg)
	for _, p := range t.tensors {
		switch {
		case strings.Contains(p.Name, "embedding"):
			normal.Fill(p.Data, src)
			scale(p.Data, 0.02)
		case strings.Contains(p.Name, "norm"):
			for i := range p.Data {
				p.Data[i] = 1
			}
		case len(p.Shape) == 2 && !strings.Contains(p.Name, "adaLN") && !strings.HasPrefix(p.Name, "output_layer"):
			normal.Fill(p.Data, src)
			scale(p.Data, 1/math.Sqrt(float64(p.Shape[1])))
		}
	}
	return t, nil
}

func scale(x []float32, k float64) {
	for i, v := range x {
		x[i] = float32(k * float64(v))
	}
}

// build returns a network whose weights are all 0.
func build(cfg Config) *Transformer {
	t := &Transformer{cfg: cfg, weights: make([]float32, cfg.size()), class: int32(cfg.Classes)}
	t.body, t.tensors = cfg.over(t.weights)
	return t
}

// Config returns the configuration of the network, with defaults filled in.
func (t *Transformer) Config() Config { return t.cfg }

// Weights returns all weights as one vector. The slice is shared with the network; training
// writes to it.
func (t *Transformer) Weights() []float32 { return t.weights }

// Tensors returns the parts of [Transformer.Weights] in order. Each part has the name that it has
// in the public checkpoints of this network.
func (t *Transformer) Tensors() []Tensor { return t.tensors }

// Clone returns a network with a copy of the weights.
func (t *Transformer) Clone() *Transformer {
	c := build(t.cfg)
	copy(c.weights, t.weights)
	c.class = t.class
	return c
}

// Given returns the network conditioned on a class (0 … Classes−1) or on no class (−1). Denoisers
// made from the result condition their predictions on that class. Classes in the input
// ([Input.Class]) override this class. The result shares the weights. Given returns an error if
// class is out of range.
func (t *Transformer) Given(class int) (*Transformer, error) {
	switch {
	case t.cfg.Classes == 0:
		return nil, fmt.Errorf("neural: Given: the network has no Classes")
	case class < -1 || class >= t.cfg.Classes:
		return nil, fmt.Errorf("neural: Given: class = %d, want −1 … %d", class, t.cfg.Classes-1)
	}
	given := *t
	if given.class = int32(class); class < 0 {
		given.class = int32(t.cfg.Classes)
	}
	return &given, nil
}
