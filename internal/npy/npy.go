// Package npy reads and writes arrays in NumPy's .npy format, versions 1 to 3 (NumPy Enhancement
// Proposal 1). A file holds one array of float32, float64 or int32 of any shape. In memory, arrays
// are always flat and row-major (C order). Files in Fortran order are transposed when read.
//
// Headers are not trusted: memory grows with the data that arrives, not with the size that a header
// claims.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// magic is the string with which every file starts. Two bytes of version follow.
const magic = "\x93NUMPY"

const (
	// maxHeader is the maximum length of a header's text. NumPy itself rejects more than 10000
	// bytes; a header of 64 dimensions needs about 1400.
	maxHeader = 10000

	// maxDims is NumPy's maximum number of dimensions (NPY_MAXDIMS since 2.0).
	maxDims = 64
)

// header is the dictionary at the start of a file.
type header struct {
	order   binary.ByteOrder
	kind    byte // kind of number: 'f' for floating point, 'i' for integer
	size    int  // bytes per element
	fortran bool
	shape   []int
	count   int // number of elements, the product of shape
}

// readHeader reads the header, up to the first byte of the data.
func readHeader(r io.Reader) (h header, err error) {
	var start [len(magic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return h, fmt.Errorf("npy: reading the magic string: %w", noEOF(err))
	}
	if string(start[:len(magic)]) != magic {
		return h, fmt.Errorf("npy: starts with %q, want %q", start[:len(magic)], magic)
	}
	var size [4]byte
	width := 4
	switch major := start[len(magic)]; major {
	case 1:
		width = 2
	case 2, 3:
	default:
		return h, fmt.Errorf("npy: version %d, want 1, 2 or 3", major)
	}
	if _, err := io.ReadFull(r, size[:width]); err != nil {
		return h, fmt.Errorf("npy: reading the length of the header: %w", noEOF(err))
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxHeader {
		return h, fmt.Errorf("npy: header of %d bytes, want ≤ %d", n, maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, fmt.Errorf("npy: reading the header: %w", noEOF(err))
	}
	if err := h.parse(string(text)); err != nil {
		return h, fmt.Errorf("npy: header %s: %w", check.Quote(strings.TrimSpace(string(text))), err)
	}
	return h, nil
}

// parse parses the dictionary literal {'descr': …, 'fortran_order': …, 'shape': …}, with keys in
// any order.
func (h *header) parse(text string) error {
	s := scanner{rest: text}
	if err := s.want("{"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for !s.take("}") {
		key, err := s.quoted()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %s twice", check.Quote(key))
		}
		seen[key] = true
		if err := s.want(":"); err != nil {
			return err
		}
		switch key {
		case "descr":
			err = h.parseType(&s)
		case "fortran_order":
			switch {
			case s.take("True"):
				h.fortran = true
			case !s.take("False"):
				err = fmt.Errorf("fortran_order is neither True nor False")
			}
		case "shape":
			err = h.parseShape(&s)
		default:
			err = fmt.Errorf("unknown key %s", check.Quote(key))
		}
		if err != nil {
			return err
		}
		if !s.take(",") {
			if err := s.want("}"); err != nil {
				return err
			}
			break
		}
	}
	if s.skip(); s.rest != "" {
		return fmt.Errorf("%s after the dictionary", check.Quote(s.rest))
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return fmt.Errorf("no key %q", key)
		}
	}
	return nil
}

// parseType parses a type such as '<f4'.
func (h *header) parseType(s *scanner) error {
	descr, err := s.quoted()
	if err != nil {
		return fmt.Errorf("descr: %w (structured types are not supported)", err)
	}
	switch descr {
	case "<f4", "<f8", "<i4":
		h.order = binary.LittleEndian
	case ">f4", ">f8", ">i4":
		h.order = binary.BigEndian
	default:
		return fmt.Errorf("descr = %s, want float32, float64 or int32 ('<f4', '<f8', '<i4' or with '>')", check.Quote(descr))
	}
	h.kind, h.size = descr[1], int(descr[2]-'0')
	return nil
}

// parseShape parses a tuple of integers and computes their product.
func (h *header) parseShape(s *scanner) error {
	if err := s.want("("); err != nil {
		return err
	}
	h.shape = []int{}
	for !s.take(")") {
		if len(h.shape) == maxDims {
			return fmt.Errorf("shape has more than %d dimensions", maxDims)
		}
		n, err := s.integer()
		if err != nil {
			return fmt.Errorf("shape[%d]: %w", len(h.shape), err)
		}
		h.shape = append(h.shape, n)
		if !s.take(",") {
			if err := s.want(")"); err != nil {
				return err
			}
			break
		}
	}
	var err error
	h.count, err = product(h.shape)
	return err
}

// product returns the number of elements of a shape. It returns an error if the number of their
// bytes overflows an int.
func product(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d == 0 {
			return 0, nil
		}
	}
	for i, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape[%d] = %d, want ≥ 0", i, d)
		}
		if n > math.MaxInt/8/d {
			return 0, fmt.Errorf("shape %v has too many elements", shape)
		}
		n *= d
	}
	return n, nil
}

