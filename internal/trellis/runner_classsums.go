package trellis

import "math"

// classSums stores the sums over classes of site t, in the way of r.method,
// and the list of columns whose sum is not zero.
func (r *Runner) classSums(t int) error {
	l := r.g.layers[t]
	s := r.sums(t)
	var err error
	switch {
	case r.method == logarithm && l.wide():
		r.wideLogs(t, l, s)
	case r.method == logarithm:
		err = r.logSums(t, l, s)
	case l.wide():
		err = r.wideSums(t, l, s)
	default:
		err = r.doubleSums(t, l, s)
		r.deep[t] = r.sinks(t, l, s)
	}
	if err != nil {
		return err
	}
	zero := 0.0
	if r.method == logarithm {
		zero = math.Inf(-1)
	}
	cols, n := r.cols[r.sumAt[t]:r.sumAt[t+1]], 0
	for k, w := range s {
		cols[n] = int32(k)
		if w > zero {
			n++
		}
	}
	r.colN[t] = n
	return nil
}
