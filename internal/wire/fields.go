package wire

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
)

// Fields is a checkpoint that is being written or read, value by value. A method such as
// [Fields.Int] appends the value when writing, and reads it when reading. One function that calls
// these methods can therefore both write and read a state, in the same order and format. After an
// error, further calls do nothing, and the values read must be discarded.
type Fields struct {
	body    []byte
	reading bool
	err     error
}

// Appending returns a Fields that appends to body.
func Appending(body []byte) *Fields { return &Fields{body: body} }

// Reading returns a Fields that reads from body.
func Reading(body []byte) *Fields { return &Fields{body: body, reading: true} }

// Reading reports whether the methods of f read values. It is false when writing or after an error.
// Only values that were read need to be checked.
func (f *Fields) Reading() bool { return f.reading && f.err == nil }

// Rest returns the body with all appended values. When reading, it returns the bytes not yet read.
// It also returns the first error.
func (f *Fields) Rest() ([]byte, error) { return f.body, f.err }

// Fail records an error about a value that was read. It does nothing when writing, if f already has
// an error, or if err is nil.
func (f *Fields) Fail(err error) {
	if f.Reading() {
		f.err = err
	}
}

// read fills v by one of the readers of this package, unless f is writing or has an error.
func read[T any](f *Fields, v []T, from func([]byte, []T) ([]byte, error)) {
	if !f.Reading() {
		return
	}
	f.body, f.err = from(f.body, v)
}

// Int appends or reads *v in eight bytes. A value that is read must be in [lo, hi], where lo ≥ 0.
// The first argument names the value in errors.
func (f *Fields) Int(what string, v *int, lo, hi int) {
	*v = int(f.word(what, uint64(*v), uint64(lo), uint64(hi)))
}

// Uint32 appends or reads *v in eight bytes.
func (f *Fields) Uint32(what string, v *uint32) {
	*v = uint32(f.word(what, uint64(*v), 0, math.MaxUint32))
}

// word appends v and returns v, or returns the word that it reads. After an error it returns v.
func (f *Fields) word(what string, v, least, most uint64) uint64 {
	if !f.reading {
		f.body = binary.LittleEndian.AppendUint64(f.body, v)
		return v
	}
	var w [1]uint64
	if read(f, w[:], ReadUint64s); f.err != nil {
		return v
	}
	if w[0] < least || w[0] > most {
		f.Fail(fmt.Errorf("%s = %d, want %d … %d", what, w[0], least, most))
		return v
	}
	return w[0]
}

// Tag appends or reads a number that identifies a format. If Tag reads a different number, the
// error states that the checkpoint is of another format. The argument otherFormat describes that
// format in the error.
func (f *Fields) Tag(tag uint64, otherFormat string) {
	if got := f.word("", tag, 0, math.MaxUint64); got != tag {
		f.Fail(fmt.Errorf("the checkpoint is of %s: format %d, want %d", otherFormat, got, tag))
	}
}

// Bool appends or reads *v like [Fields.Int], as 0 or 1.
func (f *Fields) Bool(what string, v *bool) {
	n := 0
	if *v {
		n = 1
	}
	f.Int(what, &n, 0, 1)
	*v = n == 1
}

// Counts appends or reads each *v like [Fields.Int], with the range 0 … math.MaxInt.
func (f *Fields) Counts(what string, v ...*int) {
	for _, n := range v {
		f.Int(what, n, 0, math.MaxInt)
	}
}

// Ints appends or reads v, eight bytes each, without a range check.
func (f *Fields) Ints(v []int) {
	for i, n := range v {
		v[i] = int(f.word("", uint64(n), 0, math.MaxUint64))
	}
}

// Float64 appends or reads the bits of *v.
func (f *Fields) Float64(v *float64) {
	w := [1]float64{*v}
	f.Float64s(w[:])
	*v = w[0]
}

// Float64s appends or reads the bits of v.
func (f *Fields) Float64s(v []float64) {
	if !f.reading {
		f.body = AppendFloat64s(f.body, v)
	}
	read(f, v, ReadFloat64s)
}

// Uint64s appends or reads v, eight bytes each.
func (f *Fields) Uint64s(v []uint64) {
	if !f.reading {
		f.body = AppendUint64s(f.body, v...)
	}
	read(f, v, ReadUint64s)
}

// Float32s appends or reads the bits of v.
func (f *Fields) Float32s(v []float32) {
	if !f.reading {
		f.body = AppendFloat32s(f.body, v)
	}
	read(f, v, ReadFloat32s)
}

// Int32s appends or reads v, four bytes each.
func (f *Fields) Int32s(v []int32) {
	if !f.reading {
		f.body = AppendInt32s(f.body, v)
	}
	read(f, v, ReadInt32s)
}

// Tokens appends or reads v. Every token read must be 0 … levels−1.
func (f *Fields) Tokens(v []int32, levels int) {
	f.Int32s(v)
	if !f.Reading() {
		return
	}
	for i, l := range v {
		if l < 0 || int(l) >= levels {
			f.Fail(fmt.Errorf("token %d = %d, want 0 … %d", i, l, levels-1))
			return
		}
	}
}

// Text appends or reads the length of *s, and then *s. A length that is read must be at most 2³⁰
// bytes.
func (f *Fields) Text(what string, s *string) {
	n := len(*s)
	f.Int(what, &n, 0, 1<<30)
	switch {
	case f.err != nil:
	case !f.reading:
		f.body = append(f.body, *s...)
	case n > len(f.body):
		f.err = ErrShort
	default:
		*s, f.body = string(f.body[:n]), f.body[n:]
	}
}

// Binary is implemented by values that encode and decode themselves.
type Binary interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Binary appends the encoding of v or, when reading, decodes v from the next size bytes. A size
// of −1 means all bytes that are left.
func (f *Fields) Binary(v Binary, size int) {
	switch {
	case f.err != nil:
	case !f.reading:
		f.body, f.err = v.AppendBinary(f.body)
	case size > len(f.body):
		f.err = ErrShort
	default:
		if size < 0 {
			size = len(f.body)
		}
		f.err = v.UnmarshalBinary(f.body[:size])
		f.body = f.body[size:]
	}
}

// Sized appends the length of v's encoding and then the encoding. When reading, it reads the length
// and decodes v from that many bytes.
func (f *Fields) Sized(v Binary) {
	at, size := len(f.body), 0
	f.Int("bytes of a part", &size, 0, math.MaxInt)
	if f.Binary(v, size); !f.reading && f.err == nil {
		binary.LittleEndian.PutUint64(f.body[at:], uint64(len(f.body)-at-8))
	}
}

// AppendFields calls codec with a [Fields] that appends to b, and returns the extended slice.
func AppendFields(b []byte, codec func(*Fields)) ([]byte, error) {
	f := Appending(b)
	codec(f)
	return f.Rest()
}

// ReadFront calls codec with a [Fields] that reads from the front of b, and returns the rest of b.
func ReadFront(b []byte, codec func(*Fields)) (rest []byte, err error) {
	f := Reading(b)
	codec(f)
	return f.Rest()
}

// ReadFields is like [ReadFront], but returns an error if codec does not read all of b.
func ReadFields(b []byte, codec func(*Fields)) error {
	b, err := ReadFront(b, codec)
	if err == nil {
		err = ReadEnd(b)
	}
	return err
}
