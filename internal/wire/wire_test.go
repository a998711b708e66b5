package wire_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

const magic = "test 1\n"

func TestNumbersComeBack(t *testing.T) {
	u := []uint64{0, 1, math.MaxUint64}
	d := []float64{0, math.Copysign(0, -1), math.Inf(-1), math.MaxFloat64}
	f := []float32{0, -1.5, float32(math.Inf(1)), math.SmallestNonzeroFloat32}
	n := []int32{math.MinInt32, -1, math.MaxInt32}
	b := wire.AppendInt32s(wire.AppendFloat32s(wire.AppendFloat64s(wire.AppendUint64s(nil, u...), d), f), n)

	u2, d2, f2, n2 := make([]uint64, len(u)), make([]float64, len(d)), make([]float32, len(f)), make([]int32, len(n))
	rest, err := wire.ReadUint64s(b, u2)
	require.NoError(t, err)
	rest, err = wire.ReadFloat64s(rest, d2)
	require.NoError(t, err)
	rest, err = wire.ReadFloat32s(rest, f2)
	require.NoError(t, err)
	rest, err = wire.ReadInt32s(rest, n2)
	require.NoError(t, err)
	require.NoError(t, wire.ReadEnd(rest))
	assert.Equal(t, u, u2)
	assert.Equal(t, d, d2)
	assert.True(t, math.Signbit(d2[1]))
	assert.Equal(t, f, f2)
	assert.Equal(t, n, n2)
	require.ErrorContains(t, wire.ReadEnd(b[:3]), "3 bytes too many")
}

func TestShortInputIsRefused(t *testing.T) {
	b := make([]byte, 7)
	_, err := wire.ReadUint64s(b, make([]uint64, 1))
	require.ErrorIs(t, err, wire.ErrShort)
	_, err = wire.ReadFloat64s(b, make([]float64, 1))
	require.ErrorIs(t, err, wire.ErrShort)
	_, err = wire.ReadFloat32s(b, make([]float32, 2))
	require.ErrorIs(t, err, wire.ErrShort)
	_, err = wire.ReadInt32s(b, make([]int32, 2))
	require.ErrorIs(t, err, wire.ErrShort)
}

func TestFramesStandOneAfterTheOther(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, wire.Write(&b, magic, []byte("first")))
	require.NoError(t, wire.Write(&b, magic, nil))
	body, err := wire.Read(&b, magic, 5)
	require.NoError(t, err)
	assert.Equal(t, "first", string(body))
	body, err = wire.Read(&b, magic, 5)
	require.NoError(t, err)
	assert.Empty(t, body)
	assert.Zero(t, b.Len())
}

func TestEveryDamagedByteIsRefused(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, wire.Write(&b, magic, []byte("the body")))
	whole := b.Bytes()
	for i := range whole {
		for bit := range 8 {
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << bit
			_, err := wire.Read(bytes.NewReader(bad), magic, math.MaxUint64)
			require.Error(t, err, "byte %d, bit %d", i, bit)
		}
		_, err := wire.Read(bytes.NewReader(whole[:i]), magic, math.MaxUint64)
		require.Error(t, err, "cut at %d", i)
	}
	_, err := wire.Read(bytes.NewReader(whole), magic, 7)
	require.ErrorContains(t, err, "holds 8 bytes, want ≤ 7")
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorsReachTheCaller(t *testing.T) {
	require.ErrorIs(t, wire.Write(full{}, magic, nil), errFull)
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	_ = wire.Write(&b, magic, []byte("seed"))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		body, err := wire.Read(r, magic, 1<<20)
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, wire.Write(&again, magic, body))
		rest, _ := io.ReadAll(r)
		assert.Equal(t, data, append(again.Bytes(), rest...))
	})
}

func TestIntegersComeBack(t *testing.T) {
	want := []uint64{0, 7, math.MaxUint64}
	got := make([]uint64, 3)
	rest, err := wire.ReadUint64s(wire.AppendInts(nil, 0, 7, -1), got)
	require.NoError(t, err)
	require.Empty(t, rest)
	assert.Equal(t, want, got)
}

// Body is Read for a frame in memory: the whole of it and nothing else.
func TestBody(t *testing.T) {
	whole := wire.Append(nil, magic, []byte("the body"))
	body, err := wire.Body(whole, magic)
	require.NoError(t, err)
	assert.Equal(t, "the body", string(body))
	for i := range whole {
		for bit := range 8 {
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << bit
			_, err := wire.Body(bad, magic)
			require.Error(t, err, "byte %d, bit %d", i, bit)
		}
		_, err := wire.Body(whole[:i], magic)
		require.Error(t, err, "cut at %d", i)
	}
	_, err = wire.Body(append(whole, 'x'), magic)
	require.ErrorContains(t, err, "1 bytes too many")
}

// word is a part of one number, which refuses 13.
type word struct{ v uint64 }

func (w *word) AppendBinary(b []byte) ([]byte, error) {
	if w.v == 13 {
		return nil, errFull
	}
	return wire.AppendUint64s(b, w.v), nil
}

func (w *word) UnmarshalBinary(b []byte) error {
	var v [1]uint64
	b, err := wire.ReadUint64s(b, v[:])
	if err != nil {
		return err
	}
	w.v = v[0]
	return wire.ReadEnd(b)
}

func TestPartsComeBack(t *testing.T) {
	through := func(parts []*word) func(*wire.Fields) {
		return func(f *wire.Fields) {
			for _, p := range parts {
				f.Sized(p)
			}
		}
	}
	b, err := wire.AppendFields([]byte("before"), through([]*word{{5}, {math.MaxUint64}}))
	require.NoError(t, err)
	b = append(b, "after"...)[len("before"):]
	got := []*word{{}, {}}
	rest, err := wire.ReadFront(b, through(got))
	require.NoError(t, err)
	assert.Equal(t, "after", string(rest))
	assert.Equal(t, []*word{{5}, {math.MaxUint64}}, got)

	for cut := range 2 * 16 {
		_, err := wire.ReadFront(b[:cut], through(got))
		assert.ErrorIs(t, err, wire.ErrShort, "cut at %d", cut)
	}
	b[0] = 9 // bytes: one more than the part is long
	_, err = wire.ReadFront(b, through(got))
	assert.ErrorContains(t, err, "1 bytes too many")
	b[7] = 0xff
	_, err = wire.ReadFront(b, through(got))
	assert.ErrorContains(t, err, "bytes of a part = 18374686479671623689, want 0 … ")
	_, err = wire.AppendFields(nil, through([]*word{{5}, {13}}))
	assert.ErrorIs(t, err, errFull)
}
