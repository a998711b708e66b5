package layer

import "github.com/gibbsite-go/gibbsite/internal/check"

// Conv is a convolution over a grid of Rows × Cols positions with In channels each:
//
//	y[i, j] = b + Σ_{a,c} W_{a,c} · x[i + d·(a − A/2), j + d·(c − C/2)].
//
// Here b is the bias, W holds the weights, and d is the Dilation. The sum is over the A × C taps of
// the window, where A = C = Kernel. A/2 and C/2 are rounded down. Outside the grid, x is 0. A grid
// of one row is a series; the window is then 1 × Kernel, a temporal convolution. States have
// Rows·Cols·In entries each, channels last.
type Conv struct {
	Rows, Cols int // size of the grid; 0 rows mean 1
	In, Out    int

	// Kernel is the width of the window, at least 1. If it is odd, the window is centred.
	Kernel int

	// Dilation is the distance between adjacent taps; 0 means 1.
	Dilation int

	// If Causal is true, the output at a position of a series depends only on this position and
	// earlier ones: the window ends at the position.
	Causal bool

	// Weight holds the kernel W, Out × taps × In.
	Weight []float32

	// Bias holds the bias b, Out entries; nil means no bias.
	Bias []float32
}

// taps returns the number of rows and columns of the window.
func (c Conv) taps() (rows, cols int) {
	if c.Rows <= 1 {
		return 1, c.Kernel
	}
	return c.Kernel, c.Kernel
}

// Taps returns the number of positions in a window, that is, the number of input positions on which
// an output position depends.
func (c Conv) Taps() int {
	rows, cols := c.taps()
	return rows * cols
}

func (c Conv) positions() int { return max(1, c.Rows) * c.Cols }

// linear returns the layer that maps the rows of windows to outputs.
func (c Conv) linear() Linear {
	return Linear{In: c.Taps() * c.In, Out: c.Out, Weight: c.Weight, Bias: c.Bias}
}

// Work returns the number of inputs on which the output at one position depends. The windows that
// Forward stores have this many entries per position.
func (c Conv) Work() int { return c.Taps() * c.In }

// Forward stores in y the convolution of the states x. It also stores, in windows, a copy of the
// inputs on which each output depends. This takes Work() entries per position.
func (c Conv) Forward(y, windows, x []float32) {
	c.gather(windows, x)
	c.linear().Forward(y, windows)
}

// Backward adds the gradient of the weights to grad. Unless dx is nil, it adds the gradient of the
// input to dx. The slice dy is the gradient of the output. Backward reads the windows that Forward
// stored, and overwrites them. The slice tmp is scratch memory with the length of dy.
func (c Conv) Backward(dx []float32, grad Conv, dy, windows, tmp []float32) {
	l, g := c.linear(), grad.linear()
	l.Backward(nil, g, dy, windows, tmp)
	if dx == nil {
		return
	}
	clear(windows)
	l.input(windows, dy)
	c.scatter(dx, windows)
}

// visit calls f for every position of every state and every tap that is on the grid. The argument
// at is the offset of the tap in the windows, and from is the offset of the tap's input in the
// states.
func (c Conv) visit(states int, f func(at, from int)) {
	rows, cols := max(1, c.Rows), c.Cols
	high, wide := c.taps()
	d := max(1, c.Dilation)
	left := wide / 2
	if c.Causal {
		left = wide - 1
	}
	at := 0
	for s := range states {
		for i := range rows {
			for j := range cols {
				for a := range high {
					for b := range wide {
						u, v := i+d*(a-high/2), j+d*(b-left)
						if u >= 0 && u < rows && v >= 0 && v < cols {
							f(at, ((s*rows+u)*cols+v)*c.In)
						}
						at += c.In
					}
				}
			}
		}
	}
}

func (c Conv) check(x, windows []float32) (states int) {
	states = check.Rows("layer", "x", len(x), c.positions()*c.In)
	check.Len("layer", "windows", len(windows), states*c.positions()*c.Work())
	return states
}

func (c Conv) gather(windows, x []float32) {
	states := c.check(x, windows)
	clear(windows)
	c.visit(states, func(at, from int) { copy(windows[at:at+c.In], x[from:from+c.In]) })
}

func (c Conv) scatter(dx, windows []float32) {
	states := c.check(dx, windows)
	c.visit(states, func(at, from int) {
		for k, v := range windows[at : at+c.In] {
			dx[from+k] += v
		}
	})
}
