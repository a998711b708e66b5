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
	var a [2][5]uint64
	for x, p := range p {
		a[x] = [5]uint64{p[0], p[0] ^ p[1], p[0] ^ p[2], p[0] ^ p[1] ^ p[2] ^ p[3], p[0] ^ p[4]}
	}
	for j, off := range a[0] {
		on := off ^ a[1][j]
		for d := range o.digits {
			o.digits[d][j], o.digits[d][8+j] = -(off >> (63 - d) & 1), -(on >> (63 - d) & 1)
		}
	}
}

// digit returns digit d of the probability for 64 sites and their counts.
func (o *FlipOdds) digit(d int, own, c0, c1, c2 uint64) uint64 {
	a, b := o.digits[d][:8], o.digits[d][8:]
	t := a[0] ^ a[1]&c0 ^ a[2]&c1 ^ a[3]&(c0&c1) ^ a[4]&c2
	return t ^ own&(b[0]^b[1]&c0^b[2]&c1^b[3]&(c0&c1)^b[4]&c2)
}

// FlipBits draws which sites of the string own flip, all at once: bit i of dst is
//
//	dst_i = 1 where u_i < p[own_i][k_i], else 0,
//
// with k_i ≤ 4 its number of neighbours in state 1, p from [FlipOdds.Set] and u_i as
// [HeatBits] has it. It panics unless len(dst) is a multiple of 8, at most that of
// counts, and own is as long.
func FlipBits(dst, own []uint64, count *Counts, o *FlipOdds, ars bool, key, stream, group uint64) {
	checkBits("dst", len(dst), len(count[0]))
	checkLen("own", len(own), len(dst))
	if ars {
		flipBitsARS(dst, own, count, o, key, stream, group)
	} else {
		flipBits(dst, own, count, o, key, stream, group)
	}
}

// FlipTally counts sites, and those of them that flip, by their state x and their
// number k ≤ 4 of neighbours in state 1.
type FlipTally struct{ Sites, Flips [2][5]int }

// Add adds another tally.
func (t *FlipTally) Add(u *FlipTally) {
	for x := range t.Sites {
		for k := range t.Sites[x] {
			t.Sites[x][k] += u.Sites[x][k]
			t.Flips[x][k] += u.Flips[x][k]
		}
	}
}

// TallyFlips adds to t the sites of the string own that are set in valid, of which those
// flip that are set in flip. It panics unless len(own) is a multiple of 8, at most that
// of counts, and the other strings are as long. The result is undefined where a count is
// above 4.
func TallyFlips(t *FlipTally, own, flip, valid []uint64, count *Counts) {
	checkBits("own", len(own), len(count[0]))
	checkLen("flip", len(flip), len(own))
	checkLen("valid", len(valid), len(own))
	terms := tallyFlips(own, flip, valid, count)
	terms.addTo(t)
}

// flipTerms are, for the terms 1, c_0, c_1, c_0c_1 and c_2 of the digits of the number
// of neighbours, the sites where a term is 1, in parts of 16 bits: all of them, those in
// state 1, those that flip, those that do both.
type flipTerms [5]uint64

// addTo adds the sites by their counts, of which 3 is the only one with two digits and
// 4 the only one with the third.
func (s *flipTerms) addTo(t *FlipTally) {
	one, two := s[1]-s[3], s[2]-s[3]
	none := s[0] - one - two - s[3] - s[4]
	for k, v := range [5]uint64{none, one, two, s[3], s[4]} {
		all, on, flip, both := int(v&0xffff), int(v>>16&0xffff), int(v>>32&0xffff), int(v>>48)
		t.Sites[0][k] += all - on
		t.Sites[1][k] += on
		t.Flips[0][k] += flip - both
		t.Flips[1][k] += both
	}
}
