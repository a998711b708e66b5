package anneal

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

const streamSize = 24 // bytes of a stream

// save writes a checkpoint in frames, see [durable.Write].
func save(who, magic string, w io.Writer, l *fingerprint.List, frames int, state func(i int, body []byte) ([]byte, error), inside func(io.Writer) error) error {
	if check.Nil(w) {
		return fmt.Errorf("anneal: %s: Save: w = nil", who)
	}
	if err := durable.Write(w, magic, l, frames, state, inside); err != nil {
		return fmt.Errorf("anneal: %s: Save: %w", who, err)
	}
	return nil
}

// load reads what save wrote, see [durable.Read].
func load(who, magic string, r io.Reader, here *fingerprint.List, frames int, limit uint64, state func(i int, body []byte) ([]byte, error), inside func(io.Reader) error) error {
	if check.Nil(r) {
		return fmt.Errorf("anneal: %s: Load: r = nil", who)
	}
	if err := durable.Read(r, magic, here, func() int { return frames }, limit, state, inside); err != nil {
		return fmt.Errorf("anneal: %s: Load: %w", who, err)
	}
	return nil
}

func appendStreams(b []byte, r []sampler.Stream) []byte {
	for i := range r {
		b, _ = r[i].AppendBinary(b) // which cannot fail
	}
	return b
}

func readStreams(b []byte, r []sampler.Stream) ([]byte, error) {
	if len(b)/streamSize < len(r) {
		return nil, wire.ErrShort
	}
	for i := range r {
		if err := r[i].UnmarshalBinary(b[:streamSize]); err != nil {
			return nil, err
		}
		b = b[streamSize:]
	}
	return b, nil
}

// readTokens reads states and refuses tokens that no state has.
func readTokens(b []byte, x []int32, levels int) ([]byte, error) {
	b, err := wire.ReadInt32s(b, x)
	if err != nil {
		return nil, err
	}
	for i, l := range x {
		if l < 0 || int(l) >= levels {
			return nil, fmt.Errorf("token %d = %d, want 0 … %d", i, l, levels-1)
		}
	}
	return b, nil
}

// newSettings is what all runs of a method on a model must agree on.
func newSettings(m energy.Model, method sampler.Method) *fingerprint.List {
	l := &fingerprint.List{}
	l.Sites, l.Levels = m.Shape()
	addTarget(l.Add, m, method)
	return l
}

func addTarget(add func(name string, value any), m energy.Model, method sampler.Method) {
	check.Must("anneal: Settings", "add", add)
	sites, _ := m.Shape()
	add("sites", sites)
	probe.Target(add, m, method, sampler.NewStream(probe.States, 0).IntN)
}

// digest tells a row of numbers from all others.
func digest(v []float64) string {
	h := uint64(14695981039346656037) // FNV-1a
	for _, f := range v {
		bits := math.Float64bits(f)
		for range 8 {
			h = (h ^ bits&0xff) * 1099511628211
			bits >>= 8
		}
	}
	return fmt.Sprintf("%v … %v by way of %v, digest %016x", v[0], v[len(v)-1], v[len(v)/2], h)
}

// busy is 1 while a run is under way.
type busy uint32

func (b *busy) begin(who string, ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("anneal: %s: Run: ctx = nil", who)
	}
	if !atomic.CompareAndSwapUint32((*uint32)(b), 0, 1) {
		return fmt.Errorf("anneal: %s: Run: another Run of it is under way, want one at a time", who)
	}
	return nil
}

func (b *busy) end() { atomic.StoreUint32((*uint32)(b), 0) }
