package trellis

// lanes is the number of nodes whose sums run together in a dense layer: each
// has its own accumulator, so that additions overlap, and eight of them with
// their operands fill the sixteen registers of amd64.
const lanes = 8

// dead is the node number of missing edges in a dense layer; its value is 0.
const dead = 255

// denseFill is the least share of present edges for which reading the missing
// ones is cheaper than reading column numbers (BenchmarkFilter).
const denseFill = 0.4

// newDense returns the edges of l as full rows: entry b·columns+k holds, for
// the nodes 8b…8b+7, the node that column k leads to. A byte as an index into
// an array of 256 needs no bounds check, which is why layers before more than
// 255 nodes have none.
func newDense(l *layer) [][lanes]uint8 {
	columns := len(l.live)
	if l.edge != nil || l.next > dead || l.n < lanes/2 ||
		float64(len(l.to)) < denseFill*float64(l.n*columns) {
		return nil
	}
	blocks := (l.n + lanes - 1) / lanes
	d := make([][lanes]uint8, blocks*columns)
	for i := range d {
		for j := range d[i] {
			d[i][j] = dead
		}
	}
	for q := range l.n {
		for e := l.row[q]; e < l.row[q+1]; e++ {
			d[q/lanes*columns+int(l.col[e])][q%lanes] = uint8(l.to[e])
		}
	}
	return d
}

// denseSums stores in dst[q] = Σ_k s[k]·ahead[target of q by column k], k over
// cols, for all nodes q.
func (l *layer) denseSums(dst []float64, cols []int32, s []float64, ahead *[256]float64) {
	columns := len(l.live)
	s = s[:len(cols)]
	for b := 0; b*lanes < l.n; b++ {
		d := l.dense[b*columns : (b+1)*columns]
		var a0, a1, a2, a3, a4, a5, a6, a7 float64
		for i, k := range cols {
			w, to := s[i], &d[k]
			a0 = float64(w*ahead[to[0]]) + a0
			a1 = float64(w*ahead[to[1]]) + a1
			a2 = float64(w*ahead[to[2]]) + a2
			a3 = float64(w*ahead[to[3]]) + a3
			a4 = float64(w*ahead[to[4]]) + a4
			a5 = float64(w*ahead[to[5]]) + a5
			a6 = float64(w*ahead[to[6]]) + a6
			a7 = float64(w*ahead[to[7]]) + a7
		}
		block := [lanes]float64{a0, a1, a2, a3, a4, a5, a6, a7}
		copy(dst[b*lanes:], block[:])
	}
}
