package dual

import (
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Row describes one inequality E[g] ≤ 0 or, if Equal is set, one equality E[g] = 0. It has one
// multiplier. The violation g is written in terms of the quantity h whose mean the user bounds:
//
//	g = h − Bound,  or  g = Bound − h if AtLeast.
//
// Errors, certificates and reports print h, not g. The zero value is an inequality E[g] ≤ 0 without
// a name.
type Row struct {
	Name    string // name to print; "" means the index of the row
	Unit    string // unit of h, Bound and Tolerance
	Bound   float64
	AtLeast bool
	Equal   bool // whether the row is an equality; its multiplier may then have either sign

	// Tolerance is the largest amount by which the mean may miss the bound before certificates
	// count it as violated. 0 means the tolerance passed to methods such as [Certificate.Report].
	Tolerance float64
}

// Described is implemented by targets, predictors and constraint sets that describe their
// inequalities. Rows returns one Row for every multiplier.
type Described interface{ Rows() []Row }

var (
	_ Described = (*Lagrangian)(nil)
	_ Described = (*RealLagrangian)(nil)
)

// rowsOf returns the n rows of t, and marks in equal the rows that are equalities. The result equal
// is nil if no row is an equality. If t is not [Described], the rows are zero values.
func rowsOf(t any, n int) (rows []Row, equal []bool, err error) {
	rows = make([]Row, n)
	if d, ok := t.(Described); ok {
		own := d.Rows()
		if len(own) != n {
			return nil, nil, fmt.Errorf("dual: %T has %d rows and %d multipliers, want as many", t, len(own), n)
		}
		copy(rows, own)
	}
	return rows, equalities(rows), checkRows(rows)
}

// checkRows returns an error if a bound is not finite, or a tolerance is negative or not finite.
func checkRows(rows []Row) error {
	for j, r := range rows {
		if !check.Finite(r.Bound) || !(r.Tolerance >= 0) || !check.Finite(r.Tolerance) {
			return fmt.Errorf("dual: %s has the bound %v and the tolerance %v, want finite numbers, the second ≥ 0", r.label(j), r.Bound, r.Tolerance)
		}
	}
	return nil
}

// equalities marks the rows that are equalities. It returns nil if no row is an equality.
func equalities(rows []Row) []bool {
	equal, any := make([]bool, len(rows)), false
	for j, r := range rows {
		equal[j] = r.Equal
		any = any || r.Equal
	}
	if !any {
		return nil
	}
	return equal
}

// label returns the quoted name of the row, or "row j" if it has none.
func (r Row) label(j int) string {
	if r.Name == "" {
		return fmt.Sprintf("row %d", j)
	}
	return fmt.Sprintf("%q", r.Name)
}

// violation returns the violation g for a value h.
func (r Row) violation(h float64) float64 {
	if r.AtLeast {
		return r.Bound - h
	}
	return h - r.Bound
}

// value returns the value h for a violation g.
func (r Row) value(g float64) float64 {
	if r.AtLeast {
		return r.Bound - g
	}
	return r.Bound + g
}

// off returns the amount by which the mean violation g misses the constraint. A negative result
// means that the constraint holds.
func (r Row) off(g float64) float64 {
	if r.Equal {
		return math.Abs(g)
	}
	return g
}

// tolerance returns the tolerance of the row. If the row has none, it returns call, the tolerance
// given in the call.
func (r Row) tolerance(call float64) float64 {
	if r.Tolerance > 0 {
		return r.Tolerance
	}
	return call
}

// limit formats the bound with its relation and unit, such as "≤ 3 kW".
func (r Row) limit() string {
	sign := "≤"
	switch {
	case r.Equal:
		sign = "="
	case r.AtLeast:
		sign = "≥"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %.12g %s", sign, r.Bound, r.Unit))
}

// estimate formats a mean with six digits, or more if its error, se, is smaller than those show.
func estimate(mean, se float64) string {
	digits := 6
	if ratio := math.Abs(mean) / se; ratio > 1e4 && !math.IsInf(ratio, 1) {
		digits = min(2+int(math.Ceil(math.Log10(ratio))), 15)
	}
	return fmt.Sprintf("%.*g", digits, mean)
}

// price returns the change of the optimum of f0 if Bound rises by one unit, given the multiplier
// of the row.
func (r Row) price(lambda float64) float64 {
	if r.AtLeast {
		return lambda
	}
	return 0 - lambda
}

// combination formats a direction u in the space of multipliers as a sum over row names.
func combination(u []float64, rows []Row) string {
	var parts []string
	for j, v := range u {
		if v == 0 {
			continue
		}
		r := Row{}
		if j < len(rows) {
			r = rows[j]
		}
		parts = append(parts, fmt.Sprintf("%.4g·(%s %s)", v, r.label(j), r.limit()))
	}
	return shortened(parts, " + ")
}

// shortened joins the first six parts and gives the number of the others.
func shortened(parts []string, sep string) string {
	const most = 6
	if n := len(parts); n > most {
		parts = append(parts[:most:most], fmt.Sprintf("%d more", n-most))
	}
	return strings.Join(parts, sep)
}
