package train

import (
	"fmt"
	"hash/crc64"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// adapters are low-rank changes to the matrices of a network's linear layers (LoRA; Hu et al.
// 2022). A matrix W_0 becomes
//
//	W = W_0 + B·A,  A of rank × inputs, B of outputs × rank.
//
// Initially A is normal with variance 1/inputs, and B = 0. Only A and B are trained; embeddings,
// gains and biases are constant. With G the gradient with respect to W, the gradients of A and B
// are Bᵀ·G and G·Aᵀ. The adapters are merged into the weights of the network after every step.
type adapters struct {
	rank     int
	base     []float32 // initial weights of the network
	matrices []matrix
	weights  []float32 // A and B of every matrix
	gradient []float32
	strips   []strip   // parts of weights; decay applies to all
	sum      []float64 // scratch for one row
}

// matrix gives the position of a matrix in the network's weights, and of its A and B in the
// weights of the adapters.
type matrix struct {
	at, rows, cols int // offset in the weights of the network; number of rows and columns
	a, b           int // offsets of A and B in the weights of the adapters
}

// newAdapters returns adapters of the given rank for the linear layers of a network.
func newAdapters(net *neural.Transformer, rank int, seed uint64) *adapters {
	d := &adapters{rank: rank, base: append([]float32(nil), net.Weights()...)}
	at, n, widest := 0, 0, 0
	for _, t := range net.Tensors() {
		if len(t.Shape) == 2 && !strings.Contains(t.Name, "embed") {
			m := matrix{at: at, rows: t.Shape[0], cols: t.Shape[1], a: n, b: n + rank*t.Shape[1]}
			n = m.b + m.rows*rank
			widest = max(widest, m.cols)
			d.matrices = append(d.matrices, m)
		}
		at += len(t.Data)
	}
	d.weights, d.gradient, d.sum = make([]float32, n), make([]float32, n), make([]float64, widest)
	for at := 0; at < n; at += stripLen {
		d.strips = append(d.strips, strip{at, min(at+stripLen, n), true})
	}
	r := rand.New(rand.NewPCG(seed, 0x6c6f7261))
	for _, m := range d.matrices {
		a := d.weights[m.a:m.b]
		normal.Fill(a, r)
		scale := float32(1 / math.Sqrt(float64(m.cols)))
		for i := range a {
			a[i] *= scale
		}
	}
	return d
}

// pull stores the gradient with respect to the adapters, given the gradient g with respect to the
// weights of the network. It returns the squared norm of the stored gradient.
func (d *adapters) pull(g []float32) (norm float64) {
	for _, m := range d.matrices {
		a, b := d.weights[m.a:m.b], d.weights[m.b:m.b+m.rows*d.rank]
		da, db := d.gradient[m.a:m.b], d.gradient[m.b:m.b+m.rows*d.rank]
		for k := range d.rank {
			sum := d.sum[:m.cols]
			clear(sum)
			for i := range m.rows {
				row, w, dot := g[m.at+i*m.cols:m.at+(i+1)*m.cols], float64(b[i*d.rank+k]), 0.0
				for j, v := range row {
					sum[j] += float64(w * float64(v))
					dot += float64(float64(a[k*m.cols+j]) * float64(v))
				}
				db[i*d.rank+k] = float32(dot)
			}
			for j, v := range sum {
				da[k*m.cols+j] = float32(v)
			}
		}
	}
	for _, v := range d.gradient {
		norm += float64(float64(v) * float64(v))
	}
	return norm
}

// merge stores in w the initial weights of the network plus the changes of the given adapter
// weights.
func (d *adapters) merge(w, adapter []float32) {
	copy(w, d.base)
	for _, m := range d.matrices {
		a, b := adapter[m.a:m.b], adapter[m.b:m.b+m.rows*d.rank]
		for i := range m.rows {
			sum := d.sum[:m.cols]
			clear(sum)
			for k := range d.rank {
				s := float64(b[i*d.rank+k])
				for j := range sum {
					sum[j] += float64(s * float64(a[k*m.cols+j]))
				}
			}
			for j, v := range sum {
				w[m.at+i*m.cols+j] = float32(float64(d.base[m.at+i*m.cols+j]) + v)
			}
		}
	}
}

// addSettings adds the settings of adapters to those of every training.
func (d *adapters) addSettings(l *fingerprint.List) {
	l.Add("Config.Rank", d.rank)
	l.Text("checksum of the weights before", fmt.Sprintf("%016x", crc64.Checksum(wire.AppendFloat32s(nil, d.base), crc64.MakeTable(crc64.ECMA))))
}
