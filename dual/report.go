package dual

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Report presents a [Solution] or a [Certificate] in the units of the constraints. String formats
// it as a table with one line per constraint, and encoding/json can encode it.
type Report struct {
	Status      string   `json:"status"`
	Constraints []Line   `json:"constraints"`
	Dual        *float64 `json:"dual,omitempty"` // value of the dual function; nil if unknown
	// Steps is the number of dual steps over which the means are taken.
	Steps  int `json:"steps,omitempty"`
	States int `json:"states,omitempty"` // number of states measured per step
}

// Line reports on one constraint. A range (a constraint with two bounds) has two rows (see [Row])
// but one line.
type Line struct {
	Name  string
	Unit  string  // unit of Value, SE, Low and High
	Value float64 // mean of the constrained quantity h
	// standard error of Value; 0 if Value is exact, +Inf if the error is unknown. It is also 0 if
	// all draws gave the same value. A rare event may then have been missed: n independent draws
	// miss an event of probability p with probability (1−p)ⁿ. [UpperBound] gives a limit for p.
	SE   float64
	Low  float64 // lower bound; −Inf if there is none
	High float64 // upper bound; +Inf if there is none
	// multiplier of the constraint; for a range, the multiplier of High minus the multiplier of Low
	Lambda float64

	// Price is the shadow price: the change in the optimal value of the objective, in units of f0,
	// if the bound rises by one unit of h. For a range it is the price of the bound that the mean
	// has reached.
	Price float64

	// R-hat of the chains (1 if they agree) and their effective sample size; NaN if undefined
	RHat, ESS float64

	// Status is one of
	//
	//   - "slack": the constraint holds, and no other case applies;
	//   - "binding": λ is not 0 and the mean is at its bound, up to the tolerance or two standard
	//     errors on either side;
	//   - "not settled": λ·E[g] is beyond the tolerance by more than two standard errors;
	//   - "undecided": the mean is within two standard errors of the limit set by the tolerance;
	//   - "violated": the mean is beyond that limit by more than two standard errors;
	//   - "not converged": the chains disagree.
	//
	// With tolerance 0, no constraint is "not settled" or "undecided". If the two rows of a range
	// differ, the status later in this list applies.
	Status string
}

// statuses lists the values of Line.Status from good to bad. A range has the worse status of its
// two rows.
var statuses = []string{"slack", "binding", "not settled", "undecided", "violated", "not converged"}

// MarshalJSON encodes the line as JSON, with null for numbers that are not finite.
func (l Line) MarshalJSON() ([]byte, error) {
	number := func(v float64) *float64 {
		if !check.Finite(v) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Name   string   `json:"name"`
		Unit   string   `json:"unit,omitempty"`
		Value  *float64 `json:"value"`
		SE     *float64 `json:"se"`
		Low    *float64 `json:"low"`
		High   *float64 `json:"high"`
		Lambda *float64 `json:"lambda"`
		Price  *float64 `json:"price"`
		RHat   *float64 `json:"rhat,omitempty"`
		ESS    *float64 `json:"ess,omitempty"`
		Status string   `json:"status"`
	}{l.Name, l.Unit, number(l.Value), number(l.SE), number(l.Low), number(l.High), number(l.Lambda), number(l.Price), number(l.RHat), number(l.ESS), l.Status})
}

// line returns the report line of row j.
func (r Row) line(j int, violation, se, lambda float64) Line {
	l := Line{Name: r.Name, Unit: r.Unit, Value: r.value(violation), SE: se, Low: math.Inf(-1), High: math.Inf(1),
		Lambda: lambda, Price: r.price(lambda), RHat: math.NaN(), ESS: math.NaN()}
	if l.Name == "" {
		l.Name = r.label(j)
	}
	if r.Equal || r.AtLeast {
		l.Low = r.Bound
	}
	if r.Equal || !r.AtLeast {
		l.High = r.Bound
	}
	return l
}

// other reports whether r and next are the two rows of a range.
func (r Row) other(next Row) bool {
	return r.Name != "" && r.Name == next.Name && r.Unit == next.Unit && r.AtLeast != next.AtLeast && !r.Equal && !next.Equal
}

// merge returns one line for a range, given the lines of its two rows.
func merge(a, b Line) Line {
	if math.IsInf(a.High, 1) {
		a, b = b, a
	}
	a.Low = b.Low
	a.Lambda -= b.Lambda
	a.Price += b.Price
	for _, s := range statuses {
		if b.Status == s {
			break
		}
		if a.Status == s {
			a.Status = b.Status
		}
	}
	return a
}

