package constraint

// Counting languages look at nothing but how many sites take one of some
// levels. [Count] is one, by value, by pointer and inside a struct that embeds
// it. A consumer that finds a Counting language need not walk an automaton: what
// a change of one site does to the count is known without the other sites.
type Counting interface {
	Automaton

	// Counts says which sequences are in the language: exactly those with
	//
	//	least ≤ #{i : x_i ∈ levels} ≤ most.
	//
	// levels may hold a level twice, or levels that a model does not have.
	// least is 0 where there is no lower bound and most [Unbounded] where there is
	// no upper one. The slice must not be modified.
	Counts() (levels []int32, least, most int)
}
