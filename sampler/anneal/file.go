package anneal

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// A checkpoint is a frame with the settings, frames of state, each with the sum
// of the settings and its number, what runs inside have written, and a frame for
// the end. The magic of the first frame names the format version.
const (
	stateMagic = "state\n"
	endMagic   = "end\n"
)

// settingsLimit bounds the frame of the settings.
const settingsLimit = 1 << 20

const streamSize = 24 // bytes of a stream

// save writes the frames of a checkpoint; state appends what frame i holds, and
// inside, if not nil, writes what runs inside hold.
func save(who, magic string, w io.Writer, l *fingerprint.List, frames int, state func(i int, body []byte) ([]byte, error), inside func(io.Writer) error) error {
	if check.Nil(w) {
		return fmt.Errorf("anneal: %s: Save: w = nil", who)
	}
	err := wire.Write(w, magic, l.Append(nil))
	sum := l.Sum()
	for i := 0; i < frames && err == nil; i++ {
		var body []byte
		if body, err = state(i, wire.AppendUint64s(nil, sum, uint64(i))); err == nil {
			err = wire.Write(w, stateMagic, body)
		}
	}
	if err == nil && inside != nil {
		err = inside(w)
	}
	if err == nil {
		err = wire.Write(w, endMagic, wire.AppendUint64s(nil, sum))
	}
	if err != nil {
		return fmt.Errorf("anneal: %s: Save: %w", who, err)
	}
	return nil
}

// load reads what save wrote; state reads frame i, of at most limit bytes beside
// the sum and the number, and returns what is left of it, which must be nothing.
func load(who, magic string, r io.Reader, here *fingerprint.List, frames int, limit uint64, state func(i int, body []byte) ([]byte, error), inside func(io.Reader) error) error {
	if check.Nil(r) {
		return fmt.Errorf("anneal: %s: Load: r = nil", who)
	}
	if err := loaded(magic, r, here, frames, limit+16, state, inside); err != nil {
		return fmt.Errorf("anneal: %s: Load: %w", who, err)
	}
	return nil
}

func loaded(magic string, r io.Reader, here *fingerprint.List, frames int, limit uint64, state func(i int, body []byte) ([]byte, error), inside func(io.Reader) error) error {
	body, err := wire.Read(r, magic, settingsLimit)
	if err != nil {
		return err
	}
	saved, err := fingerprint.Read(body)
	if err != nil {
		return err
	}
	if err := fingerprint.Compare(saved, here); err != nil {
		return err
	}
	for i := range frames {
		if body, err = wire.Read(r, stateMagic, limit); err != nil {
			return err
		}
		var head [2]uint64
		if body, err = wire.ReadUint64s(body, head[:]); err != nil {
			return err
		}
		if head[0] != saved.Sum() || head[1] != uint64(i) {
			return fmt.Errorf("frame %d is number %d of another checkpoint", i, head[1])
		}
		if body, err = state(i, body); err == nil {
			err = wire.ReadEnd(body)
		}
		if err != nil {
			return err
		}
	}
	if inside != nil {
		if err := inside(r); err != nil {
			return err
		}
	}
	if body, err = wire.Read(r, endMagic, 8); err != nil {
		return err
	}
	var end [1]uint64
	if body, err = wire.ReadUint64s(body, end[:]); err != nil || end[0] != saved.Sum() {
		return fmt.Errorf("the end is that of another checkpoint")
	}
	return wire.ReadEnd(body)
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
	l.Add("sites", l.Sites)
	probe.Target(l.Add, m, method, sampler.NewStream(probe.States, 0).IntN)
	return l
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
