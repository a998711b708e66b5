package pushdown

// turned is what leaves a level and its adjoints, all ends of a row next to each
// other: a caller that is read backward asks for one row at many ends, where
// store.leave holds many rows at one end.
type turned struct {
	exits int
	at    []int // of each row: entry at + end·exits + κ, for the ends after its call
	value []float64
	bar   []float64
}

// turn copies what leaves the rows of a level and empties their adjoints.
func (u *turned) turn(l *store, exits, sites int) {
	u.exits, u.at = exits, resize(u.at, len(l.site))
	n := 0
	for r, c := range l.site {
		u.at[r] = n - (int(c)+1)*exits
		n += (sites - int(c) - 1) * exits
	}
	u.value, u.bar = resize(u.value, n), resize(u.bar, n)
	const rows = 64 // that are written at once
	for lo := 0; lo < len(u.at); lo += rows {
		for i := (int(l.site[lo]) + 1) * exits; i < sites*exits; i++ {
			left := l.leave[i]
			if left == nil {
				continue
			}
			hi := min(lo+rows, int(l.before[i/exits]))
			at := u.at[lo:hi]
			for a, x := range left[lo:hi] {
				u.value[at[a]+i] = x
			}
		}
	}
}

// read stores in dst the adjoints of rows lo…lo+len(dst) that leave by exit k at
// site e.
func (u *turned) read(dst []float64, lo, e, k int) {
	i := e*u.exits + k
	for a, at := range u.at[lo : lo+len(dst)] {
		dst[a] = u.bar[at+i]
	}
}
