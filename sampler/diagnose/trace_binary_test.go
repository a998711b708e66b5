package diagnose

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// kinds are constructors of all kinds of traces over four chains.
var kinds = map[string]func() *Trace{
	"full":      func() *Trace { return NewTrace(first, second).Name("a", "b") },
	"states":    func() *Trace { return NewTrace(first).KeepStates() },
	"streaming": func() *Trace { return NewStreamingTrace(first, second) },
	"none":      func() *Trace { return NewTrace() },
	"kept":      func() *Trace { return NewStreamingTrace(first).KeepBest() },
}

func TestTraceResumes(t *testing.T) {
	x := posteriorSeries(t)["ar"]
	for name, kind := range kinds {
		for _, cut := range []int{0, 1, 63, 64, 77, 128, 200} {
			whole := kind()
			feed(whole, x, 0, 200)
			before, after := kind(), kind()
			feed(before, x, 0, cut)
			saved, err := before.AppendBinary([]byte("head"))
			require.NoError(t, err)
			feed(after, x, 0, 3) // forgotten
			require.NoError(t, after.UnmarshalBinary(saved[4:]), "%s at %d", name, cut)
			feed(after, x, cut, 200)
			assert.Equal(t, whole.Summary(), after.Summary(), "%s at %d", name, cut)
			a, err := whole.AppendBinary(nil)
			require.NoError(t, err)
			b, err := after.AppendBinary(nil)
			require.NoError(t, err)
			assert.Equal(t, a, b, "%s at %d", name, cut)
		}
	}
}

func TestUnmarshalTraceRefuses(t *testing.T) {
	x := posteriorSeries(t)["ar"]
	full := kinds["full"]()
	feed(full, x, 0, 10)
	saved, _ := full.AppendBinary(nil)
	want := slices.Clone(saved)
	for message, other := range map[string]*Trace{
		"diagnose: Trace: saved in mode 0, want 1 (1: streaming, 2: states, 4: best)": kinds["streaming"](),
		"diagnose: Trace: saved with marginals of 0 levels, want 3":                   NewTrace(first, second).Name("a", "b").KeepMarginals(3),
		"diagnose: Trace: saved in mode 0, want 4 (1: streaming, 2: states, 4: best)": NewTrace(first, second).Name("a", "b").KeepBest(),
		`diagnose: Trace: saved with the names ["a" "b"], want ["a" "c"]`:             NewTrace(first, second).Name("a", "c"),
		`diagnose: Trace: saved with the names ["a" "b"], want ["f1" "f2" "f3"]`:      NewTrace(first, first, first),
	} {
		assert.EqualError(t, other.UnmarshalBinary(saved), message)
	}
	assert.EqualError(t, full.UnmarshalBinary(append(saved, 0)), "diagnose: Trace: not a saved trace of this version: 1 bytes too many")
	for cut := range saved {
		assert.Error(t, full.UnmarshalBinary(saved[:cut]), cut)
	}
	now, _ := full.AppendBinary(nil)
	assert.Equal(t, want, now, "an error must leave the trace alone")

	states := kinds["states"]()
	feed(states, x, 0, 3)
	saved, _ = states.AppendBinary(nil)
	for cut := range saved {
		assert.Error(t, states.UnmarshalBinary(saved[:cut]), cut)
	}
	stream := NewStreamingTrace(first)
	feed(stream, x[:1], 0, 100)
	saved, _ = stream.AppendBinary(nil)
	for cut := range saved {
		assert.Error(t, stream.UnmarshalBinary(saved[:cut]), cut)
	}
	// Words after magic, mode, levels, names, the name, chains and the chain: draws, moves,
	// invalid, accepts, sites, accept, then size, full, bad, value, low, high
	// and the count of the unfinished batch.
	body, err := wire.Body(saved, traceMagic)
	require.NoError(t, err)
	start := 6*8 + len("f1")
	for word, value := range map[int]uint64{-1: 1 << 28, 0: 3, 3: 101, 4: math.MaxUint64, 6: 3, 7: 64, 8: 1000, 12: math.Float64bits(1.5)} {
		broken := slices.Clone(body)
		binary.LittleEndian.PutUint64(broken[start+8*word:], value)
		assert.ErrorContains(t, stream.UnmarshalBinary(wire.Append(nil, traceMagic, broken)), "impossible", "word %d", word)
	}
}

// A saved trace has a checksum: no change of a byte loads.
func TestDamagedTracesAreRefused(t *testing.T) {
	x := posteriorSeries(t)["ar"]
	for name, kind := range kinds {
		tr := kind()
		feed(tr, x, 0, 20)
		saved, _ := tr.AppendBinary(nil)
		for i := range saved {
			saved[i] ^= 1 << (i % 8)
			require.Error(t, kind().UnmarshalBinary(saved), "%s, byte %d", name, i)
			saved[i] ^= 1 << (i % 8)
		}
		require.NoError(t, kind().UnmarshalBinary(saved))
	}
}

func FuzzUnmarshalTrace(f *testing.F) {
	for _, kind := range []string{"full", "states", "streaming", "kept"} {
		t := kinds[kind]()
		for c := range 4 {
			for i := range 5 {
				t.Observe(c, i, []int32{int32(i), 1}, nil)
			}
		}
		f.Add(t.body(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []string{"full", "states", "streaming", "kept"} {
			tr := kinds[kind]()
			_ = tr.UnmarshalBinary(data)
			framed := wire.Append(nil, traceMagic, data) // length and checksum are right
			if tr.UnmarshalBinary(framed) != nil {
				continue
			}
			back, err := tr.AppendBinary(nil)
			require.NoError(t, err)
			require.Equal(t, framed, back)
			for _, row := range tr.Summary().Rows {
				for _, e := range row.all() {
					require.False(t, math.IsNaN(e.Value))
				}
			}
		}
	})
}
