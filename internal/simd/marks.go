package simd

// Marks holds a bit for each of 512 chains at one site of a graph.
type Marks [8]uint64

// joinTerms bounds the sites of a call of assembly.
const joinTerms = 1 << 10

// Join spreads marks from sites to their neighbours. Entry i of marks holds the marks of site i,
// whose neighbours are the sites adj[start[i]:start[i+1]]. Join visits all sites in ascending
// order, or in descending order if reverse is true. A visit adds the current marks of the
// neighbours to those of site i, and then removes all marks whose bit in allowed[i] is 0. Join
// reports whether a mark changed. It panics unless len(allowed) = len(marks) and len(start) =
// len(marks) + 1. The entries of start and adj must be valid indices; they are not checked.
func Join(marks, allowed []Marks, start, adj []int32, reverse bool) (changed bool) {
	sites := len(marks)
	checkLen("allowed", len(allowed), sites)
	checkLen("start", len(start), sites+1)
	var grew Marks
	for done := 0; done < sites; {
		n := min(joinTerms, sites-done)
		if reverse {
			joinMarks(&grew, marks, allowed, start, adj, sites-1-done, n, -1)
		} else {
			joinMarks(&grew, marks, allowed, start, adj, done, n, 1)
		}
		done += n
	}
	return grew != Marks{}
}

// refJoinMarks visits n sites, beginning with first and step apart, and adds the marks that change
// to grew.
func refJoinMarks(grew *Marks, in, may []Marks, start, adj []int32, first, n, step int) {
	for i := first; n > 0; i, n = i+step, n-1 {
		v := in[i]
		for _, j := range adj[start[i]:start[i+1]] {
			near := &in[j] // no copy
			v[0] |= near[0]
			v[1] |= near[1]
			v[2] |= near[2]
			v[3] |= near[3]
			v[4] |= near[4]
			v[5] |= near[5]
			v[6] |= near[6]
			v[7] |= near[7]
		}
		for k := range v {
			v[k] &= may[i][k]
			grew[k] |= v[k] ^ in[i][k]
		}
		in[i] = v
	}
}
