package simd

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
