package energy

// Conditional models know exact single-site differences.
type Conditional interface {
	Model

	// Conditional stores d[l] = E(x with x_site = l) − E(x) for every level,
	// for the one state x. It panics unless len(d) = levels and
	// len(x) = sites.
	Conditional(d []float64, site int, x []int32)
}

// Local models keep a table of exact single-site energies up to date while one
// site at a time changes, at the cost of the site's neighbourhood.
type Local interface {
	Conditional

	// Locals stores d[i·levels+l] = E(x with x_i = l) + c_i for the one state
	// x, where c_i is any finite constant of the row; len(d) = sites·levels.
	// Entries are +Inf for levels of probability zero and never −Inf.
	Locals(d []float64, x []int32)

	// Move brings d, which holds Locals of x, up to date with the change of
	// x_site to the level to, by adding what changes to the rows of other
	// sites, up to a constant per row: d may be the sum of the tables of
	// several models. It must be called before x is changed; x is not
	// modified. Row site of d itself does not change.
	Move(d []float64, site int, to int32, x []int32)
}
