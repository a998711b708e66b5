package diffusion

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// finished is what a runner keeps for its checkpoints: the samples that it has
// finished, or that a checkpoint had. It keeps nothing without settings.
type finished[S energy.Site] struct {
	settings *fingerprint.List
	x        []S
	given    []uint64  // digest of what each was clamped to by Fill, 0 for nothing
	weight   []float64 // of each, if they are weighed
	fault    []fault   // of those that were given up, in order
	filed    int       // samples that the last file has
	own      []uint64  // by slot: given of the samples under way
	broken   error     // why there can be no more samples
}

// fault is why a sample was given up.
type fault struct {
	of  int // the sample, counted among those kept
	why error
}

// why returns why sample k was given up, nil if it was made.
func (f *finished[S]) why(k int) error {
	at, found := slices.BinarySearchFunc(f.fault, k, func(e fault, k int) int { return e.of - k })
	if !found {
		return nil
	}
	return f.fault[at].why
}

// unfiled returns the number of samples that the last file has not.
func (f *finished[S]) unfiled() int { return len(f.given) - f.filed }

// clamp notes what the sample of slot i is clamped to beside the configuration.
func (f *finished[S]) clamp(i int, own []S) {
	if f.settings == nil {
		return
	}
	for len(f.own) <= i {
		f.own = append(f.own, 0)
	}
	f.own[i] = digest(own)
}

// add keeps finished samples, those of the first slots, one for each fault or nil.
func (f *finished[S]) add(x []S, faults []error, weight ...float64) {
	if f.settings == nil {
		return
	}
	for i, err := range faults {
		if err != nil {
			f.fault = append(f.fault, fault{len(f.given) + i, err})
		}
	}
	f.x = append(f.x, x...)
	f.given = append(f.given, f.own[:len(faults)]...)
	f.weight = append(f.weight, weight...)
}

// digest tells a row from all others; 0 for none.
func digest[S energy.Site](row []S) uint64 {
	if len(row) == 0 {
		return 0
	}
	h := uint64(14695981039346656037) // FNV-1a
	for _, v := range row {
		bits := uint32(v)
		if r, real := any(v).(float32); real {
			if bits = math.Float32bits(r); r != r {
				bits = math.MaxUint32 // all NaN are blanks
			}
		}
		for range 4 {
			h = (h ^ uint64(bits&0xff)) * 1099511628211
			bits >>= 8
		}
	}
	return h
}
