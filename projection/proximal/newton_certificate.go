package proximal

import "math"

// Certificate measures the quality of a solution. Its numbers are computed from the solution
// alone, so they are valid whatever the iteration did.
type Certificate struct {
	// Violation is the largest amount by which an inequality is violated, in the units of its
	// row.
	Violation float64

	// Gap is the duality gap of the penalty form: the objective at z is at most this much above
	// its minimum, and so ½‖z − z*‖² ≤ Gap (‖·‖ in the metric, if there is one). In the hard form
	// it is Σ_j |support_j(y_j) − y_j·t_j|, the error of complementary slackness. With curved
	// inequalities it is the gap of the last linearisation. It is ≥ 0 and allows for the rounding
	// of its own terms, 2⁻⁵⁰ of their sum: this allowance is noticeable if rows contradict each
	// other and γ is so large that violations outweigh the distance by more than that factor.
	Gap float64

	// Contradiction means that no z satisfies the rows, and that z solves the penalty
	// form with γ = SoftGamma instead.
	Contradiction bool

	// Steps counts the Newton steps, including those of the active set. Inner counts the
	// conjugate gradient steps, and Outer the linearisations.
	Steps, Inner, Outer int
}

// gapRounding is what a term of the gap may be off by, as a part of the penalty in it.
const gapRounding = 0x1p-50

// certify measures z, which has just been solved for.
func (w *newton) certify(c *Certificate, z []float64, scale float64) {
	c.Violation, c.Gap = w.emptyViolation, 0
	c.Contradiction = c.Contradiction || w.emptyViolation > leastSlack
	for j := range w.len() {
		t := w.dot(j, z)
		far := w.distance(j, t)
		c.Violation = max(c.Violation, far*w.norm[j])
		gap := w.support(j, w.y[j]) - float64(w.y[j]*t)
		if math.IsInf(w.cap[j], 1) {
			c.Gap += math.Abs(gap) / scale
			continue
		}
		penalty := float64(w.cap[j] * far)
		c.Gap += (max(0, gap+penalty) + float64(gapRounding*penalty)) / scale
	}
}
