package wire

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
)

// Fields appends the fields of a state to a checkpoint, or reads them by the same calls in
// the same order, so that writing and reading cannot disagree. After an error it does
// nothing more; discard what it has read. In the docs of the methods, "goes through" means
// "appends or reads".
type Fields struct {
	body    []byte
	reading bool
	err     error
}

// Appending returns Fields that append to body.
func Appending(body []byte) *Fields { return &Fields{body: body} }

// Reading returns Fields that read body.
func Reading(body []byte) *Fields { return &Fields{body: body, reading: true} }

// Reading reports whether fields are being read; only then must they be checked.
func (f *Fields) Reading() bool { return f.reading && f.err == nil }

// Rest returns what was appended, or what is left to read.
func (f *Fields) Rest() ([]byte, error) { return f.body, f.err }

// Fail records an error in what was read. It does nothing if fields are being appended,
// after another error, or if err is nil.
func (f *Fields) Fail(err error) {
	if f.Reading() {
		f.err = err
	}
}

// read calls one of the readers of this package on what is left.
func read[T any](f *Fields, v []T, from func([]byte, []T) ([]byte, error)) {
	if !f.Reading() {
		return
	}
	f.body, f.err = from(f.body, v)
}

// Int goes through *v, eight bytes. One that is read must be least … most, least ≥ 0; what
// names it in the error.
func (f *Fields) Int(what string, v *int, least, most int) {
	*v = int(f.word(what, uint64(*v), uint64(least), uint64(most)))
}

// Uint32 goes through *v, as a word of 64 bits.
func (f *Fields) Uint32(what string, v *uint32) {
	*v = uint32(f.word(what, uint64(*v), 0, math.MaxUint32))
}

// word appends v, or returns what is read in its place, v after an error.
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

// Tag goes through a number that marks a format. A body that has another number there is of
// what foreign names.
func (f *Fields) Tag(tag uint64, foreign string) {
	if got := f.word("", tag, 0, math.MaxUint64); got != tag {
		f.Fail(fmt.Errorf("the checkpoint is of %s: format %d, want %d", foreign, got, tag))
	}
}

// Bool goes through *v, as an Int of 0 or 1.
func (f *Fields) Bool(what string, v *bool) {
	n := 0
	if *v {
		n = 1
	}
	f.Int(what, &n, 0, 1)
	*v = n == 1
}

// Counts goes through steps and the like: Ints of 0 … math.MaxInt.
func (f *Fields) Counts(what string, v ...*int) {
	for _, n := range v {
		f.Int(what, n, 0, math.MaxInt)
	}
}

// Ints goes through v, any numbers, eight bytes each.
func (f *Fields) Ints(v []int) {
	for i, n := range v {
		v[i] = int(f.word("", uint64(n), 0, math.MaxUint64))
	}
}

// Float64 goes through *v.
func (f *Fields) Float64(v *float64) {
	w := [1]float64{*v}
	f.Float64s(w[:])
	*v = w[0]
}

// Float64s goes through the bits of v.
func (f *Fields) Float64s(v []float64) {
	if !f.reading {
		f.body = AppendFloat64s(f.body, v)
	}
	read(f, v, ReadFloat64s)
}

// Uint64s goes through v.
func (f *Fields) Uint64s(v []uint64) {
	if !f.reading {
		f.body = AppendUint64s(f.body, v...)
	}
	read(f, v, ReadUint64s)
}

// Float32s goes through the bits of v.
func (f *Fields) Float32s(v []float32) {
	if !f.reading {
		f.body = AppendFloat32s(f.body, v)
	}
	read(f, v, ReadFloat32s)
}

// Int32s goes through v.
func (f *Fields) Int32s(v []int32) {
	if !f.reading {
		f.body = AppendInt32s(f.body, v)
	}
	read(f, v, ReadInt32s)
}

// Tokens goes through v, of which each must be 0 … levels−1 where it is read.
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

// Text goes through *s with its length, of at most 2³⁰ bytes, before it.
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

// Binary goes through what v appends of itself, which takes the given number of bytes; −1:
// all that is left.
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

// Sized is Binary with the number of bytes, which may be any, before it.
func (f *Fields) Sized(v Binary) {
	at, size := len(f.body), 0
	f.Int("bytes of a part", &size, 0, math.MaxInt)
	if f.Binary(v, size); !f.reading && f.err == nil {
		binary.LittleEndian.PutUint64(f.body[at:], uint64(len(f.body)-at-8))
	}
}

// AppendFields appends the fields that a function goes through to b.
func AppendFields(b []byte, through func(*Fields)) ([]byte, error) {
	f := Appending(b)
	through(f)
	return f.Rest()
}

// ReadFront reads the fields that a function goes through from the front of b
// and returns the rest.
func ReadFront(b []byte, through func(*Fields)) (rest []byte, err error) {
	f := Reading(b)
	through(f)
	return f.Rest()
}

// ReadFields reads the fields that a function goes through from b, all of it.
func ReadFields(b []byte, through func(*Fields)) error {
	b, err := ReadFront(b, through)
	if err == nil {
		err = ReadEnd(b)
	}
	return err
}
