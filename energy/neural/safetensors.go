package neural

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// File is an open .safetensors file. Such a file begins with the length of a JSON object (8 bytes,
// little-endian). This object gives the type, shape and position of each tensor. The numbers
// follow. PyTorch's save_model omits a tensor that equals another one (tied weights) and records
// this in the metadata. A File offers such a tensor under both names. It is safe for concurrent
// use.
type File struct {
	name    string
	entries map[string]entry
	meta    map[string]string
	open    []io.Closer
}

type entry struct {
	DType   DType     `json:"dtype"`
	Shape   []int     `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`

	from *source
}

// source is the file that holds the numbers of an entry.
type source struct {
	name  string
	r     io.ReaderAt
	start int64
}

// longestHeader is the largest length of the JSON object of a file, the limit of the reference
// implementation.
const longestHeader = 100_000_000

// ReadFile reads the header of a .safetensors file of the given size from r. The numbers are read
// later, by [File.Read], so r must stay open. The argument name identifies the file in errors.
// ReadFile returns an error if the header is invalid or extends beyond the end, or if a tensor's
// shape, type and position do not agree.
func ReadFile(name string, r io.ReaderAt, size int64) (*File, error) {
	fail := func(format string, args ...any) (*File, error) {
		return nil, fmt.Errorf("neural: %s: %w", name, fmt.Errorf(format, args...))
	}
	if err := check.Given("neural: ReadFile", "r", r); err != nil {
		return nil, err
	}
	var b [8]byte
	if size < 8 {
		return fail("%d bytes, want ≥ 8", size)
	}
	if _, err := r.ReadAt(b[:], 0); err != nil {
		return fail("reading the length of the header: %w", err)
	}
	n := binary.LittleEndian.Uint64(b[:])
	if n > longestHeader || n > uint64(size-8) {
		return fail("the header has %d bytes, want at most %d", n, min(longestHeader, size-8))
	}
	head := make([]byte, n)
	if _, err := r.ReadAt(head, 8); err != nil && !(err == io.EOF && n == 0) {
		return fail("reading the header: %w", err)
	}
	raw, err := object(head)
	if err != nil {
		return fail("the header: %w", err)
	}
	f := &File{name: name, entries: map[string]entry{}}
	from := &source{name, r, 8 + int64(n)}
	limit := uint64(size) - 8 - n
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		if key == "__metadata__" {
			if err := json.Unmarshal(raw[key], &f.meta); err != nil {
				return fail("__metadata__: %w", err)
			}
			continue
		}
		var e entry
		d := json.NewDecoder(bytes.NewReader(raw[key]))
		if err := d.Decode(&e); err != nil {
			return fail("tensor %q: %w", key, err)
		}
		if err := e.check(limit); err != nil {
			return fail("tensor %q: %w", key, err)
		}
		e.from = from
		f.entries[key] = e
	}
	f.alias()
	return f, nil
}

// object returns the members of a JSON object. It returns an error if two members have the same
// name.
func object(b []byte) (map[string]json.RawMessage, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%v, want an object", t)
	}
	for seen := map[string]bool{}; d.More(); {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(key)
		if seen[name] {
			return nil, fmt.Errorf("two members %q", name)
		}
		seen[name] = true
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// alias adds the names of omitted tensors, with the entries of the tensors that they equal.
func (f *File) alias() {
	for name, kept := range f.meta {
		e, ok := f.entries[kept]
		if _, there := f.entries[name]; ok && !there {
			f.entries[name] = e
		}
	}
}

// maxEntries is the largest number of entries of a tensor, so that its size in bytes cannot
// overflow.
const maxEntries = 1 << 37

// check returns an error if shape, type and position of the entry do not agree. An unknown type
// becomes an error only when the tensor is read.
func (e entry) check(limit uint64) error {
	from, to := e.Offsets[0], e.Offsets[1]
	if from > to || to > limit {
		return fmt.Errorf("bytes %d … %d of %d", from, to, limit)
	}
	n := uint64(1)
	for _, k := range e.Shape {
		if k < 0 || k > 0 && n > maxEntries/uint64(k) {
			return fmt.Errorf("shape %v", e.Shape)
		}
		n *= uint64(k)
	}
	if s := e.DType.size(); s > 0 && n*uint64(s) != to-from {
		return fmt.Errorf("%s of shape %v has %d bytes, want %d", e.DType, e.Shape, to-from, n*uint64(s))
	}
	return nil
}

// Close closes the files that [OpenFile] opened. Later calls of Read fail. For a File from
// [ReadFile] it does nothing.
func (f *File) Close() error {
	var err error
	for _, c := range f.open {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Names returns the names of the tensors in ascending order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.entries)) }

