package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// file puts a header text and data together, by hand.
func file(major byte, text string, data ...byte) []byte {
	b := []byte("\x93NUMPY")
	b = append(b, major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return append(append(b, text...), data...)
}

// dict is a header as NumPy writes it.
func dict(descr, fortran, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
}

// TestWriteGolden fixes the bytes of a file: they are those of
// numpy.save(f, numpy.array([[1, 2.5]], '<f4')) by the format's definition.
func TestWriteGolden(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, []float32{1, 2.5}, 1, 2))
	want := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" +
		strings.Repeat(" ", 58) + "\n" + "\x00\x00\x80\x3f\x00\x00\x20\x40"
	assert.Equal(t, want, b.String())
	assert.Equal(t, 128+8, b.Len(), "data start at a multiple of 64")
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 4).Draw(t, "shape")
		n := 1
		for _, d := range shape {
			n *= d
		}
		roundTrip(t, rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "f4"), shape)
		roundTrip(t, rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, "f8"), shape)
		roundTrip(t, rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "i4"), shape)
	})
}

func roundTrip[T Element](t *rapid.T, data []T, shape []int) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, data, shape...))
	b.WriteString("next")
	gotShape, got, err := Read[T](&b)
	require.NoError(t, err)
	require.Equal(t, append([]int{}, shape...), gotShape)
	require.Len(t, got, len(data))
	for i := range data {
		require.Equal(t, data[i], got[i])
	}
	require.Equal(t, "next", b.String(), "nothing is read past the array")
}

func TestLargerThanAChunk(t *testing.T) {
	data := make([]float64, 2*chunk+17)
	for i := range data {
		data[i] = float64(i)
	}
	var b bytes.Buffer
	require.NoError(t, Write(&b, data, len(data)))
	_, got, err := Read[float32](iotest.OneByteReader(&b))
	require.NoError(t, err)
	require.Len(t, got, len(data))
	assert.Equal(t, float32(2*chunk+16), got[2*chunk+16])
}

func TestReadFortranOrder(t *testing.T) {
	// The array a[i,j,k] = 100i+10j+k of shape 2×3×2, first index fastest.
	var data []byte
	for k := range 2 {
		for j := range 3 {
			for i := range 2 {
				data = binary.BigEndian.AppendUint64(data, math.Float64bits(float64(100*i+10*j+k)))
			}
		}
	}
	shape, got, err := Read[float64](bytes.NewReader(file(2, dict(">f8", "True", "(2, 3, 2)"), data...)))
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3, 2}, shape)
	assert.Equal(t, []float64{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}, got)
}

func TestReadDialects(t *testing.T) {
	one := []byte{0, 0, 0x80, 0x3f}
	for _, text := range []string{
		dict("<f4", "False", "(1,)"),
		dict("<f4", "False", "()"),
		dict("<f4", "True", "(1L, 1L)"),
		`{"shape":(1,),"descr":"<f4","fortran_order":False}` + "  \n",
	} {
		for major := byte(1); major <= 3; major++ {
			_, got, err := Read[float64](bytes.NewReader(file(major, text, one...)))
			require.NoError(t, err, text)
			assert.Equal(t, []float64{1}, got, text)
		}
	}
	_, ints, err := Read[int32](bytes.NewReader(file(1, dict(">i4", "False", "(1,)"), 0xff, 0xff, 0xff, 0xfe)))
	require.NoError(t, err)
	assert.Equal(t, []int32{-2}, ints)
	shape, none, err := Read[float32](bytes.NewReader(file(1, dict("<f4", "False", fmt.Sprintf("(0, %d)", math.MaxInt)))))
	require.NoError(t, err)
	assert.Equal(t, []int{0, math.MaxInt}, shape)
	assert.Empty(t, none)
}

