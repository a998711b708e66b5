//go:build amd64 && !purego

package simd

func argMax(idx []int32, w []float32, cols int) { refArgMax(idx, w, cols) }
