package twisted

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// rows is a system of linear equations and inequalities in the coordinates u = U·x, where U has
// orthonormal rows. The first entries of u have given values. Linear combinations of all entries
// have bounds.
type rows struct {
	n, q, fixed int
	basis       []float64 // rows of U, q × n
	value       []float64 // values of the first entries of u
	site        []float64 // coefficients of the inequalities in u, sites × q
	lo, hi      []float64 // bounds of each product site·u
	logVolume   float64   // log-density of u minus log-density of the original equations
}

// newRows reads a set for series of n entries. Two-sided rows no wider than width become
// equations. If full is set, U is square.
func newRows(set Set, n int, width float64, full bool) (*rows, error) {
	linear, curved := set.Split()
	if curved != nil && curved.Len() > 0 {
		return nil, fmt.Errorf("twisted: %d curved inequalities, want linear rows only", curved.Len())
	}
	if err := linear.Validate(n); err != nil {
		return nil, fmt.Errorf("twisted: %w", err)
	}
	var equations, values, bounded []float64
	r := &rows{n: n}
	for j, a := range linear.A {
		lo, hi := linear.Lower[j], linear.Upper[j]
		if math.IsInf(lo, -1) && math.IsInf(hi, 1) {
			continue
		}
		dense := make([]float64, n)
		for k, i := range a.Index {
			dense[i] += a.Value[k]
		}
		if hi-lo <= width {
			equations, values = append(equations, dense...), append(values, lo+float64((hi-lo)/2))
			continue
		}
		bounded = append(bounded, dense...)
		r.lo, r.hi = append(r.lo, lo), append(r.hi, hi)
	}
	fixed := span.New(equations, n)
	var off float64
	if r.value, off = fixed.Solve(values); off > excess {
		return nil, fmt.Errorf("twisted: the equations contradict each other (relative error %.3g, want ≤ %.0g): %w: loosen one", off, excess, constraint.ErrInfeasible)
	}
	r.fixed, r.logVolume = fixed.Rank(), fixed.LogVolume()
	every := append(append([]float64(nil), fixed.U...), bounded...)
	if len(every) == 0 {
		return nil, fmt.Errorf("twisted: no row has bounds, want one or more: to sample without conditions, use package langevin or diffusion")
	}
	if full {
		unit := make([]float64, n*n)
		for i := range n {
			unit[i*n+i] = 1
		}
		every = append(every, unit...)
	}
	all := span.New(every, n)
	r.q, r.basis = all.Rank(), all.U
	return r, r.bound(all.T[r.fixed*r.q : (r.fixed+len(r.lo))*r.q])
}

// bound keeps the inequalities that the equations do not decide. It returns an error if the
// equations violate one.
func (r *rows) bound(site []float64) error {
	lo, hi := r.lo, r.hi
	r.lo, r.hi = nil, nil
	for j := range lo {
		t := site[j*r.q : (j+1)*r.q]
		known, size, open := 0.0, 0.0, 0.0
		for k, x := range t {
			if k >= r.fixed {
				open = max(open, math.Abs(x))
				continue
			}
			known += float64(x * r.value[k])
			size += math.Abs(x * r.value[k])
		}
		if open == 0 {
			if slack := float64(excess * size); known < lo[j]-slack || known > hi[j]+slack {
				return fmt.Errorf("twisted: the equations make the sum of an inequality %.6g, want %.6g … %.6g: %w: loosen one", known, lo[j], hi[j], constraint.ErrInfeasible)
			}
			continue
		}
		r.site = append(r.site, t...)
		r.lo, r.hi = append(r.lo, lo[j]), append(r.hi, hi[j])
	}
	return nil
}

// sites returns the number of sites, one for each inequality.
func (r *rows) sites() int { return len(r.lo) }

// clear removes from v its component in the row space of U.
func (r *rows) clear(v []float64) {
	for k := range r.q {
		u := r.basis[k*r.n : (k+1)*r.n]
		s := span.Dot(u, v)
		for i, x := range u {
			v[i] -= float64(s * x)
		}
	}
}
