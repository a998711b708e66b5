package sampler

import "math"

// Stats sums up the steps after warm-up. Counts stop at math.MaxInt.
type Stats struct {
	Steps   int     // chain steps: steps times chains
	Accept  float64 // mean acceptance probability
	Moved   float64 // mean number of sites changed per chain step
	Invalid int     // proposals rejected because their energy was NaN or −Inf
}

func (s *Stats) add(info []Info) {
	for i := range info {
		s.Accept += info[i].Accept
		s.Moved += float64(info[i].Moved)
		s.Invalid = plus(s.Invalid, info[i].Invalid)
	}
	s.Steps = plus(s.Steps, len(info))
}

// plus adds counts and stays at the largest int instead of running over.
func plus(a, b int) int { return a + min(b, math.MaxInt-a) }
