// Package layer holds the parts of networks: forward passes and their
// hand-written pullbacks (vector–Jacobian products) over flat []float32.
//
// A layer is a plain value whose weights are slices, usually parts of one long
// vector; the gradient of a layer is a value of the same type over other slices.
// Batches are rows, row-major. Forward overwrites its result. Backward adds: to
// dx the gradient with respect to the input, to the slices of grad that with
// respect to the weights. What Backward needs of the forward pass is an argument;
// no layer keeps anything, so layers may be shared between goroutines that write
// to different slices. Nothing allocates.
//
// Matrix products make results reproducible per dispatch level of the processor
// (see the package doc of sampler); a row of a forward pass depends on that
// row's input and the weights alone, whatever else is in the batch.
//
// A wrong length panics with a message like "layer: len(y) = 7, want 8".
//
// A product that enters a sum is written float32(a*b) + c, because a compiler
// may fuse the two otherwise, and fused bits differ between processors.
package layer