// noEOF replaces io.EOF by io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Element is the type of an array's elements.
type Element interface{ float32 | float64 | int32 }

// chunk is the number of elements converted at a time. It makes the overhead of calls negligible
// and lets the buffer fit in the cache.
const chunk = 4096

// Read reads one array and returns its shape and its elements in row-major order. A shape without
// dimensions has one element. Files of float32 and float64 can be read as either type. A float64
// read as float32 is rounded and may overflow to ±Inf. Files of int32 can be read only as int32.
// Both byte orders are supported.
//
// Read consumes exactly the bytes of the array, so several arrays can follow each other in r. The
// memory used is proportional to the bytes read.
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

// decode appends the elements encoded in b.
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

// transpose converts data from column-major to row-major order.
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

// align is the alignment in bytes of the data in a file, as written by NumPy.
const align = 64

// Write writes data, which is row-major, as one array of the given shape. It uses format version 1,
// in C order and little-endian. It returns an error if the shape does not have len(data) elements
// or has more than 64 dimensions. It also returns any error of w.
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

// encode appends the encoding of data.
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

// scanner reads the tokens of a header. White space between tokens is ignored.
type scanner struct{ rest string }

func (s *scanner) skip() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

// take consumes the token if it comes next, and reports whether it did.
func (s *scanner) take(token string) (ok bool) {
	s.skip()
	s.rest, ok = strings.CutPrefix(s.rest, token)
	return ok
}

func (s *scanner) want(token string) error {
	if s.take(token) {
		return nil
	}
	if s.rest == "" {
		return fmt.Errorf("ends where %q should be", token)
	}
	return fmt.Errorf("%q where %q should be", s.rest[:1], token)
}

// quoted consumes 'text' or "text". Escapes are not interpreted.
func (s *scanner) quoted() (string, error) {
	for _, q := range []string{"'", `"`} {
		if !s.take(q) {
			continue
		}
		text, rest, ok := strings.Cut(s.rest, q)
		if !ok {
			return "", errors.New("a string without an end")
		}
		s.rest = rest
		return text, nil
	}
	return "", errors.New("no string where one should be")
}

// integer consumes a decimal integer ≥ 0, with the optional suffix L of Python 2.
func (s *scanner) integer() (int, error) {
	s.skip()
	k := 0
	for k < len(s.rest) && '0' <= s.rest[k] && s.rest[k] <= '9' {
		k++
	}
	if k == 0 {
		return 0, errors.New("no integer ≥ 0")
	}
	n, err := strconv.Atoi(s.rest[:k])
	if err != nil {
		return 0, fmt.Errorf("%s is out of range", s.rest[:k])
	}
	s.rest = strings.TrimPrefix(s.rest[k:], "L")
	return n, nil
}
