//go:build (!amd64 && !arm64) || purego

package simd

// The kernels that amd64 and arm64 have in assembly are the references elsewhere.

func philox(dst []uint32, key, stream, group uint64) { refPhilox(dst, key, stream, group) }
func unit32(dst []float32, bits []uint32)            { refUnit32(dst, bits) }
func unit64(dst []float64, bits []uint32)            { refUnit64(dst, bits) }
