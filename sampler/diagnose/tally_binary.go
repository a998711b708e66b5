package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// tallyMagic begins a saved Tally, a frame of package wire, and identifies the version of its
// layout.
const tallyMagic = "gibbsite tally 1\n"

// AppendBinary appends t to b, with a checksum. Equal statistics have equal bytes. It returns an
// error if some chains of the part do not have all of their draws.
func (t *Tally) AppendBinary(b []byte) ([]byte, error) {
	if t.empty() {
		return nil, errors.New("diagnose: Tally: empty")
	}
	if err := t.whole(); err != nil {
		return nil, fmt.Errorf("diagnose: Tally: %w", err)
	}
	return wire.Append(b, tallyMagic, t.body()), nil
}

// MarshalBinary returns [Tally.AppendBinary] to a new slice.
func (t *Tally) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

func (t *Tally) body() []byte {
	r := &t.run
	b := wire.AppendInts(nil, r.chains, r.draws, r.nested)
	b = wire.AppendUint64s(b, r.seed)
	b = append(wire.AppendInts(b, len(r.settings)), r.settings...)
	b = wire.AppendInts(b, len(r.names))
	for _, name := range r.names {
		b = append(wire.AppendInts(b, len(name)), name...)
	}
	b = wire.AppendInts(b, len(t.done))
	for _, s := range t.done {
		b = wire.AppendInts(b, s.first, s.end)
	}
	m := &t.moves
	b = wire.AppendUint64s(b, uint64(m.accepts), uint64(m.moved), uint64(m.invalid))
	b = m.accept.append(b)
	b = wire.AppendUint64s(b, t.bits[:]...)
	for i := range t.rows {
		b = t.rows[i].append(b)
	}
	return b
}

// Flags of a row.
const (
	flagBad = 1 << iota
	flagOverflow
	flagWeights
)

func (t *tallied) append(b []byte) []byte {
	flags := 0
	if t.bad.some {
		flags |= flagBad
	}
	if t.overflow {
		flags |= flagOverflow
	}
	if t.weights != nil {
		flags |= flagWeights
	}
	b = wire.AppendInts(b, flags, t.groups, t.bad.chain, t.bad.draw)
	b = wire.AppendFloat64s(b, []float64{t.bad.value, t.low, t.high})
	for _, s := range t.sums() {
		b = s.append(b)
	}
	if t.weights != nil {
		b = t.weights.append(b)
	}
	return b
}

// UnmarshalBinary replaces t by what AppendBinary wrote. t then accepts no further draws but can be
// merged. Damaged data give an error and leave t unchanged. Memory is proportional to the length of
// the data, whatever sizes the data claim.
func (t *Tally) UnmarshalBinary(b []byte) error {
	if err := t.decode(b); err != nil {
		return fmt.Errorf("diagnose: Tally: %w", err)
	}
	return nil
}

// decode reads b twice: first to check it, then into the memory of t.
func (t *Tally) decode(b []byte) error {
	body, err := wire.Body(b, tallyMagic)
	if err != nil {
		return fmt.Errorf("not a saved tally of this version: %w", err)
	}
	n := &Tally{}
	rest, err := n.decodeHead(body)
	if err != nil {
		return err
	}
	rows := len(n.run.names)
	d := &decoder{rest: rest}
	var row tallied
	for i := 0; i < rows && !d.short; i++ {
		row.decode(d)
		if row.groups > n.done.chains()/n.run.nested {
			return errors.New("impossible counts")
		}
		if row.weights != nil && (i > 0 || n.run.draws != 1) {
			return errors.New("impossible weights")
		}
	}
	switch {
	case d.short:
		return errors.New("the data end too early")
	case len(d.rest) > 0:
		return fmt.Errorf("%d bytes too many", len(d.rest))
	}
	if n.rows = t.rows; len(n.rows) != rows || t.record != nil {
		n.rows = make([]tallied, rows)
	}
	d = &decoder{rest: rest}
	for i := range n.rows {
		n.rows[i].decode(d)
	}
	n.run.logWeights = rows > 0 && n.rows[0].weights != nil
	*t = *n
	return nil
}

// decodeHead reads everything before the rows and returns the rest.
func (t *Tally) decodeHead(body []byte) ([]byte, error) {
	d := &decoder{rest: body}
	r := &t.run
	r.chains, r.draws, r.nested, r.seed = d.natural(), d.natural(), d.natural(), d.word()
	r.settings = slices.Clone(d.bytes(d.count(1)))
	for range d.count(8) {
		r.names = append(r.names, string(d.bytes(d.count(1))))
	}
	for range d.count(16) {
		t.done = append(t.done, span{d.natural(), d.natural()})
	}
	m := &t.moves
	m.accepts, m.moved, m.invalid = int64(d.word()), int64(d.word()), int64(d.word())
	readSum(d, &m.accept)
	for i := range t.bits {
		t.bits[i] = d.word()
	}
	if d.short {
		return nil, errors.New("the data end too early")
	}
	if _, err := fingerprint.Read(r.settings); err != nil {
		return nil, err
	}
	return d.rest, t.possible()
}

