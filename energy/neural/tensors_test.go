package neural

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func read(b []byte) (*File, error) {
	return ReadFile("w.safetensors", bytes.NewReader(b), int64(len(b)))
}

// file is a file with the given header.
func file(head string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	return append(append(b, head...), make([]byte, data)...)
}

func TestHalfPrecision(t *testing.T) {
	for h := range 1 << 16 { // every number there and back
		f := fromHalf(uint16(h))
		if f != f {
			assert.Equal(t, uint16(0x7e00), toHalf(f)&0x7e00)
			continue
		}
		e, m := h>>10&31, float64(h&1023)
		want := math.Ldexp(m, -24)
		switch {
		case e == 31:
			want = math.Inf(1)
		case e > 0:
			want = math.Ldexp(1024+m, e-25)
		}
		require.Equal(t, want, math.Abs(float64(f)))
		require.Equal(t, uint16(h), toHalf(f))
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 { // the nearer neighbour, even in the middle
		f := math.Float32frombits(r.Uint32())
		if a := math.Abs(float64(f)); a < 65504 && a > 1e-9 {
			got := toHalf(f)
			err := math.Abs(float64(fromHalf(got)) - float64(f))
			for _, h := range []uint16{got - 1, got + 1} {
				if n := fromHalf(h); n == n {
					other := math.Abs(float64(n) - float64(f))
					require.True(t, err < other || err == other && got&1 == 0, "%v", f)
				}
			}
		}
		if f == f {
			b := toBrain(f)
			back := math.Float32frombits(uint32(b) << 16)
			if !math.IsInf(float64(back), 0) {
				require.LessOrEqual(t, math.Abs(float64(back)-float64(f)), math.Abs(float64(f))/256+0x1p-134)
			}
		}
	}
	assert.Equal(t, []uint16{0x3f80, 0x3f80, 0x3f82, 0x3f81}, []uint16{toBrain(1), toBrain(1 + 0x1p-8), toBrain(1 + 3*0x1p-8), toBrain(1 + 0x1.8p-8)})
	nan := math.Float32frombits(uint32(toBrain(float32(math.NaN()))) << 16)
	assert.True(t, nan != nan)
	assert.Equal(t, []uint16{0x7bff, 0x7c00, 0xfc00}, []uint16{toHalf(65519), toHalf(65520), toHalf(-1e9)})
}

func TestNetworksSurviveARoundTrip(t *testing.T) {
	for name, cfg := range shapes {
		net := randomNet(t, cfg, 1)
		for _, d := range []DType{"", F32, F16, BF16} {
			path := filepath.Join(t.TempDir(), "w.safetensors")
			w, err := os.Create(path)
			require.NoError(t, err)
			require.NoError(t, net.Write(w, d))
			require.NoError(t, w.Close())
			got, err := Open(path, Config{})
			require.NoError(t, err, name)
			assert.Equal(t, net.Config(), got.Config())
			tolerance := map[DType]float64{F16: 0x1p-11, BF16: 0x1p-8}[d]
			for i, v := range net.Weights() {
				require.LessOrEqual(t, math.Abs(float64(got.Weights()[i]-v)), tolerance*max(math.Abs(float64(v)), 0x1p-14), "%s %s", name, d)
			}
		}
	}
	var a, b bytes.Buffer
	net := randomNet(t, shapes["plain"], 1)
	require.NoError(t, net.Write(&a, F16))
	require.NoError(t, net.Write(&b, F16))
	assert.Equal(t, a.Bytes(), b.Bytes())
	f, err := read(a.Bytes())
	require.NoError(t, err)
	assert.Equal(t, "4", f.Metadata("length"))
	assert.Equal(t, len(net.Tensors()), len(f.Names()))
}

func TestFileErrors(t *testing.T) {
	good := `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	for want, b := range map[string][]byte{
		"3 bytes, want ≥ 8":                                   {1, 2, 3},
		"the header has 9 bytes, want at most 2":              append(binary.LittleEndian.AppendUint64(nil, 9), '{', '}'),
		"the header: unexpected end of JSON input":            file("", 0),
		"tensor \"a\": bytes 0 … 8 of 7":                      file(good, 7),
		"tensor \"a\": bytes 9 … 8 of 8":                      file(strings.Replace(good, "[0,8]", "[9,8]", 1), 8),
		"tensor \"a\": F32 of shape [3] has 8 bytes, want 12": file(strings.Replace(good, "[2]", "[3]", 1), 8),
		"tensor \"a\": shape [-2]":                            file(strings.Replace(good, "[2]", "[-2]", 1), 8),
		"tensor \"a\": shape [65536 65536 65536 65536]":       file(strings.Replace(good, "[2]", "[65536,65536,65536,65536]", 1), 8),
		"tensor \"a\": json: cannot unmarshal string into Go struct field entry.shape of type []int": file(strings.Replace(good, "[2]", `"x"`, 1), 8),
		"__metadata__: json: cannot unmarshal number into Go value of type map[string]string":        file(`{"__metadata__":1}`, 0),
	} {
		_, err := read(b)
		assert.EqualError(t, err, "neural: w.safetensors: "+want)
	}
	f, err := read(file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, 8))
	require.NoError(t, err)
	assert.EqualError(t, f.Read(nil, "c"), `neural: w.safetensors: no tensor "c"`)
	assert.EqualError(t, f.Read(make([]float32, 1), "b"), `neural: w.safetensors: tensor "b" has type "I64", want F32, F16 or BF16`)
	assert.EqualError(t, f.Read(make([]float32, 3), "a"), `neural: w.safetensors: tensor "a" of shape [2] has 2 numbers, want 3`)
}

type broken struct{ n int }

func (b *broken) Write(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	one := Tensor{"a", []int{2}, []float32{1, 2}}
	assert.EqualError(t, WriteFile(io.Discard, "F8", nil, nil), `neural: WriteFile: type "F8", want F32, F16 or BF16`)
	assert.EqualError(t, WriteFile(io.Discard, "", []Tensor{one, one}, nil), `neural: WriteFile: two tensors "a"`)
	assert.EqualError(t, WriteFile(io.Discard, "", []Tensor{{"a", []int{3}, one.Data}}, nil), `neural: WriteFile: tensor "a" of shape [3] has 2 numbers`)
	for n := range 2 {
		assert.ErrorIs(t, WriteFile(&broken{n}, "", []Tensor{one}, nil), io.ErrShortWrite)
	}
}

func TestLoadErrorsNameTensorAndFile(t *testing.T) {
	net := randomNet(t, shapes["conditioned"], 1)
	change := func(f func(all []Tensor) []Tensor) []byte {
		var all []Tensor
		for _, p := range net.Tensors() {
			p.Data = append([]float32(nil), p.Data...)
			all = append(all, p)
		}
		var b bytes.Buffer
		require.NoError(t, WriteFile(&b, "", f(all), map[string]string{"length": "5", "heads": "2"}))
		return b.Bytes()
	}
	at := func(all []Tensor, name string) int {
		for i, p := range all {
			if p.Name == name {
				return i
			}
		}
		panic(name)
	}
	for want, f := range map[string]func(all []Tensor) []Tensor{
		`no tensor "blocks.1.norm2.weight"`: func(all []Tensor) []Tensor {
			i := at(all, "blocks.1.norm2.weight")
			return append(all[:i], all[i+1:]...)
		},
		`tensor "blocks.1.attn_out.weight" has shape [4 16], want [8 8]`: func(all []Tensor) []Tensor {
			all[at(all, "blocks.1.attn_out.weight")].Shape = []int{4, 16}
			return all
		},
		`tensor "sigma_map.mlp.2.bias": entry 1 = NaN, want a finite number`: func(all []Tensor) []Tensor {
			all[at(all, "sigma_map.mlp.2.bias")].Data[1] = float32(math.NaN())
			return all
		},
		`tensor "cond_map.weight" has no place in the network`: func(all []Tensor) []Tensor {
			return append(all, Tensor{"cond_map.weight", []int{1}, []float32{0}})
		},
	} {
		f, err := read(change(f))
		require.NoError(t, err)
		assert.EqualError(t, exact.Error(Load(f, Config{})), "neural: w.safetensors: "+want)
	}
	// A file that is small, whatever it says, asks for little.
	big, err := read(file(`{"output_layer.linear.weight":{"dtype":"I64","shape":[1048576,1024],"data_offsets":[0,8]},"vocab_embed.embedding":{"dtype":"F64","shape":[1048576,1024],"data_offsets":[0,8]}}`, 8))
	require.NoError(t, err)
	assert.EqualError(t, exact.Error(Load(big, Config{Length: 1, Heads: 1})), `neural: w.safetensors: tensor "vocab_embed.embedding" has type "F64", want F32, F16 or BF16`)
	whole, err := read(change(func(all []Tensor) []Tensor { return all }))
	require.NoError(t, err)
	assert.EqualError(t, exact.Error(Load(whole, Config{Heads: 3})), "neural: w.safetensors: Width = 8, want a multiple of 2·Heads = 6")
	assert.EqualError(t, exact.Error(Load(whole, Config{Blocks: 1})), `neural: w.safetensors: tensor "blocks.1.adaLN_modulation.bias" has no place in the network`)
	whole.meta = map[string]string{"heads": "two"}
	assert.EqualError(t, exact.Error(Load(whole, Config{})), `neural: w.safetensors: metadata heads = "two", want a number`)
	whole.meta = nil
	assert.EqualError(t, exact.Error(Load(whole, Config{Heads: 2})), "neural: w.safetensors: Length = 0, want 1 … 1048576")
	empty, err := read(file("{}", 0))
	require.NoError(t, err)
	assert.EqualError(t, exact.Error(Load(empty, Config{})), `neural: w.safetensors: no tensor "output_layer.linear.weight", with a prefix or without`)
	assert.True(t, errors.Is(exact.Error(Open("nowhere", Config{})), os.ErrNotExist))
	path := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(path, []byte("bad"), 0o600))
	assert.EqualError(t, exact.Error(Open(path, Config{})), fmt.Sprintf("neural: %s: 3 bytes, want ≥ 8", path))
}

// A name is shown as it is, even with a percent sign.
func TestNameInErrors(t *testing.T) {
	_, err := ReadFile("50%done", bytes.NewReader(nil), 7)
	assert.EqualError(t, err, "neural: 50%done: 7 bytes, want ≥ 8")
}

// Whatever the bytes, reading is an error or gives tensors within the file.
func FuzzReadFile(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"__metadata__":{"heads":"2"}}`, 4))
	f.Add(file(`{"a":{"dtype":"F32","shape":[1e9],"data_offsets":[0,4]}}`, 4))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := read(b)
		if err != nil {
			return
		}
		for _, name := range r.Names() {
			shape, ok := r.Shape(name)
			require.True(t, ok)
			if n := product(shape); n <= len(b) {
				_ = r.Read(make([]float32, n), name)
			}
		}
		_, _ = Load(r, Config{Length: 2, Heads: 1})
	})
}
