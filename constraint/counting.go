package constraint

// Counting languages depend only on how many sites take one of some levels. [Count] is
// one, by value, by pointer and embedded in a struct. A consumer of a Counting language
// need not walk an automaton: the effect of one site on the count does not depend on the
// other sites.
type Counting interface {
	Automaton

	// Counts returns the condition of the language, which holds exactly the sequences
	// with
	//
	//	least ≤ #{i : x_i ∈ levels} ≤ most.
	//
	// levels may hold a level twice, or levels that a model does not have. least is 0 if
	// there is no lower bound and most is [Unbounded] if there is no upper one. The slice
	// must not be modified.
	Counts() (levels []int32, least, most int)
}
