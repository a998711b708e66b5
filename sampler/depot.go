package sampler

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// depot owns the kernels of a Lean run: as many as are at work at a time. Between
// its turns a block keeps of its kernel what tells it from one that is new and
// has been Reset to the same states: step size, scan position, sums that rounded
// in another order, the states of replicas. Caches are computed again.
type depot[S energy.Site] struct {
	build   func(chains int) (Transition[S], error)
	mutex   sync.Mutex
	shelves map[int]*shelf[S] // by the number of chains
	seats   []*seat[S]
}

// shelf holds the kernels of one size that nobody uses.
type shelf[S energy.Site] struct {
	fresh  []byte // what a new kernel says of itself
	single bool   // kernels do not become new by that
	idle   []Transition[S]
	depth  int // of depths, where kernels keep their settings
}

// seat is where a block is at work.
type seat[S energy.Site] struct {
	place[S]
	image, fresh   []byte
	settings, rest []byte
}

// Parked kernels begin with their form.
const (
	parkedWhole byte = iota // all that AppendBinary wrote
	parkedParts             // its checksum, that of the states, then what differs
)

var parkedTable = crc64.MakeTable(crc64.ECMA)

// What a kernel is found again from must not have changed.
var (
	errChanged = errors.New("the target gives other values for the same states than before: a change of target wants a Reset, and the energy of a state must not depend on when it is asked")
	errMoved   = errors.New("the states of a Lean run have changed, want SetStates to change them")
)

func newDepot[S energy.Site](build func(chains int) (Transition[S], error)) *depot[S] {
	return &depot[S]{build: build, shelves: map[int]*shelf[S]{}}
}

// try makes a kernel, to see that it can be done, and returns its step size; 0 if
// it has none.
func (d *depot[S]) try(chains int) (size float64, err error) {
	k, err := d.take(chains)
	if err != nil {
		return 0, err
	}
	d.give(k, chains)
	return stepSize(k), nil
}

func stepSize[S energy.Site](k Transition[S]) float64 {
	if s, ok := As[Tuned](k); ok {
		return s.StepSize()
	}
	return 0
}

// restore restores what a kernel appended to a checkpoint at the states x, or Resets one
// that appends nothing.
func restore[S energy.Site](k Transition[S], b []byte, x []S) error {
	if len(b) == 0 {
		return k.Reset(Control{}, x)
	}
	return k.UnmarshalBinary(b)
}

func (d *depot[S]) shelf(chains int) *shelf[S] {
	s := d.shelves[chains]
	if s == nil {
		s = &shelf[S]{}
		d.shelves[chains] = s
	}
	return s
}

// take returns a kernel that is as new.
func (d *depot[S]) take(chains int) (Transition[S], error) {
	d.mutex.Lock()
	s := d.shelf(chains)
	var k Transition[S]
	if n := len(s.idle); n > 0 && !s.single {
		k, s.idle = s.idle[n-1], s.idle[:n-1]
	}
	fresh := s.fresh
	d.mutex.Unlock()
	if k != nil {
		if k.UnmarshalBinary(fresh) == nil {
			return k, nil
		}
		d.mutex.Lock()
		s.single, s.idle = true, nil
		d.mutex.Unlock()
	}
	k, err := d.build(chains)
	if err != nil || fresh != nil {
		return k, err
	}
	if fresh, err = k.AppendBinary(nil); err != nil {
		return nil, err
	}
	d.mutex.Lock()
	s.fresh = fresh
	d.mutex.Unlock()
	return k, nil
}

// give takes a kernel back.
func (d *depot[S]) give(k Transition[S], chains int) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if s := d.shelf(chains); !s.single {
		s.idle = append(s.idle, k)
	}
}

// sit returns a seat for so many chains.
func (d *depot[S]) sit(chains int) *seat[S] {
	d.mutex.Lock()
	var s *seat[S]
	if n := len(d.seats); n > 0 {
		s, d.seats = d.seats[n-1], d.seats[:n-1]
	}
	d.mutex.Unlock()
	if s == nil {
		s = &seat[S]{place: place[S]{info: apart.Make[Info](BlockSize), streams: apart.Make[Stream](BlockSize)}}
	}
	s.info, s.streams = s.info[:chains], s.streams[:chains]
	clear(s.info)
	return s
}

// rise takes a seat back.
func (d *depot[S]) rise(s *seat[S]) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s.x, s.info, s.streams = nil, s.info[:BlockSize], s.streams[:BlockSize]
	d.seats = append(d.seats, s)
}

