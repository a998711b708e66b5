// Package layer provides the layers of neural networks: forward passes and their pullbacks
// (vector–Jacobian products) over flat []float32.
//
// A layer is a plain value whose weights are slices, usually parts of one long vector. The gradient
// of a layer is a value of the same type with other slices. Batches are row-major. Forward
// overwrites its result. Backward adds the gradient with respect to the input to dx, and the
// gradient with respect to the weights to the slices of grad. Values of the forward pass that
// Backward needs are arguments of Backward. Layers have no state and allocate nothing. Goroutines
// may share them if they write to different slices.
//
// A row of a forward pass depends only on that row's input and the weights, not on the rest of the
// batch. Because of matrix products, results are reproducible only on processors with the same
// vector instructions (see the package doc of sampler).
//
// A wrong length panics with a message like "layer: len(y) = 7, want 8".
package layer
