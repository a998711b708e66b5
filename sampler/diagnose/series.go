package diagnose

import (
	"errors"
	"math"
)

// batchLimit is the maximum number of batches in a streaming series. A long series has between
// batchLimit/2 and batchLimit batches. Schmeiser 1982 (Operations Research 30, 556–568) finds that
// more than 30 batches add little to an interval for the mean, so half of batchLimit is still
// enough.
const batchLimit = 64

// ErrStreaming means that a trace from [NewStreamingTrace] does not keep the data for a diagnostic.
var ErrStreaming = errors.New("not kept in streaming mode")

// series condenses a stream of unknown length into at most batchLimit batches of consecutive draws.
// When all batches are full, neighbours are merged and new batches are twice as long. Every
// boundary between batches is therefore a possible middle of the series, and batches of any larger
// size can be formed by merging neighbours.
type series struct {
	size  int // number of draws in a full batch, a power of two
	full  int // number of full batches
	batch [batchLimit]moments
	part  moments // moments of the draws since the last full batch
	low   float64 // smallest draw
	high  float64
	bad   int // index of the first draw that is not finite, plus 1; 0 means none
	value float64
}

func newSeries() series {
	return series{size: 1, low: math.Inf(1), high: math.Inf(-1)}
}

// add includes the value v of the draw with index draw. It allocates nothing and takes constant
// time on average.
func (s *series) add(v float64, draw int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		if s.bad == 0 {
			s.bad, s.value = draw+1, v
		}
		return
	}
	s.low, s.high = min(s.low, v), max(s.high, v)
	s.part.add(v)
	if int(s.part.n) < s.size {
		return
	}
	s.batch[s.full] = s.part
	s.part = moments{}
	s.full++
	if s.full == batchLimit {
		for i := range batchLimit / 2 {
			pair := s.batch[2*i]
			pair.merge(s.batch[2*i+1])
			s.batch[i] = pair
		}
		s.full /= 2
		s.size *= 2
	}
}

// draws returns the number of draws that have been added.
func (s *series) draws() int { return s.full*s.size + int(s.part.n) }

// span returns the moments of the draws in the full batches from…to−1.
func (s *series) span(from, to int) (m moments) {
	for _, b := range s.batch[from:to] {
		m.merge(b)
	}
	return m
}

// total returns the moments of all draws.
func (s *series) total() moments {
	m := s.span(0, s.full)
	m.merge(s.part)
	return m
}

// longRun estimates the long-run variance σ² = lim n·Var(mean) by batch means: the size of a batch
// times the variance of the means. Batches are joined until they hold at least ⌊√n⌋ draws, the size
// that Flegal and Jones 2010 (Annals of Statistics 38, 1034–1070) recommend. The series must have
// at least 4 draws, which give two batches. longRun also returns the degrees of freedom, the number
// of batches minus one.
func (s *series) longRun() (variance, freedom float64) {
	n := s.draws()
	join := (int(math.Sqrt(float64(n))) + s.size - 1) / s.size
	var means moments
	for at := 0; at+join <= s.full; at += join {
		means.add(s.span(at, at+join).mean)
	}
	return float64(join) * float64(s.size) * means.variance(), means.n - 1
}