// open returns the kernel that was parked for the states in the seat; nil stands
// for a new one. If the target has changed since, exact must be false, and the
// kernel wants a Reset.
func (d *depot[S]) open(s *seat[S], chains int, parked []byte, exact bool) (Transition[S], error) {
	k, err := d.take(chains)
	if err != nil || parked == nil {
		return k, err
	}
	form, parked := parked[0], parked[1:]
	if form == parkedWhole {
		return k, restore(k, parked, s.x)
	}
	if s.sum() != binary.LittleEndian.Uint64(parked[8:]) {
		return nil, errMoved
	}
	sum, parked := binary.LittleEndian.Uint64(parked), parked[16:]
	n, size := binary.Uvarint(parked)
	settings, rest := parked[size:size+int(n)], parked[size+int(n):]
	for _, difference := range [][]byte{settings, rest} {
		if err := k.Reset(Control{}, s.x); err != nil {
			return nil, err
		}
		if s.fresh, err = k.AppendBinary(s.fresh[:0]); err != nil {
			return nil, err
		}
		if !patch(s.fresh, difference) {
			return nil, errChanged
		}
		if err = k.UnmarshalBinary(s.fresh); err != nil {
			return nil, err
		}
	}
	if exact && crc64.Checksum(s.fresh, parkedTable) != sum {
		return nil, errChanged
	}
	return k, nil
}

// park takes a kernel back and returns what to keep of it, in the memory of keep;
// whole asks for all of it, without a look at the states.
func (d *depot[S]) park(s *seat[S], k Transition[S], chains int, keep []byte, whole bool) ([]byte, error) {
	var err error
	if s.image, err = k.AppendBinary(s.image[:0]); err != nil {
		return keep, err
	}
	d.mutex.Lock()
	shelf := d.shelf(chains)
	fresh, depth := shelf.fresh, shelf.depth
	whole = whole || shelf.single
	d.mutex.Unlock()
	if whole || !s.differences(k, fresh, depth) {
		return append(append(keep[:0], parkedWhole), s.image...), nil
	}
	if small := 64 + len(s.image)/16; len(s.settings)+len(s.rest) > small {
		best, least := depth, len(s.settings)+len(s.rest)
		for i := range depths {
			if s.differences(k, fresh, i) && len(s.settings)+len(s.rest) < least {
				best, least = i, len(s.settings)+len(s.rest)
			}
		}
		if !s.differences(k, fresh, best) {
			return append(append(keep[:0], parkedWhole), s.image...), nil
		}
		d.mutex.Lock()
		shelf.depth = best
		d.mutex.Unlock()
	}
	keep = wire.AppendUint64s(append(keep[:0], parkedParts), crc64.Checksum(s.image, parkedTable), s.sum())
	keep = append(binary.AppendUvarint(keep, uint64(len(s.settings))), s.settings...)
	keep = append(keep, s.rest...)
	d.give(k, chains)
	return keep, nil
}

// depths are the numbers of bytes by which settings may differ from those of a
// new kernel.
var depths = [...]int{0, 48, 192, 768, 3072}

// differences finds what turns a new kernel into the one of the image: settings,
// the first bytes that differ once it has seen the states, with which it sees them
// again, and the rest. Step sizes stand among settings, and the tables made with
// them then need not be kept. It reports whether this can be done.
func (s *seat[S]) differences(k Transition[S], fresh []byte, depth int) bool {
	s.settings, s.rest = s.settings[:0], s.rest[:0]
	if k.UnmarshalBinary(fresh) != nil {
		return false
	}
	for pass, difference := range []*[]byte{&s.settings, &s.rest} {
		var err error
		if k.Reset(Control{}, s.x) != nil {
			return false
		}
		if s.fresh, err = k.AppendBinary(s.fresh[:0]); err != nil || len(s.fresh) != len(s.image) {
			return false
		}
		most := len(s.image)
		if pass == 0 {
			most = depths[depth]
		}
		*difference = appendDifference(*difference, s.fresh, s.image, most)
		if pass == 0 && (!patch(s.fresh, s.settings) || k.UnmarshalBinary(s.fresh) != nil) {
			return false
		}
	}
	return true
}

// sum returns the checksum of the states.
func (s *seat[S]) sum() uint64 {
	s.fresh = appendSites(s.fresh[:0], s.x)
	return crc64.Checksum(s.fresh, parkedTable)
}

// appendDifference appends what turns from into to, which is as long: the lengths
// of runs that are equal and of runs that differ, by turns, with the latter; the
// first most bytes that differ.
func appendDifference(b, from, to []byte, most int) []byte {
	for i := 0; most > 0; {
		start := i
		for i < len(to) && from[i] == to[i] {
			i++
		}
		if i == len(to) {
			break
		}
		b = binary.AppendUvarint(b, uint64(i-start))
		for start = i; i < len(to) && from[i] != to[i] && most > 0; i++ {
			most--
		}
		b = append(binary.AppendUvarint(b, uint64(i-start)), to[start:i]...)
	}
	return b
}

// patch applies what appendDifference wrote to b; false if that is too short.
func patch(b, difference []byte) bool {
	for len(difference) > 0 {
		for differs := range 2 {
			n, size := binary.Uvarint(difference)
			if difference = difference[size:]; n > uint64(len(b)) {
				return false
			}
			if differs == 1 {
				copy(b[:n], difference)
				difference = difference[n:]
			}
			b = b[n:]
		}
	}
	return true
}
