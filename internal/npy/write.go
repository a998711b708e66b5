package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// align is the multiple of bytes at which data start, as NumPy writes them.
const align = 64

// Write writes data, which is row-major, as one array of the given shape, in
// format version 1, C order, little-endian. It returns an error if the shape
// does not have len(data) elements or has more than 64 dimensions, and the
// error of w.
func Write[T Element](w io.Writer, data []T, shape ...int) error {
	if w == nil {
		return fmt.Errorf("npy: w = nil")
	}
	n, err := product(shape)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	if n != len(data) || len(shape) > maxDims {
		return fmt.Errorf("npy: len(data) = %d, want the %d elements of shape %v in at most %d dimensions", len(data), n, shape, maxDims)
	}
	b := appendHeader[T](make([]byte, 0, chunk*8), shape)
	for {
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("npy: %w", err)
		}
		if len(data) == 0 {
			return nil
		}
		k := min(chunk, len(data))
		b, data = encode(b[:0], data[:k]), data[k:]
	}
}

// appendHeader appends everything that comes before the data.
func appendHeader[T Element](b []byte, shape []int) []byte {
	var zero T
	descr := map[string]string{"float32": "<f4", "float64": "<f8", "int32": "<i4"}[fmt.Sprintf("%T", zero)]
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	used := len(magic) + 4 + len(text) + 1
	text += strings.Repeat(" ", (align-used%align)%align) + "\n"
	b = append(b, magic...)
	b = append(b, 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(b, text...)
}

// encode appends the bytes of data.
func encode[T Element](b []byte, data []T) []byte {
	for _, v := range data {
		switch v := any(v).(type) {
		case float32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		case float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case int32:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	return b
}
