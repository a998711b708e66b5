package trellis

import "math"

// lanes is the number of nodes whose sums run together in a dense layer: each
// has its own accumulator, so that additions overlap, and with eight the
// compiler runs out of registers (BenchmarkFFBS: 0.24 ns per edge for six, 0.37
// for eight, 0.32 for four).
const lanes = 6

// dead is the node number of missing edges in a dense layer; its value is 0.
const dead = 255

// denseFill is the least share of present edges for which reading the missing
// ones is cheaper than reading column numbers (BenchmarkFilter).
const denseFill = 0.4

// newDense returns the edges of l as full rows: entry b·columns+k holds, byte by
// byte from the lowest, the nodes that column k leads to from the nodes lanes·b,
// lanes·b+1, …. A byte as an index into an array of 256 needs no bounds check,
// which is why layers before more than 255 nodes have none.
func newDense(l *layer) []uint64 {
	columns := len(l.live)
	if l.next > dead || l.n < lanes/2 ||
		float64(len(l.to)) < denseFill*float64(l.n*columns) {
		return nil
	}
	blocks := (l.n + lanes - 1) / lanes
	d := make([]uint64, blocks*columns)
	for i := range d {
		d[i] = math.MaxUint64 // dead in every byte
	}
	for q := range l.n {
		for e := l.row[q]; e < l.row[q+1]; e++ {
			at := 8 * (q % lanes)
			entry := &d[q/lanes*columns+int(l.col[e])]
			*entry = *entry&^(0xff<<at) | uint64(l.to[e])<<at
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
		var a0, a1, a2, a3, a4, a5 float64
		for i, k := range cols {
			w, to := s[i], d[k]
			a0 = float64(w*ahead[uint8(to)]) + a0
			a1 = float64(w*ahead[uint8(to>>8)]) + a1
			a2 = float64(w*ahead[uint8(to>>16)]) + a2
			a3 = float64(w*ahead[uint8(to>>24)]) + a3
			a4 = float64(w*ahead[uint8(to>>32)]) + a4
			a5 = float64(w*ahead[uint8(to>>40)]) + a5
		}
		block := [lanes]float64{a0, a1, a2, a3, a4, a5}
		copy(dst[b*lanes:], block[:])
	}
}