// Metadata returns the file's metadata under a key, or "" if there is none.
func (f *File) Metadata(key string) string { return f.meta[key] }

// Shape returns the shape of a tensor. The result ok is false if there is no such tensor.
func (f *File) Shape(name string) (shape []int, ok bool) {
	e, ok := f.entries[name]
	return slices.Clone(e.Shape), ok
}

// Source returns the name of the file that holds a tensor, or the name of the File f itself if
// there is no such tensor.
func (f *File) Source(name string) string {
	if e, ok := f.entries[name]; ok {
		return e.from.name
	}
	return f.name
}

// Read stores the numbers of a tensor in dst. It returns an error if there is no such tensor, if
// its type is unknown, or if it does not have len(dst) numbers. The error names the tensor and
// the file.
func (f *File) Read(dst []float32, name string) error {
	e, ok := f.entries[name]
	if !ok {
		return f.missing(name)
	}
	if err := f.readable(name, e.DType); err != nil {
		return err
	}
	size := e.DType.size()
	if n := product(e.Shape); n != len(dst) {
		return fmt.Errorf("neural: %s: tensor %q of shape %v has %d numbers, want %d", e.from.name, name, e.Shape, n, len(dst))
	}
	var b [1 << 14]byte
	at := e.from.start + int64(e.Offsets[0])
	for len(dst) > 0 {
		n := min(len(dst), len(b)/size)
		if _, err := e.from.r.ReadAt(b[:n*size], at); err != nil && err != io.EOF {
			return fmt.Errorf("neural: %s: tensor %q: %w", e.from.name, name, err)
		}
		e.DType.Decode(dst[:n], b[:n*size])
		dst, at = dst[n:], at+int64(n*size)
	}
	return nil
}

// Section returns the type of a tensor's numbers and a reader of the tensor's bytes in the file,
// without conversion. The reader is safe for concurrent use until the File is closed. Section
// returns an error if there is no such tensor or its type is unknown.
func (f *File) Section(name string) (DType, *io.SectionReader, error) {
	e, ok := f.entries[name]
	if !ok {
		return "", nil, f.missing(name)
	}
	if err := f.readable(name, e.DType); err != nil {
		return "", nil, err
	}
	return e.DType, io.NewSectionReader(e.from.r, e.from.start+int64(e.Offsets[0]), int64(e.Offsets[1]-e.Offsets[0])), nil
}

func (f *File) missing(name string) error {
	return fmt.Errorf("neural: %s: no tensor %q", f.name, name)
}

func (f *File) readable(name string, d DType) error {
	if d.size() > 0 {
		return nil
	}
	return fmt.Errorf("neural: %s: tensor %q has type %q, want F32, F16 or BF16", f.Source(name), name, d)
}

// Decode converts the numbers in b to float32 and stores them in dst. The numbers in b are of type
// d and little-endian, as in a file. Decode panics unless b holds len(dst) numbers.
func (d DType) Decode(dst []float32, b []byte) {
	check.Len("neural", "b", len(b), len(dst)*d.size())
	switch d {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = fromHalf(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case BF16:
		for ; len(dst) >= 4; dst, b = dst[4:], b[8:] { // four at a time take half the time
			w, v := dst[:4], binary.LittleEndian.Uint64(b)
			w[0] = math.Float32frombits(uint32(v) << 16)
			w[1] = math.Float32frombits(uint32(v) &^ 0xffff)
			w[2] = math.Float32frombits(uint32(v>>32) << 16)
			w[3] = math.Float32frombits(uint32(v>>32) &^ 0xffff)
		}
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		}
	}
}

