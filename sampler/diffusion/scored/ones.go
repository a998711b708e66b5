package scored

// mostOnes bounds the predictions that are kept for states with one token, in bytes.
const mostOnes = 1 << 26

// ones keeps the predictions of a time-free denoiser for the states in which one
// token shows beside those that are given: all paths come by one of them. The zero
// value keeps none.
type ones struct {
	levels int
	v      [][]float32 // by site and level, nil while it is not known
}

// newOnes keeps all such predictions, or none where they would take too much room.
func newOnes(free, sites, levels int) ones {
	if float64(free)*float64(levels)*float64(sites)*float64(levels)*4 > mostOnes {
		return ones{}
	}
	return ones{levels, make([][]float32, sites*levels)}
}

// at returns where the prediction for the state of a slot is kept, nil if it is not.
func (o *ones) at(s *slot, free []int) *[]float32 {
	if o.v == nil || s.masks != len(free)-1 {
		return nil
	}
	for _, i := range free {
		if !s.masked(i) {
			return &o.v[i*o.levels+int(s.x[i])]
		}
	}
	return nil
}
