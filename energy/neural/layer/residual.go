package layer

import "github.com/gibbsite-go/gibbsite/internal/check"

// Residual is a residual block of two convolutions A and B (He et al. 2016). Each convolution comes
// after a norm and an activation f,
//
//	y = x + B(f(norm(A(f(norm(x)))))),
//
// on a grid, or on a series if the grid has one row. The input channels of A equal the output
// channels of B.
type Residual struct {
	Norm1, Norm2 Norm
	A, B         Conv
	Activation   Activation
}

// Kept holds the values of the forward pass that the backward pass of a [Residual] needs, and
// scratch for both passes.
type Kept struct {
	hat1, pre1, act1, win1, scale1 []float32
	mid, hat2, pre2, act2, win2    []float32
	scale2, out                    []float32
	d1, d2, work                   []float32
}

// NewKept returns the memory that a block needs for forward and backward passes over the given
// number of states. It panics if the scratch is too large for memory.
func (r Residual) NewKept(states int) *Kept {
	for _, c := range [2]Conv{r.A, r.B} {
		high, wide := c.taps()
		if err := check.Entries("layer: Residual: NewKept", "states × rows × cols × taps × in", states, max(1, r.A.Rows), r.A.Cols, high, wide, c.In); err != nil {
			panic(err.Error())
		}
	}
	for _, channels := range [2]int{r.A.In, r.A.Out} {
		if err := check.Entries("layer: Residual: NewKept", "states × rows × cols × channels", states, max(1, r.A.Rows), r.A.Cols, channels); err != nil {
			panic(err.Error())
		}
	}
	n := states * r.A.positions()
	in, mid := n*r.A.In, n*r.A.Out
	mk := func(k int) []float32 { return make([]float32, k) }
	return &Kept{
		hat1: mk(in), pre1: mk(in), act1: mk(in), win1: mk(n * r.A.Work()), scale1: mk(n),
		mid: mk(mid), hat2: mk(mid), pre2: mk(mid), act2: mk(mid), win2: mk(n * r.B.Work()), scale2: mk(n),
		out: mk(in), d1: mk(in), d2: mk(mid), work: mk(max(in, mid)),
	}
}

// check panics if k is nil.
func (k *Kept) check() {
	if k == nil {
		panic("layer: Residual: Kept = nil, want that of NewKept")
	}
}

// Forward computes the block's output for the input x and stores it in y. The slices may be the
// same. Forward keeps in k the values that Backward needs.
func (r Residual) Forward(y, x []float32, k *Kept) {
	k.check()
	n := check.Rows("layer", "x", len(x), r.A.positions()*r.A.In) * r.A.positions()
	check.Len("layer", "y", len(y), len(x))
	in, mid := n*r.A.In, n*r.A.Out
	r.Norm1.Forward(k.pre1[:in], k.hat1[:in], k.scale1[:n], x)
	r.Activation.Forward(k.act1[:in], k.pre1[:in])
	r.A.Forward(k.mid[:mid], k.win1[:n*r.A.Work()], k.act1[:in])
	r.Norm2.Forward(k.pre2[:mid], k.hat2[:mid], k.scale2[:n], k.mid[:mid])
	r.Activation.Forward(k.act2[:mid], k.pre2[:mid])
	r.B.Forward(k.out[:in], k.win2[:n*r.B.Work()], k.act2[:mid])
	for i, v := range x {
		y[i] = v + k.out[i]
	}
}

// Backward adds the gradient of the input to dx and the gradient of the weights to grad. The slice
// dy is the gradient of the output, and k holds the values that Forward kept. The slices dx and dy
// must not overlap.
func (r Residual) Backward(dx []float32, grad Residual, dy []float32, k *Kept) {
	k.check()
	n := check.Rows("layer", "dy", len(dy), r.A.positions()*r.A.In) * r.A.positions()
	check.Len("layer", "dx", len(dx), len(dy))
	in, mid := n*r.A.In, n*r.A.Out
	d1, d2 := k.d1[:in], k.d2[:mid]
	clear(d2)
	r.B.Backward(d2, grad.B, dy, k.win2[:n*r.B.Work()], k.work[:in])
	r.Activation.Backward(d2, k.pre2[:mid])
	dmid := k.act2[:mid] // act2 is no longer needed
	clear(dmid)
	r.Norm2.Backward(dmid, grad.Norm2, d2, k.hat2[:mid], k.scale2[:n])
	clear(d1)
	r.A.Backward(d1, grad.A, dmid, k.win1[:n*r.A.Work()], k.work[:mid])
	r.Activation.Backward(d1, k.pre1[:in])
	r.Norm1.Backward(dx, grad.Norm1, d1, k.hat1[:in], k.scale1[:n])
	for i, v := range dy {
		dx[i] += v
	}
}
