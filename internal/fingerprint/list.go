// Package fingerprint owns what a checkpoint must agree on with the run that
// loads it: a list of named settings, compared one by one, so that a refusal
// names the setting that differs.
//
// A setting is a text ("DMALA.StepSize" is "0.2"), compared byte by byte, or a
// row of numbers ("energies of test states"), compared to rounding by the magnitude
// of the row, whatever its units.
package fingerprint

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// List is the settings of a run, in the order in which they were added: what
// explains others (the method) goes before them (its fields). Names are unique.
type List struct {
	// Sites and Levels are the shape by which languages among the settings are
	// read; they are no settings themselves.
	Sites, Levels int

	all []setting
}

type setting struct {
	name, text string
	numbers    []float64
	double     bool // the numbers were computed in float64
}

// How far numbers may differ, in parts of the largest of their row: float64 values of
// one function of the same arguments; those of float32, which matrix products round
// differently on different processors.
const (
	doubles = 1e-12
	singles = 1e-6
)

// Doubles is a row of numbers that [List.Add] takes by [List.Doubles].
type Doubles []float64

// Text adds a setting that must agree exactly.
func (l *List) Text(name, text string) { l.all = append(l.all, setting{name: name, text: text}) }

// Numbers adds a row that must agree within 1e-6 of its largest finite number; NaN
// agrees with NaN, an infinity with itself.
func (l *List) Numbers(name string, v []float64) {
	l.all = append(l.all, setting{name: name, numbers: v})
}

// Doubles is Numbers within 1e-12: of what is computed in float64 from the same
// arguments both times.
func (l *List) Doubles(name string, v []float64) {
	l.all = append(l.all, setting{name: name, numbers: v, double: true})
}

// Append appends the list to b.
func (l *List) Append(b []byte) []byte {
	b = wire.AppendInts(b, len(l.all))
	for i := range l.all {
		s := &l.all[i]
		b = wire.AppendInts(b, len(s.name), len(s.text), len(s.numbers))
		b = append(append(b, s.name...), s.text...)
		b = wire.AppendFloat64s(b, s.numbers)
	}
	return b
}

// Sum returns a digest of the list, which ties the parts of a checkpoint to it.
func (l *List) Sum() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(l.Append(nil))
	return h.Sum64()
}

// Read reads what Append wrote, all of b. Memory grows with b, not with what it
// claims.
func Read(b []byte) (*List, error) {
	if len(b) < 8 {
		return nil, wire.ErrShort
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	l := &List{}
	for range n {
		var size [3]uint64
		var err error
		if b, err = wire.ReadUint64s(b, size[:]); err != nil {
			return nil, err
		}
		left := uint64(len(b))
		if size[0] > left || size[1] > left-size[0] || size[2] > (left-size[0]-size[1])/8 {
			return nil, wire.ErrShort
		}
		s := setting{name: string(b[:size[0]]), text: string(b[size[0] : size[0]+size[1]])}
		if size[2] > 0 {
			s.numbers = make([]float64, size[2])
		}
		if b, err = wire.ReadFloat64s(b[size[0]+size[1]:], s.numbers); err != nil {
			return nil, err
		}
		l.all = append(l.all, s)
	}
	return l, wire.ReadEnd(b)
}

// Mismatch says which setting differs.
type Mismatch struct {
	Setting     string
	Saved, Here string // its values; "unset" if only one side has the setting
}

func (e *Mismatch) Error() string {
	return fmt.Sprintf("settings differ: %s is %s in the checkpoint and %s here", e.Setting, e.Saved, e.Here)
}

// Compare returns a *[Mismatch] for the first setting of here that differs from
// what was saved, or else the first that was saved and is not set here.
func Compare(saved, here *List) error {
	old := make(map[string]*setting, len(saved.all))
	for i := range saved.all {
		old[saved.all[i].name] = &saved.all[i]
	}
	for i := range here.all {
		s := &here.all[i]
		o, ok := old[s.name]
		if !ok {
			return &Mismatch{s.name, "unset", s.value()}
		}
		if s.text != o.text {
			return &Mismatch{s.name, o.value(), s.value()}
		}
		within := singles
		if s.double {
			within = doubles
		}
		if err := rows(s.name, o.numbers, s.numbers, within, 0); err != nil {
			return err
		}
		delete(old, s.name)
	}
	for i := range saved.all {
		if s := &saved.all[i]; old[s.name] != nil {
			return &Mismatch{s.name, s.value(), "unset"}
		}
	}
	return nil
}

// Energies returns a *[Mismatch] for the first energy that is not what was saved under
// that name, within 1e-6 of the largest finite one. floor is the least that counts as
// the largest: 0, or 1 for sums that were kept up to date while their terms changed,
// which may cancel.
func Energies(name string, saved, here []float64, floor float64) error {
	return rows(name, saved, here, singles, floor)
}

// rows compares two rows of numbers to within parts of the largest.
func rows(name string, saved, here []float64, within, floor float64) error {
	if len(saved) != len(here) {
		return &Mismatch{name, fmt.Sprintf("%d numbers", len(saved)), fmt.Sprintf("%d numbers", len(here))}
	}
	by := within * max(floor, magnitude(saved), magnitude(here))
	for k, v := range here {
		if !near(v, saved[k], by) {
			return &Mismatch{fmt.Sprintf("%s[%d]", name, k), fmt.Sprint(saved[k]), fmt.Sprint(v)}
		}
	}
	return nil
}

// near reports whether two numbers are the same but for rounding.
func near(a, b, by float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= by
}

// magnitude returns the largest |v_i| that is finite.
func magnitude(v []float64) (most float64) {
	for _, v := range v {
		if v = math.Abs(v); v <= math.MaxFloat64 {
			most = max(most, v)
		}
	}
	return most
}

func (s *setting) value() string {
	switch {
	case s.text != "":
		return s.text
	case s.numbers != nil:
		return fmt.Sprintf("%d numbers", len(s.numbers))
	}
	return `""`
}
