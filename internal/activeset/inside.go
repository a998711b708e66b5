package activeset

import "github.com/gibbsite-go/gibbsite/internal/simd"

// inside is what a factor in the metric P has besides R, with RᵀR = A_T·P·A_Tᵀ. Column
// k of q is P·a_k, from place at[k] on.
type inside struct {
	p     []float64 // by row
	at    []int32
	image []float64 // P·a of the entrant
	d     []float64 // the entrant less what the tight rows explain, P·d = z
	w     []float64 // by tight row
	index []int32   // of a sparse product, in P
	coef  []float64
}

// product adds P·d to dst.
func (in *inside) product(dst, d []float64) {
	in.index, in.coef = in.index[:0], in.coef[:0]
	for i, x := range d {
		if x != 0 {
			in.index, in.coef = append(in.index, int32(i*len(d))), append(in.coef, x)
		}
	}
	simd.Fold(dst, len(d), in.p, in.index, in.coef)
}

// keep stores the image of the entrant in a place that is not in use: those behind
// the end of at.
func (in *inside) keep(q []float64) {
	in.at = in.at[:len(in.at)+1]
	copy(q[in.at[len(in.at)-1]:], in.image)
}

// forget gives up the place of column k.
func (in *inside) forget(k int) {
	place, last := in.at[k], len(in.at)-1
	copy(in.at[k:], in.at[k+1:])
	in.at[last] = place
	in.at = in.at[:last]
}
