package simd

// FlipOdds holds the probability of a site to flip for each of its states and each
// number of its neighbours in state 1. In its zero value none does.
type FlipOdds struct {
	// digits[p] is binary digit p of the probabilities as [Odds] has it: entries 0 …
	// 7 are the coefficients of sites in state 0, the others are what to add to them,
	// modulo 2, for those in state 1.
	digits [64][16]uint64
}

// Set sets the odds to p[x][k]·2⁻⁶⁴ for a site in state x with k neighbours in state 1.
func (o *FlipOdds) Set(p *[2][5]uint64) {
	a, b := coefficients(p[0][:]), coefficients(p[1][:])
	for j, off := range a[:len(p[0])] {
		on := off ^ b[j]
		for d := range o.digits {
			o.digits[d][j], o.digits[d][8+j] = -(off >> (63 - d) & 1), -(on >> (63 - d) & 1)
		}
	}
}

// digit returns digit d of the probability for 64 sites and their counts.
func (o *FlipOdds) digit(d int, own, c0, c1, c2 uint64) uint64 {
	return five(o.digits[d][:8], c0, c1, c2) ^ own&five(o.digits[d][8:], c0, c1, c2)
}
