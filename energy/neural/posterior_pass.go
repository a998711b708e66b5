package neural

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// posteriorPass is a pass of rows through the network of a Bayesian network. Its hidden units
// are padded with units whose weights are 0 both ways: they take room and say nothing.
type posteriorPass struct {
	in, hid int
	w, v    []float32 // twice the weights: (inputs + 1) × hidden, hidden
	s       []float32 // σ(2z), rows × hidden
	p, q    []float32 // f and 1 − f of each row, either without cancellation
	offset  float32   // c − Σ v_j
}

// padded returns how many hidden units a pass computes: whole panels of the products,
// which spares them the copies of a narrow last one (BenchmarkPosterior).
func padded(hidden int) int {
	const panel = 32
	if hidden < 4*panel {
		return hidden
	}
	return (hidden + panel - 1) / panel * panel
}

// passRoom is how many numbers a pass of so many rows of in numbers needs.
func passRoom(in, hidden, rows int) int { return (in+1+rows)*padded(hidden) + 2*rows }

// passOf returns a pass with the given weights for up to so many rows of in numbers, in
// room for them.
func passOf(room []float32, theta []int32, in, hidden, rows int) posteriorPass {
	for i, l := range theta {
		if l&^1 != 0 {
			panic(fmt.Sprintf("neural: x[%d] = %d, want 0 or 1", i, l))
		}
	}
	hid := padded(hidden)
	p := posteriorPass{in: in, hid: hid, w: room[:in*hid], v: room[in*hid:][:hid]}
	room = room[(in+1)*hid:]
	p.p, p.q, p.s = room[:rows], room[rows:2*rows], room[2*rows:]
	for k := range in {
		row := p.w[k*hid : (k+1)*hid]
		for j, t := range theta[k*hidden : (k+1)*hidden] {
			row[j] = float32(4*t - 2)
		}
		clear(row[hidden:])
	}
	sum := 2*theta[len(theta)-1] - 1
	for j, t := range theta[in*hidden : (in+1)*hidden] {
		p.v[j] = float32(4*t - 2)
		sum -= 2*t - 1
	}
	clear(p.v[hidden:])
	p.offset = float32(sum)
	return p
}

// activate stores the activations and outputs of the rows.
func (p *posteriorPass) activate(rows []float32) {
	n := len(rows) / p.in
	s := p.s[:n*p.hid]
	clear(s)
	simd.Gemm(s, rows, p.w, n, p.hid, p.in)
	simd.SigmoidTo(s, s)
	for i := range n {
		o := p.offset + simd.Dot(p.v, s[i*p.hid:(i+1)*p.hid])
		p.p[i], p.q[i] = o, -o
	}
	simd.SigmoidTo(p.p[:n], p.p[:n])
	simd.SigmoidTo(p.q[:n], p.q[:n])
}
