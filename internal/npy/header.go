package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// magic starts every file; two bytes of version follow.
const magic = "\x93NUMPY"

const (
	// maxHeader bounds the text of a header. NumPy itself refuses more than
	// 10000 bytes; a header of 64 dimensions needs about 1400.
	maxHeader = 10000

	// maxDims is NumPy's bound (NPY_MAXDIMS since 2.0).
	maxDims = 64
)

// header is the dictionary at the start of a file.
type header struct {
	order   binary.ByteOrder
	kind    byte // 'f' or 'i'
	size    int  // bytes per element
	fortran bool
	shape   []int
	count   int // product of shape
}

// readHeader reads up to the first byte of the data.
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
		return h, fmt.Errorf("npy: header %q: %w", strings.TrimSpace(string(text)), err)
	}
	return h, nil
}

// parse reads the dictionary literal {'descr': …, 'fortran_order': …,
// 'shape': …}, keys in any order.
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
			return fmt.Errorf("key %q twice", key)
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
			err = fmt.Errorf("unknown key %q", key)
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
		return fmt.Errorf("%q after the dictionary", s.rest)
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return fmt.Errorf("no key %q", key)
		}
	}
	return nil
}

// parseType reads a type such as '<f4'.
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
		return fmt.Errorf("descr = %q, want float32, float64 or int32 ('<f4', '<f8', '<i4' or with '>')", descr)
	}
	h.kind, h.size = descr[1], int(descr[2]-'0')
	return nil
}

// parseShape reads a tuple of integers and multiplies it.
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

// product returns the number of elements of a shape whose bytes can be counted
// by an int.
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

// noEOF makes the end of the input an error that says it came too early.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
