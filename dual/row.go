package dual

import (
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Row relates a row g_j of a target to the value h whose mean a user bounds,
//
//	g = h − Bound,  or  g = Bound − h  if AtLeast,
//
// so that the constraint is E[g] ≤ 0 or, if Equal, E[g] = 0. Errors, certificates and
// reports print the row in terms of h. The zero value is a row E[g] ≤ 0 without a name.
type Row struct {
	Name    string // "" prints the row's number
	Unit    string // of h, Bound and Tolerance
	Bound   float64
	AtLeast bool
	Equal   bool // the multiplier may have either sign

	// Tolerance is how far the mean may miss the bound before certificates count it as
	// violated; 0 means the tolerance of the call.
	Tolerance float64
}

// Described is implemented by targets, predictors and constraint.Sets that know their rows.
// Rows returns one row for every multiplier.
type Described interface{ Rows() []Row }

var (
	_ Described = (*Lagrangian)(nil)
	_ Described = (*RealLagrangian)(nil)
)

// rowsOf returns the n rows of what may be [Described], and which are equalities (nil: none).
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

// checkRows returns an error unless bounds are finite and tolerances are, too, and ≥ 0.
func checkRows(rows []Row) error {
	for j, r := range rows {
		if !check.Finite(r.Bound) || !(r.Tolerance >= 0) || !check.Finite(r.Tolerance) {
			return fmt.Errorf("dual: %s has the bound %v and the tolerance %v, want finite numbers, the second ≥ 0", r.label(j), r.Bound, r.Tolerance)
		}
	}
	return nil
}

// equalities returns which rows are, nil if none is.
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

// label names row j.
func (r Row) label(j int) string {
	if r.Name == "" {
		return fmt.Sprintf("row %d", j)
	}
	return fmt.Sprintf("%q", r.Name)
}

// violation returns g for a value h.
func (r Row) violation(h float64) float64 {
	if r.AtLeast {
		return r.Bound - h
	}
	return h - r.Bound
}

// value returns h for a violation g.
func (r Row) value(g float64) float64 {
	if r.AtLeast {
		return r.Bound - g
	}
	return r.Bound + g
}

// off returns by how much a mean violation misses the bound; below 0 it does not.
func (r Row) off(g float64) float64 {
	if r.Equal {
		return math.Abs(g)
	}
	return g
}

// tolerance returns the row's own tolerance, or that of the call.
func (r Row) tolerance(call float64) float64 {
	if r.Tolerance > 0 {
		return r.Tolerance
	}
	return call
}

// limit prints the bound, with its sign.
func (r Row) limit() string {
	sign := "≤"
	switch {
	case r.Equal:
		sign = "="
	case r.AtLeast:
		sign = "≥"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %.6g %s", sign, r.Bound, r.Unit))
}

// price is what the optimum of f0 changes by if Bound rises by one unit.
func (r Row) price(lambda float64) float64 {
	if r.AtLeast {
		return lambda
	}
	return 0 - lambda
}

// combination prints a direction in the space of multipliers, by names.
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

// shortened joins the first few parts and counts the others.
func shortened(parts []string, sep string) string {
	const most = 6
	if n := len(parts); n > most {
		parts = append(parts[:most:most], fmt.Sprintf("%d more", n-most))
	}
	return strings.Join(parts, sep)
}