// possible returns an error for counts that no tally can have.
func (t *Tally) possible() error {
	r := &t.run
	if r.chains < 1 || r.draws < 1 || r.draws > maxDraws || r.nested < 1 || r.chains%r.nested != 0 {
		return errors.New("impossible counts")
	}
	end := -1
	for _, s := range t.done {
		if s.first <= end || s.end <= s.first || s.end > r.chains {
			return errors.New("impossible chains")
		}
		end = s.end
	}
	if m := &t.moves; m.accepts < 0 || m.moved < 0 || m.invalid < 0 {
		return errors.New("impossible counts")
	}
	return nil
}

func (t *tallied) decode(d *decoder) {
	flags := d.natural()
	t.groups = d.natural()
	t.bad = badDraw{flags&flagBad != 0, d.natural(), d.natural(), d.float()}
	t.overflow = flags&flagOverflow != 0
	t.low, t.high = d.float(), d.float()
	for _, s := range t.sums() {
		readSum(d, s)
	}
	if t.weights = nil; flags&flagWeights != 0 {
		t.weights = &weights{}
		t.weights.decode(d)
	}
}

// append appends w in the format that decode reads.
func (w *weights) append(b []byte) []byte {
	some := 0
	if w.bad.some {
		some = 1
	}
	b = wire.AppendInts(b, some, w.bad.chain)
	b = wire.AppendFloat64s(b, []float64{w.bad.value})
	for _, s := range []*scaledSum{&w.first, &w.second} {
		b = wire.AppendUint64s(b, uint64(int64(s.top)))
		b = s.sums[1].append(s.sums[0].append(b))
	}
	return b
}

func (w *weights) decode(d *decoder) {
	*w = weights{bad: badDraw{some: d.natural() == 1, chain: d.natural(), value: d.float()}}
	for _, s := range []*scaledSum{&w.first, &w.second} {
		top := int64(d.word())
		readSum(d, &s.sums[0])
		readSum(d, &s.sums[1])
		if top < -4*largestLog/span512 || top > 4*largestLog/span512 || s.sums[0].big().Sign() < 0 || s.sums[1].big().Sign() < 0 {
			d.short = true
			return
		}
		if s.top = int(top); s.sums[0].high == 0 { // no term
			*s = scaledSum{}
		}
	}
}

// readSum reads a sum.
func readSum(d *decoder, s *exactSum) {
	rest, err := s.read(d.rest)
	if err != nil {
		d.short, d.rest = true, nil
		return
	}
	d.rest = rest
}

// tallyJSON is the JSON form of a tally: the counts in readable form, and the whole tally in Data.
type tallyJSON struct {
	Chains    int      `json:"chains"`
	Draws     int      `json:"draws"`
	Nested    int      `json:"nested"`
	Seed      uint64   `json:"seed"`
	Functions []string `json:"functions"`
	Done      [][2]int `json:"done"` // first and last chain of each span
	Data      []byte   `json:"data"` // of AppendBinary
}

func (t *Tally) toJSON() (j tallyJSON, err error) {
	r := &t.run
	j = tallyJSON{Chains: r.chains, Draws: r.draws, Nested: r.nested, Seed: r.seed, Functions: r.names}
	for _, s := range t.done {
		j.Done = append(j.Done, [2]int{s.first, s.end - 1})
	}
	j.Data, err = t.AppendBinary(nil)
	return j, err
}

// MarshalJSON writes t as a JSON object: counts, names and chains in readable form, and in "data"
// the bytes of AppendBinary in base64.
func (t *Tally) MarshalJSON() ([]byte, error) {
	j, err := t.toJSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(j)
}

// UnmarshalJSON replaces t by what MarshalJSON wrote. It rejects an object whose readable part and
// data do not agree.
func (t *Tally) UnmarshalJSON(b []byte) error {
	var j tallyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("diagnose: Tally: %w", err)
	}
	n := &Tally{}
	if err := n.decode(j.Data); err != nil {
		return fmt.Errorf("diagnose: Tally: data: %w", err)
	}
	is, err := n.toJSON()
	if err != nil {
		return err
	}
	if is.Chains != j.Chains || is.Draws != j.Draws || is.Nested != j.Nested || is.Seed != j.Seed ||
		!slices.Equal(is.Functions, j.Functions) || !slices.Equal(is.Done, j.Done) {
		return errors.New("diagnose: Tally: the data are not those of the counts")
	}
	*t = *n
	return nil
}