// reported returns the report lines of all rows. The two rows of a range share one line.
func reported(rows []Row, line func(j int) Line) []Line {
	var all []Line
	for j := 0; j < len(rows); j++ {
		l := line(j)
		if j+1 < len(rows) && rows[j].other(rows[j+1]) {
			l = merge(l, line(j+1))
			j++
		}
		all = append(all, l)
	}
	return all
}

// Report returns the solution as a report in the units of the constraints.
func (s *Solution) Report() *Report {
	return &Report{Status: "optimal", Dual: &s.Dual, Constraints: reported(s.Rows, func(j int) Line {
		l := s.Rows[j].line(j, s.Violation[j], 0, s.Lambda[j])
		l.Status = "slack"
		if s.Lambda[j] != 0 || s.Rows[j].Equal {
			l.Status = "binding"
		}
		return l
	})}
}

// Report returns the certificate as a report in the units of the constraints. The argument tol is
// the largest allowed violation, and also the largest allowed slack. If a constraint has a
// tolerance of its own, that tolerance replaces tol for the violation, but not for the slack. With
// tol = 0, a constraint counts as violated only if it is violated by more than two standard errors.
func (c *Certificate) Report(tol float64) *Report {
	r := &Report{Steps: c.Steps, States: c.States, Status: fmt.Sprintf("holds within %g", tol)}
	switch {
	case tol == 0:
		r.Status = "at fixed λ"
		if !c.Frozen {
			r.Status = "along the trajectory"
		}
	case !c.Holds(tol):
		r.Status = fmt.Sprintf("does not hold within %g", tol)
	}
	if c.HasDual {
		r.Dual = &c.Dual
	}
	r.Constraints = reported(c.Rows, func(j int) Line {
		l := c.Rows[j].line(j, c.Violation[j], c.ViolationSE[j], c.Lambda[j])
		l.RHat, l.ESS, l.Status = c.RHat[j], c.ESS[j], c.status(j, tol)
		return l
	})
	return r
}

// status returns the status of row j for a [Line].
func (c *Certificate) status(j int, tol float64) string {
	row := c.Rows[j]
	off, error := row.off(c.Violation[j]), float64(confidence*c.ViolationSE[j])
	own := row.tolerance(tol)
	switch {
	case c.disagrees(j):
		return "not converged"
	case off-error > own:
		return "violated"
	case tol > 0 && !(off+error <= own):
		return "undecided"
	case tol > 0 && math.Abs(c.Slack[j])-float64(confidence*c.SlackSE[j]) > tol:
		return "not settled"
	case c.Lambda[j] != 0 && off >= -max(own, error):
		return "binding"
	}
	return "slack"
}

// String returns the report as a table with one line per constraint.
func (r *Report) String() string {
	var b strings.Builder
	b.WriteString(r.Status)
	if r.Steps > 0 {
		fmt.Fprintf(&b, ", %d steps of %d states", r.Steps, r.States)
	}
	if r.Dual != nil {
		fmt.Fprintf(&b, ", dual value %.10g", *r.Dual)
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "constraint\tmean\t± se\twanted\tλ\tprice")
	if r.Steps > 0 {
		fmt.Fprint(w, "\tR-hat\tESS")
	}
	fmt.Fprint(w, "\tstatus\n")
	for _, l := range r.Constraints {
		fmt.Fprintf(w, "%s\t%s\t%.2g\t%s\t%.6g\t%.6g", l.Name, estimate(l.Value, l.SE), l.SE, l.wanted(), l.Lambda, 0+l.Price)
		if r.Steps > 0 {
			fmt.Fprintf(w, "\t%.4g\t%.3g", l.RHat, l.ESS)
		}
		status := l.status()
		if r.Steps > 0 && l.SE == 0 {
			status += " (all draws equal)"
		}
		fmt.Fprintf(w, "\t%s\n", status)
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// status formats the status, and says why a bound that the mean exceeds counts as binding.
func (l *Line) status() string {
	beyond := max(l.Low-l.Value, l.Value-l.High)
	switch {
	case l.Status != "binding" || l.Low == l.High || l.SE == 0 || beyond <= 0:
		return l.Status
	case beyond <= float64(confidence*l.SE):
		return "binding (within 2 s.e.)"
	}
	return "binding (within tolerance)"
}

// wanted formats the bounds of the line.
func (l *Line) wanted() string {
	switch {
	case l.Low == l.High:
		return Row{Unit: l.Unit, Bound: l.High, Equal: true}.limit()
	case math.IsInf(l.High, 1):
		return Row{Unit: l.Unit, Bound: l.Low, AtLeast: true}.limit()
	case math.IsInf(l.Low, -1):
		return Row{Unit: l.Unit, Bound: l.High}.limit()
	}
	return strings.TrimSpace(fmt.Sprintf("%.12g … %.12g %s", l.Low, l.High, l.Unit))
}
