// Package layer provides the layers of neural networks: forward passes and their pullbacks
// (vector–Jacobian products) over flat []float32.
//
// A layer is a plain value whose weights are slices, usually parts of one long vector. The
// gradient of a layer is a value of the same type over other slices. Batches are row-major.
// Forward overwrites its result. Backward adds the gradient with respect to the input to dx, and
// the gradient with respect to the weights to the slices of grad. Values of the forward pass that
// Backward needs are arguments of Backward. Layers keep no state, so goroutines that write to
// different slices may share them, and they allocate nothing.
//
// Matrix products make results reproducible per dispatch level of the processor (see the package
// doc of sampler). A row of a forward pass depends only on that row's input and the weights, not
// on the rest of the batch.
//
// A wrong length panics with a message like "layer: len(y) = 7, want 8".
package layer