func TestReadRefuses(t *testing.T) {
	for want, in := range map[string][]byte{
		"reading the magic string: unexpected EOF":              {},
		`starts with "GIF89a"`:                                  []byte("GIF89a\x01\x00"),
		"version 4, want 1, 2 or 3":                             []byte("\x93NUMPY\x04\x00"),
		"length of the header: unexpected EOF":                  []byte("\x93NUMPY\x02\x00\x01"),
		"header of 4294967295 bytes, want ≤ 10000":              []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"),
		"reading the header: unexpected EOF":                    []byte("\x93NUMPY\x01\x00\x05\x00{"),
		`descr = "<c8", want float32`:                           file(1, dict("<c8", "False", "(1,)")),
		"structured types are not supported":                    file(1, "{'descr': [('a', '<f4')], }"),
		"neither True nor False":                                file(1, dict("<f4", "Maybe", "(1,)")),
		`key "shape" twice`:                                     file(1, "{'shape': (1,), 'shape': (1,)}"),
		`no key "descr"`:                                        file(1, "{}"),
		`unknown key "colour"`:                                  file(1, "{'colour': 1}"),
		`ends where "}" should be`:                              file(1, "{'shape': (1,)"),
		`"1" where "(" should be`:                               file(1, "{'shape': 1}"),
		`ends where "{" should be`:                              file(1, ""),
		"no string where one should be":                         file(1, "{1: 2}"),
		"a string without an end":                               file(1, "{'descr"),
		`"=" where ":" should be`:                               file(1, "{'descr' = '<f4'}"),
		`"x" after the dictionary`:                              file(1, dict("<f4", "False", "(1,)")+" x"),
		"shape[1]: no integer ≥ 0":                              file(1, dict("<f4", "False", "(1, -1)")),
		"99999999999999999999 is out of range":                  file(1, dict("<f4", "False", "(99999999999999999999,)")),
		"has too many elements":                                 file(1, dict("<f4", "False", "(4294967296, 4294967296)")),
		"more than 64 dimensions":                               file(1, dict("<f4", "False", "("+strings.Repeat("1,", 65)+")")),
		`"2" where ")" should be`:                               file(1, dict("<f4", "False", "(1 2)")),
		"elements are i4, which cannot be read as float32":      file(1, dict("<i4", "False", "(1,)")),
		"data end after 1 of 1152921504606846975 elements":      file(1, dict("<f4", "False", "(1152921504606846975,)"), 0, 0, 0, 0, 0),
		"shape [2]: data end after 0 of 2 elements: unexpected": file(1, dict("<f4", "False", "(2,)")),
	} {
		_, _, err := Read[float32](bytes.NewReader(in))
		if strconv.IntSize == 32 && strings.Contains(fmt.Sprint(err), "is out of range") {
			continue // a dimension that is no int of 32 bits
		}
		assert.ErrorContains(t, err, want)
	}
	_, _, err := Read[int32](bytes.NewReader(file(1, dict("<f8", "False", "(1,)"))))
	assert.ErrorContains(t, err, "elements are f8, which cannot be read as int32")
	_, _, err = Read[float32](iotest.ErrReader(io.ErrClosedPipe))
	assert.ErrorIs(t, err, io.ErrClosedPipe)
}

type full struct{ left int }

func (w *full) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return 0, errors.New("full")
	}
	w.left -= len(b)
	return len(b), nil
}

func TestWriteRefuses(t *testing.T) {
	assert.ErrorContains(t, Write(io.Discard, []int32{1, 2, 3}, 2, 2), "len(data) = 3, want the 4 elements of shape [2 2]")
	assert.ErrorContains(t, Write(io.Discard, []int32{1}, -1), "shape[0] = -1, want ≥ 0")
	assert.ErrorContains(t, Write(io.Discard, []int32{1}, math.MaxInt, 2), "too many")
	assert.ErrorContains(t, Write(io.Discard, []int32{1}, bytes65()...), "at most 64 dimensions")
	assert.EqualError(t, Write(&full{}, []int32{1}, 1), "npy: full")
	assert.EqualError(t, Write(&full{130}, []int32{1}, 1), "npy: full")
}

func bytes65() []int {
	s := make([]int, 65)
	for i := range s {
		s[i] = 1
	}
	return s
}

func FuzzRead(f *testing.F) {
	f.Add(file(1, dict("<f4", "False", "(1,)"), 0, 0, 0, 0))
	f.Add(file(2, dict(">f8", "True", "(1, 2)"), make([]byte, 16)...))
	f.Add(file(3, dict("<i4", "False", "()"), 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, in []byte) {
		shape, data, err := Read[float32](bytes.NewReader(in))
		if err != nil {
			return
		}
		n, err := product(shape)
		require.NoError(t, err)
		require.Len(t, data, n)
		var b bytes.Buffer
		require.NoError(t, Write(&b, data, shape...))
		again, same, err := Read[float32](&b)
		require.NoError(t, err)
		require.Equal(t, shape, again)
		for i := range data {
			require.Equal(t, math.Float32bits(data[i])&^0x400000, math.Float32bits(same[i])&^0x400000) // NaN may become quiet
		}
	})
}