func (d DType) append(b []byte, x []float32) []byte {
	for _, v := range x {
		switch d {
		case F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		case F16:
			b = binary.LittleEndian.AppendUint16(b, toHalf(v))
		default:
			b = binary.LittleEndian.AppendUint16(b, toBrain(v))
		}
	}
	return b
}

// WriteFile writes tensors to w as a .safetensors file. Numbers are rounded to the nearest number
// of the type dtype; "" means F32. The map metadata may be nil. WriteFile returns an error that
// names the tensor if its shape and data do not agree or it occurs twice.
func WriteFile(w io.Writer, dtype DType, tensors []Tensor, metadata map[string]string) error {
	if dtype == "" {
		dtype = F32
	}
	size := dtype.size()
	if size == 0 {
		return fmt.Errorf("neural: WriteFile: type %q, want F32, F16 or BF16", dtype)
	}
	head := make(map[string]any, len(tensors)+1)
	if len(metadata) > 0 {
		head["__metadata__"] = metadata
	}
	at := uint64(0)
	for _, t := range tensors {
		if _, twice := head[t.Name]; twice || t.Name == "__metadata__" {
			return fmt.Errorf("neural: WriteFile: two tensors %q", t.Name)
		}
		if product(t.Shape) != len(t.Data) {
			return fmt.Errorf("neural: WriteFile: tensor %q of shape %v has %d numbers", t.Name, t.Shape, len(t.Data))
		}
		end := at + uint64(len(t.Data)*size)
		head[t.Name] = entry{DType: dtype, Shape: append([]int{}, t.Shape...), Offsets: [2]uint64{at, end}}
		at = end
	}
	if err := check.Given("neural: WriteFile", "w", w); err != nil {
		return err
	}
	text, err := json.Marshal(head) // sorted keys: the same tensors give the same bytes
	if err != nil {
		return fmt.Errorf("neural: WriteFile: %w", err)
	}
	for len(text)%8 != 0 { // align the numbers to 8 bytes
		text = append(text, ' ')
	}
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if _, err := w.Write(b); err != nil {
		return err
	}
	const piece = 1 << 16
	for _, t := range tensors {
		for d := t.Data; len(d) > 0; d = d[min(piece, len(d)):] {
			if _, err := w.Write(dtype.append(b[:0], d[:min(piece, len(d))])); err != nil {
				return err
			}
		}
	}
	return nil
}

// DType is the type in which a .safetensors file stores the numbers of a tensor.
type DType string

// Types that can be read and written.
const (
	F32  DType = "F32"  // single precision, IEEE 754 binary32
	F16  DType = "F16"  // IEEE 754 binary16
	BF16 DType = "BF16" // bfloat16, the upper half of binary32
)

// size returns the number of bytes of a number, or 0 for an unknown type.
func (d DType) size() int {
	switch d {
	case F32:
		return 4
	case F16, BF16:
		return 2
	}
	return 0
}

// fromHalf converts an half precision, IEEE 754 binary16 number to float32.
func fromHalf(h uint16) float32 {
	sign, e, m := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch {
	case e == 31:
		return math.Float32frombits(sign | 0xff<<23 | m<<13)
	case e > 0:
		return math.Float32frombits(sign | (e+112)<<23 | m<<13)
	}
	f := float32(m) * 0x1p-24
	return math.Float32frombits(sign | math.Float32bits(f))
}

// toHalf rounds to the nearest binary16 number, ties to even. Numbers beyond its range become
// infinite.
func toHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign, a := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case a > 0x7f800000:
		return sign | 0x7e00
	case a >= 0x477ff000: // 65520 and above
		return sign | 0x7c00
	case a < 0x38800000: // below 2⁻¹⁴: a multiple of 2⁻²⁴
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(a))*0x1p24))
	}
	a += 0xfff + a>>13&1 // round; a carry increments the exponent
	return sign | uint16((a-112<<23)>>13)
}

// toBrain rounds to the nearest bfloat16 number, ties to even.
func toBrain(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
