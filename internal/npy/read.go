package npy

import (
	"fmt"
	"io"
	"math"
)

// Element is what an array can hold.
type Element interface{ float32 | float64 | int32 }

// chunk is the number of elements converted at a time: large enough that calls
// do not count, small enough for the stack of buffers to stay in the cache.
const chunk = 4096

// Read reads one array and returns its shape and its elements in row-major
// order; a shape without dimensions has one element. Files of float32 and
// float64 can be read as either (float64 is rounded to nearest, and overflows
// to ±Inf), files of int32 as int32 only. Both byte orders are understood.
//
// Read consumes exactly the bytes of the array, in reads of at most 32 KiB, so
// several arrays can follow each other in r. The memory it takes is
// proportional to the bytes that it has read.
func Read[T Element](r io.Reader) (shape []int, data []T, err error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, nil, err
	}
	var zero T
	if _, integer := any(zero).(int32); integer != (h.kind == 'i') {
		return nil, nil, fmt.Errorf("npy: elements are %c%d, which cannot be read as %T", h.kind, h.size, zero)
	}
	buf := make([]byte, min(h.count, chunk)*h.size)
	for len(data) < h.count {
		b := buf[:min(chunk, h.count-len(data))*h.size]
		if n, err := io.ReadFull(r, b); err != nil {
			return nil, nil, fmt.Errorf("npy: shape %v: data end after %d of %d elements: %w",
				h.shape, len(data)+n/h.size, h.count, noEOF(err))
		}
		data = decode(data, b, &h)
	}
	if h.fortran && len(h.shape) > 1 {
		data = transpose(data, h.shape)
	}
	return h.shape, data, nil
}

// decode appends the elements in b.
func decode[T Element](data []T, b []byte, h *header) []T {
	for ; len(b) > 0; b = b[h.size:] {
		switch {
		case h.size == 8:
			data = append(data, T(math.Float64frombits(h.order.Uint64(b))))
		case h.kind == 'f':
			data = append(data, T(math.Float32frombits(h.order.Uint32(b))))
		default:
			data = append(data, T(int32(h.order.Uint32(b))))
		}
	}
	return data
}

// transpose returns in row-major order what data holds in column-major order.
func transpose[T Element](data []T, shape []int) []T {
	out := make([]T, len(data))
	at := make([]int, len(shape)) // the position of the next element of out
	stride := make([]int, len(shape))
	n := 1
	for i, d := range shape {
		stride[i] = n
		n *= d
	}
	from := 0
	for k := range out {
		out[k] = data[from]
		for i := len(shape) - 1; i >= 0; i-- {
			at[i]++
			from += stride[i]
			if at[i] < shape[i] {
				break
			}
			from -= at[i] * stride[i]
			at[i] = 0
		}
	}
	return out
}
