package sampler

// Stats sums up the steps after warm-up.
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
		s.Invalid += info[i].Invalid
	}
	s.Steps += len(info)
}
