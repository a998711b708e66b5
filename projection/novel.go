package projection

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Novel keeps sequences out of a growing set: a distribution moves to the
// nearest one whose likeliest sequence is not in the set, and what a run
// produces enters it.
//
// The sequence is the exact minimum over all sequences outside the set (and in
// Path.Language, if that is given). It is never one of the set: if there is no
// other, that is an *[InfeasibleError]. Cardei et al. 2025 search best-first
// over the tokens of largest gap; here the search is exact and has three forms,
// chosen by what is known about the set:
//
//   - a [constraint.Lexicon]: branch and bound on its automaton;
//   - any other [Seen]: sequences in order of cost until one is new, at most
//     one more than there are known ones;
//   - a language beside it: the same, in order of cost within the language.
type Novel struct {
	// Seen is the set. The default is a new, empty Lexicon for every Bind.
	Seen Seen

	// Key, if not nil, says when two sequences are the same: when their keys
	// are. The set is then one of keys, in memory, and Seen must be nil.
	Key func(x []int32) string

	// Path says what else is asked of the sequence and how distributions are
	// compared. A nil Language means all sequences.
	Path Path

	// Gap chooses the sequence by the sum of max_l p_i(l) − p_i(x_i), the
	// costs of Cardei et al. 2025, instead of the divergence.
	Gap bool

	// Trials bounds the rejections of a joint draw before the exact but slower
	// way is taken, 0 for 64.
	Trials int
}

// Seen is a set of sequences. Sequences have as many tokens as the model has
// sites, padding included. A set that can fail, such as one in a database, also
// has a method Err() error, which is asked after every call; once it returns an
// error the results of that call are not used.
//
// Contains may be called by several goroutines at once, but not during Add.
type Seen interface {
	// Contains reports whether x is in the set. It does not keep x.
	Contains(x []int32) bool

	// Add puts x into the set and reports whether it was not there. It does
	// not keep x.
	Add(x []int32) bool
}

// defaultTrials is where rejection gives way: beyond it P(novel) is likely
// below 5 %, and compiling the exact law pays.
const defaultTrials = 64

// Bind makes the recipe a [Projection] for samples of the given shape: a
// *[Lexical], which also draws jointly, if the set is a Lexicon, and otherwise a
// *[Novelty].
func (n Novel) Bind(sites, levels, samples int) (Projection, error) {
	if samples < 1 {
		return nil, fmt.Errorf("projection: Novel: samples = %d, want ≥ 1", samples)
	}
	s, err := n.Compile(context.Background(), sites, levels)
	if err != nil {
		return nil, err
	}
	if lexicon, ok := s.seen.(*constraint.Lexicon); ok {
		return newLexical(s, lexicon, n.Trials), nil
	}
	return s, nil
}

// Compile is Bind for use by hand.
func (n Novel) Compile(ctx context.Context, sites, levels int) (*Novelty, error) {
	free := n.Path.Language == nil && !n.Path.Padded
	path := n.Path
	if path.Language == nil {
		path.Language = constraint.Any{}
	}
	switch {
	case n.Key != nil && n.Seen != nil:
		return nil, fmt.Errorf("projection: Novel: both Seen and Key are set, want one")
	case n.Trials < 0:
		return nil, fmt.Errorf("projection: Novel: Trials = %d, want ≥ 0", n.Trials)
	}
	within, err := path.Compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	s := &Novelty{
		name:   "novelty",
		within: within,
		free:   free,
		rule:   newRule(path.Divergence, within.rule.kappa, n.Gap, path.Revive),
		seen:   n.Seen,
	}
	if n.Path.Name != "" {
		s.name = n.Path.Name
	}
	switch {
	case n.Key != nil:
		s.seen = &keys{key: n.Key, known: map[string]struct{}{}}
	case n.Seen == nil:
		s.seen = new(constraint.Lexicon)
	}
	return s, nil
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
