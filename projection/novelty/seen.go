package novelty

import "github.com/gibbsite-go/gibbsite/constraint"

// Seen is a set of sequences. Sequences have as many tokens as the model has sites, including
// padding. A set that can fail is a [Fallible]; one that is a finite automaton is a [Corpus].
//
// Contains may be called concurrently, but not during Add.
type Seen interface {
	// Contains reports whether x is in the set. It does not keep x.
	Contains(x []int32) bool

	// Add adds x to the set and reports whether it was new. It does not keep x.
	Add(x []int32) bool
}

// Fallible is a set that can fail, such as one in a database.
type Fallible interface {
	Seen

	// Err is called after every call of another method. Once it returns an error,
	// the results of that call are not used.
	Err() error
}

// Lasting is a set that outlives a run, such as one in a file: a run that resumes
// finds the samples of its checkpoint in it.
type Lasting interface {
	Seen

	// Recall adds x to the set, which may already contain it. It does not keep x.
	Recall(x []int32)
}

// Corpus is a set that is itself a finite automaton, and so can be searched and summed over. A
// *[constraint.Lexicon] is one, and so is a type that embeds it. A state from which nothing can
// be accepted should be dead: searches visit all states that are not dead.
type Corpus interface {
	Seen
	constraint.Automaton

	// Len returns the number of sequences. The automaton changes only when this number does.
	Len() int
}

// Checked is a [Seen] that may be invalid: Bind calls Check first.
type Checked interface {
	// Check returns an error that states what is wrong with the set, such as a part that
	// is nil.
	Check() error
}

// Sparse is a Corpus that lists its transitions, as a *[constraint.Lexicon] and a sorted.Layered
// do. Sums over it take one step per transition instead of one per token.
type Sparse interface {
	Corpus

	// AppendEdges appends the tokens that have a transition from state to tokens, in
	// ascending order, and the targets of these transitions to states.
	AppendEdges(tokens []int32, states []int, state int) ([]int32, []int)
}

// Crowded is a Sparse corpus that lists the transitions of many states at once, as a
// *[constraint.Lexicon] does. This is faster than state by state if the corpus is larger than the
// processor's caches.
type Crowded interface {
	Sparse

	// AppendEdgesOf appends the transitions of each of the states, one after the other,
	// as AppendEdges does, and the length of tokens after each state to ends.
	AppendEdgesOf(tokens []int32, to, ends, states []int) ([]int32, []int, []int)
}

// keys is a set of sequences by their keys.
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
