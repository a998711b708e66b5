package diagnose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// traceMagic begins a saved Trace, a frame of package wire, and identifies the version of its
// layout: mode, levels, names, chains, and per chain its number, counters and draws, all in
// little-endian words of 64 bits except for names (bytes) and states (32 bits).
const traceMagic = "gibbsite trace 3\n"

// Bits of the mode.
const (
	modeStreaming = 1 << iota
	modeStates
	modeBest
)

// AppendBinary appends all draws so far to b, so that a run can continue later and end with the
// same summary. The functions themselves are not saved.
func (t *Trace) AppendBinary(b []byte) ([]byte, error) {
	return wire.Append(b, traceMagic, t.body(nil)), nil
}

func (t *Trace) body(b []byte) []byte {
	records := t.records()
	b = wire.AppendInts(b, t.mode(), t.levels, len(t.names))
	for _, name := range t.names {
		b = append(wire.AppendInts(b, len(name)), name...)
	}
	b = wire.AppendInts(b, len(records))
	for _, r := range records {
		b = wire.AppendInts(b, r.chain, r.draws, r.moves, r.invalid, r.accepts, r.sites)
		b = wire.AppendFloat64s(b, []float64{r.accept})
		b = wire.AppendFloat64s(b, r.rows)
		b = wire.AppendInt32s(b, r.states)
		for i := range r.condense {
			b = r.condense[i].appendBinary(b)
		}
		if t.keepBest {
			b = wire.AppendInts(b, len(r.best))
			b = wire.AppendInt32s(wire.AppendFloat64s(b, []float64{r.bestEnergy}), r.best)
		}
		for _, n := range r.counts {
			b = wire.AppendInts(b, int(n))
		}
	}
	return b
}

// UnmarshalBinary replaces the draws by those that AppendBinary saved. The receiver must come from
// the same constructor with the same options and names; the functions should be the same too. Data
// that do not fit give an error and leave the trace unchanged. Memory is proportional to the length
// of the data, whatever sizes the data claim.
func (t *Trace) UnmarshalBinary(b []byte) error {
	records, err := t.decode(b)
	if err != nil {
		return fmt.Errorf("diagnose: Trace: %w", err)
	}
	t.slots.clear()
	for _, r := range records {
		t.slots.place(r)
	}
	return nil
}

func (t *Trace) mode() (mode int) {
	if t.streaming {
		mode |= modeStreaming
	}
	if t.keepStates {
		mode |= modeStates
	}
	if t.keepBest {
		mode |= modeBest
	}
	return mode
}

func (t *Trace) decode(b []byte) ([]*record, error) {
	body, err := wire.Body(b, traceMagic)
	if err != nil {
		return nil, fmt.Errorf("not a saved trace of this version: %w", err)
	}
	d := decoder{rest: body}
	if mode := d.int(); mode != t.mode() {
		return nil, fmt.Errorf("saved in mode %d, want %d (1: streaming, 2: states, 4: best)", mode, t.mode())
	}
	if levels := d.int(); levels != t.levels {
		return nil, fmt.Errorf("saved with marginals of %d levels, want %d", levels, t.levels)
	}
	var names []string
	for range d.count(1) {
		names = append(names, string(d.bytes(d.count(1))))
	}
	if !slices.Equal(names, t.names) {
		return nil, fmt.Errorf("saved with the names %q, want %q", names, t.names)
	}
	records := make([]*record, d.count(1))
	last := -1
	for c := range records {
		chain := d.int()
		if d.short {
			break
		}
		if chain <= last || chain >= mostChains {
			return nil, fmt.Errorf("impossible chain %d after chain %d", chain, last)
		}
		last = chain
		records[c] = newRecord(chain, len(t.names), t.streaming)
		if err := t.decodeRecord(records[c], &d); err != nil {
			return nil, fmt.Errorf("chain %d%w", chain, err)
		}
	}
	if d.short {
		return nil, errors.New("the data end too early")
	}
	if len(d.rest) > 0 {
		return nil, fmt.Errorf("%d bytes too many", len(d.rest))
	}
	return records, nil
}

// decodeRecord reads the data of one chain; past the end it sets d.short.
func (t *Trace) decodeRecord(r *record, d *decoder) error {
	r.draws, r.moves, r.invalid, r.accepts, r.sites = d.int(), d.int(), d.int(), d.int(), d.int()
	r.accept = d.float()
	if min(r.draws, r.accepts, r.sites) < 0 || r.accepts > r.draws || r.draws == 0 && !d.short {
		return errors.New(": impossible counts")
	}
	if t.streaming {
		for i := range r.condense {
			if err := r.condense[i].decode(d, r.draws); err != nil {
				return fmt.Errorf(", function %d: %w", i, err)
			}
		}
	} else {
		r.rows = d.floats(r.draws, t.columns())
		if t.keepStates {
			r.states = d.levels(r.draws, r.sites)
		}
	}
	if t.keepBest {
		n := d.count(1)
		r.bestEnergy = d.float()
		if n > 0 {
			r.best = d.levels(1, n)
		}
		if !d.short && n != 0 && n != r.sites {
			return fmt.Errorf(": the best state has %d sites, want %d", n, r.sites)
		}
	}
	if t.levels > 0 {
		if r.sites > len(d.rest)/8/t.levels {
			d.short, d.rest = true, nil
			return nil
		}
		r.counts = make([]int64, r.sites*t.levels)
		for i := range r.counts {
			if r.counts[i] = int64(d.int()); r.counts[i] < 0 || r.counts[i] > int64(r.draws) {
				return errors.New(": impossible frequencies")
			}
		}
	}
	return nil
}

func (s *series) appendBinary(b []byte) []byte {
	b = wire.AppendInts(b, s.size, s.full, s.bad)
	b = wire.AppendFloat64s(b, []float64{s.value, s.low, s.high, s.part.n, s.part.mean, s.part.squares})
	for _, m := range s.batch[:s.full] {
		b = wire.AppendFloat64s(b, []float64{m.mean, m.squares})
	}
	return b
}

// decode reads a series of at most limit draws.
func (s *series) decode(d *decoder, limit int) error {
	s.size, s.full, s.bad = d.int(), d.int(), d.int()
	s.value, s.low, s.high = d.float(), d.float(), d.float()
	s.part = moments{d.float(), d.float(), d.float()}
	n := s.part.n
	if d.short {
		return nil // reported once for all
	}
	if s.size < 1 || s.size > max(1, limit) || s.size&(s.size-1) != 0 || s.full < 0 || s.full >= batchLimit ||
		s.full > limit/s.size || !(n >= 0 && n < float64(s.size)) || n != math.Trunc(n) ||
		s.draws() > limit || s.bad < 0 || s.bad > limit {
		return errors.New("impossible batches")
	}
	for i := range s.full {
		s.batch[i] = moments{float64(s.size), d.float(), d.float()}
	}
	return nil
}
