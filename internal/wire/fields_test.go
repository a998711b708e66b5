package wire_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// all has a field of every kind.
type all struct {
	n, steps int
	flag     bool
	any      []int
	at       float64
	d        []float64
	u        []uint64
	s        []float32
	i, x     []int32
	random   uint32
	own, big word
}

func (a *all) fields(f *wire.Fields) {
	f.Int("number", &a.n, 2, 9)
	f.Counts("steps", &a.steps)
	f.Bool("flag", &a.flag)
	f.Float64(&a.at)
	f.Float64s(a.d)
	f.Uint64s(a.u)
	f.Float32s(a.s)
	f.Int32s(a.i)
	f.Tokens(a.x, 3)
	f.Uint32("random word", &a.random)
	f.Ints(a.any)
	f.Binary(&a.own, 8)
	f.Sized(&a.big)
}

func blank() *all {
	return &all{any: make([]int, 2), d: make([]float64, 2), u: make([]uint64, 1), s: make([]float32, 1), i: make([]int32, 2), x: make([]int32, 3)}
}

// Fields come back by the calls that wrote them; what is cut off, or out of range, is
// refused by its name.
func TestFieldsComeBack(t *testing.T) {
	a := &all{7, math.MaxInt, true, []int{-3, math.MaxInt}, -0.5, []float64{1, math.Inf(-1)}, []uint64{math.MaxUint64}, []float32{2}, []int32{-1, 5}, []int32{0, 2, 1}, math.MaxUint32, word{5}, word{6}}
	write := func(a *all) ([]byte, error) {
		f := wire.Appending([]byte("before"))
		assert.False(t, f.Reading())
		a.fields(f)
		f.Fail(errFull) // which is about what is read
		return f.Rest()
	}
	b, err := write(a)
	require.NoError(t, err)
	b = b[len("before"):]
	read := func(b []byte) (*all, error) {
		a, f := blank(), wire.Reading(b)
		a.fields(f)
		rest, err := f.Rest()
		if err == nil {
			err = wire.ReadEnd(rest)
		}
		return a, err
	}
	got, err := read(b)
	require.NoError(t, err)
	assert.Equal(t, a, got)
	for cut := range b {
		_, err := read(b[:cut])
		require.ErrorIs(t, err, wire.ErrShort, "cut at %d", cut)
	}
	for want, edit := range map[string]func(b []byte){
		"number = 1, want 2 … 9":  func(b []byte) { b[0] = 1 },
		"number = 10, want 2 … 9": func(b []byte) { b[0] = 10 },
		fmt.Sprintf("steps = %d, want 0 … ", uint64(math.MaxInt)|0xff<<56): func(b []byte) { b[15] = 0xff },
		"flag = 2, want 0 … 1":                          func(b []byte) { b[16] = 2 },
		"token 1 = 3, want 0 … 2":                       func(b []byte) { b[24+8+16+8+4+8+4] = 3 },
		"random word = 8589934591, want 0 … 4294967295": func(b []byte) { b[24+8+16+8+4+8+12+4] = 1 },
		"1 bytes too many":                              func(b []byte) { b[len(b)-17] = 9 },
	} {
		bad := append(append([]byte{}, b...), 0)
		if want != "1 bytes too many" {
			bad = bad[:len(b)]
		}
		edit(bad)
		_, err := read(bad)
		assert.ErrorContains(t, err, want)
	}
	a.own.v = 13
	_, err = write(a)
	assert.ErrorIs(t, err, errFull)
	f := wire.Reading(wire.AppendUint64s(nil, 4))
	var w word
	f.Binary(&w, -1)
	f.Fail(nil)
	f.Fail(errFull)
	_, err = f.Rest()
	assert.ErrorIs(t, err, errFull)
	assert.Equal(t, uint64(4), w.v)
}

// A tag says what a body is of, and a text has its length before it.
func TestTagsAndTexts(t *testing.T) {
	through := func(tag uint64, s *string) func(f *wire.Fields) {
		return func(f *wire.Fields) {
			f.Tag(tag, "another kernel")
			f.Text("length of a note", s)
			f.Text("length of nothing", new(string))
		}
	}
	note := "a note"
	b, err := wire.AppendFields(nil, through(5, &note))
	require.NoError(t, err)
	var got string
	require.NoError(t, wire.ReadFields(b, through(5, &got)))
	assert.Equal(t, note, got)
	for cut := range b {
		require.ErrorIs(t, wire.ReadFields(b[:cut], through(5, &got)), wire.ErrShort)
	}
	assert.ErrorContains(t, wire.ReadFields(b, through(6, &got)), "the checkpoint is of another kernel: format 5, want 6")
	b[15] = 0xff
	assert.ErrorContains(t, wire.ReadFields(b, through(5, &got)), "length of a note = 18374686479671623686, want 0 … ")
}
