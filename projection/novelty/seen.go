package novelty

import "github.com/gibbsite-go/gibbsite/constraint"

// Seen is a set of sequences. Sequences have as many tokens as the model has sites, including
// padding. A set whose methods can fail also implements [Fallible]. A set that is a finite
// automaton also implements [Corpus].
//
// Contains may be called concurrently, but not during Add.
type Seen interface {
	// Contains reports whether x is in the set. It does not keep x.
	Contains(x []int32) bool

	// Add adds x to the set and reports whether x was new. It does not keep x.
	Add(x []int32) bool
}

// Fallible is a set whose methods can fail, such as a set in a database.
type Fallible interface {
	Seen

	// Err returns the first error of the set, or nil. Err is called after every call of another
	// method. If Err returns an error, the results of that other call are not used.
	Err() error
}

// Lasting is a set that outlives a run, for example because it is stored in a file. When a run is
// resumed from a checkpoint, such a set already contains the samples of the checkpoint.
type Lasting interface {
	Seen

	// Recall adds x to the set, unless the set already contains x. It does not keep x.
	Recall(x []int32)
}

// Corpus is a set that is also a finite automaton, so that it can be searched and summed over. A
// *[constraint.Lexicon] implements it, as does a type that embeds one. Searches visit all states
// that are not dead, so Next should return −1 (dead) instead of a state from which no sequence is
// accepted.
type Corpus interface {
	Seen
	constraint.Automaton

	// Len returns the number of sequences. The automaton changes only when this number changes.
	Len() int
}

// Checked is implemented by sets that can be invalid. [Projector.Bind] calls Check first.
type Checked interface {
	// Check returns an error that describes what is wrong with the set, for instance that a part of
	// it is nil.
	Check() error
}

// Sparse is a [Corpus] that can list the transitions that leave a state of its automaton.
// *[constraint.Lexicon] and sorted.Layered implement it. Sums over the automaton take one step per
// transition instead of one per token.
type Sparse interface {
	Corpus

	// AppendEdges lists the transitions that leave the given state, in ascending order of their
	// tokens. For each transition it appends the token to tokens and the target state to states.
	AppendEdges(tokens []int32, states []int, state int) ([]int32, []int)
}

// Crowded is a [Sparse] corpus that can list the transitions of many states at once. If the corpus
// is larger than the processor's caches, this is faster than listing them state by state.
// *[constraint.Lexicon] implements it.
type Crowded interface {
	Sparse

	// AppendEdgesOf lists the transitions that leave each of the given states, one state after the
	// other. For each transition it appends the token to tokens and the target state to targets.
	// After each state, it appends len(tokens) to ends.
	AppendEdgesOf(tokens []int32, targets, ends, states []int) ([]int32, []int, []int)
}

// keys is a set of sequences that are compared by their keys.
type keys struct {
	key   func(x []int32) string
	known map[string]struct{}
}

func (k *keys) Contains(x []int32) bool {
	_, ok := k.known[k.key(x)]
	return ok
}

func (k *keys) Add(x []int32) bool {
	s := k.key(x)
	_, ok := k.known[s]
	k.known[s] = struct{}{}
	return !ok
}
