package simd

// Marks holds a bit for each of 512 chains at one site of a graph.
type Marks [8]uint64

// joinSites bounds the sites of a call of assembly.
const joinSites = 1 << 12

// Join passes marks on between the sites of a graph. The neighbours of site i are
// adj[start[i]:start[i+1]]. It visits all sites in ascending order, or in descending order if back
// is true. Each site gets the marks of its neighbours, as they are by then, in the chains whose bit
// in may[i] is set, and loses its own marks in the others. Join reports whether a mark changed.
func Join(in, may []Marks, start, adj []int32, back bool) (changed bool) {
	sites := len(in)
	checkLen("may", len(may), sites)
	checkLen("start", len(start), sites+1)
	var grew Marks
	for done := 0; done < sites; {
		n := min(joinSites, sites-done)
		if back {
			joinMarks(&grew, in, may, start, adj, sites-1-done, n, -1)
		} else {
			joinMarks(&grew, in, may, start, adj, done, n, 1)
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
			for k, near := range in[j] {
				v[k] |= near
			}
		}
		for k := range v {
			v[k] &= may[i][k]
			grew[k] |= v[k] ^ in[i][k]
		}
		in[i] = v
	}
}
