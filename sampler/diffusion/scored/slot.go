package scored

import (
	"math"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// slot is one sample under way.
type slot struct {
	job    int // of the call
	number int // of the sample
	active bool
	over   bool // the job is done
	stream sampler.Stream

	steps   diffusion.Steps[int32]
	renoise diffusion.Renoiser
	absorb  diffusion.Absorbing

	x, y   []int32 // the state; scratch
	mask   int32
	masks  int
	time   float64
	step   int
	mend   bool // tokens that were taken back are shown, outside the process
	logW   float64
	v      []float32 // the prediction for x
	known  bool      // it is there
	fresh  bool      // it has not been conditioned
	finite bool      // best holds something
	best   []int32
	worst  float64 // violation of best

	violation float64 // at the end of the last path

	rounds, paths, predictions, judged int
	err                                error
}

// masked reports whether site j is masked.
func (s *slot) masked(j int) bool { return s.x[j] == s.mask }

// put shows a token.
func (s *slot) put(i int, l int32) {
	s.x[i] = l
	s.masks--
}

// take makes v the prediction for the state.
func (s *slot) take(v []float32) {
	copy(s.v, v)
	s.known, s.fresh = true, true
}

// keep makes what the path came to the best there is.
func (s *slot) keep() {
	copy(s.best, s.x)
	s.worst, s.finite = s.violation, true
}

// recount counts the masks.
func (s *slot) recount() {
	s.masks = 0
	for j := range s.x {
		if s.masked(j) {
			s.masks++
		}
	}
}

// clockFor returns the time at which a share of the tokens shows on average: what
// a denoiser is told of a state that no step of the process led to.
func (s *slot) clockFor(share float64) float64 {
	if share <= 0 {
		return 1
	}
	low, high := 0.0, 1.0
	for range 40 { // finer than any schedule resolves
		t := (low + high) / 2
		if s.steps.Alpha(t) >= share {
			low = t
		} else {
			high = t
		}
	}
	return max(low, math.SmallestNonzeroFloat64)
}
