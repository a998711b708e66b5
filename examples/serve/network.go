package main

import (
	"math"
	"math/rand/v2"
)

// network replaces a language model: one recurrent layer over the last tokens with random
// weights, whose output is multiplied by the embedding of every token. It is untrained; all
// structure in a completion is due to the masks.
type network struct {
	width   int
	embed   []float32 // embeddings, tokens × width
	recur   []float32 // recurrent weights, width × width
	context int       // number of preceding tokens that the network reads
}

func newNetwork(tokens int, seed uint64) *network {
	const width, context = 32, 24
	r := rand.New(rand.NewPCG(seed, 1))
	n := &network{width: width, embed: make([]float32, tokens*width), recur: make([]float32, width*width), context: context}
	for i := range n.embed {
		n.embed[i] = float32(r.NormFloat64())
	}
	for i := range n.recur {
		n.recur[i] = float32(r.NormFloat64() / math.Sqrt(width))
	}
	return n
}

// logits stores in dst the log-weights of the next token.
func (n *network) logits(dst []float32, read []int32) {
	h, next := make([]float32, n.width), make([]float32, n.width)
	for _, t := range read[max(0, len(read)-n.context):] {
		for i := range next {
			sum := n.embed[int(t)*n.width+i]
			for k, x := range h {
				sum += n.recur[i*n.width+k] * x
			}
			next[i] = float32(math.Tanh(float64(sum)))
		}
		h, next = next, h
	}
	for t := range dst {
		sum := float32(0)
		for i, x := range n.embed[t*n.width : (t+1)*n.width] {
			sum += x * h[i]
		}
		dst[t] = sum / 4
	}
}

// draw draws a token of the mask with probability proportional to exp(logit/temperature). At
// temperature 0 it returns the most probable token. It returns −1 if the mask is empty.
func draw(logits []float32, mask []uint32, temperature float64, r *rand.Rand) int32 {
	best, most := int32(-1), math.Inf(-1)
	for t, x := range logits {
		if mask[t/32]>>(t%32)&1 == 0 {
			continue
		}
		// The greatest of the log-weights with Gumbel noise is such a draw.
		y := float64(x)
		if temperature > 0 {
			y = y/temperature - math.Log(r.ExpFloat64())
		}
		if y > most || best < 0 {
			best, most = int32(t), y
		}
	}
	return best
}
