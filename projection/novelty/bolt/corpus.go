package bolt

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Corpus is a Set that is also kept in memory, as the minimal automaton of its sequences. It
// implements novelty.Corpus and has the methods of a [constraint.Lexicon]. Several goroutines may
// read a Corpus concurrently, but not while a goroutine adds to it.
type Corpus struct {
	*lexicon
	set *Set
}

// lexicon is an alias of constraint.Lexicon. Embedding it under an unexported name prevents
// users from adding to the automaton without adding to the file.
type lexicon = constraint.Lexicon

// OpenCorpus opens a file, like [Open], and reads all its sequences into memory. Reading takes
// about a microsecond per sequence.
func OpenCorpus(ctx context.Context, path string, c Config) (*Corpus, error) {
	set, err := Open(ctx, path, c)
	if err != nil {
		return nil, err
	}
	s := &Corpus{new(lexicon), set}
	n := 0
	for x := range set.All() {
		if n%chunk == 0 {
			if err = set.named(context.Cause(ctx)); err != nil {
				break
			}
		}
		n++
		s.lexicon.Add(x)
	}
	if err == nil {
		err = set.Err()
	}
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return s, nil
}

// Close closes the file: see [Set.Close].
func (s *Corpus) Close() error { return s.set.Close() }

// Err returns the first error of the file: see [Set.Err].
func (s *Corpus) Err() error { return s.set.Err() }

// Check returns the first error of the file: see [Set.Check].
func (s *Corpus) Check() error { return s.set.Check() }

// Add adds x to the file and then to the automaton. It reports whether x was new. See [Set.Add].
func (s *Corpus) Add(x []int32) bool {
	if s.Contains(x) {
		return false
	}
	added, err := s.Import(context.Background(), slices.Values([][]int32{x}))
	s.set.keep(err)
	return added > 0
}

// Recall adds x to the set, unless the set already contains x: see [Set.Recall].
func (s *Corpus) Recall(x []int32) { s.Add(x) }

// Import adds many sequences to the file and to the automaton: see [Set.Import].
func (s *Corpus) Import(ctx context.Context, all iter.Seq[[]int32]) (added int, err error) {
	return s.set.put(ctx, all, func(x []int32) { s.lexicon.Add(x) })
}

// Settings calls add with the identity of the file, for use in a checkpoint: see [Set.Settings].
func (s *Corpus) Settings(add func(name string, value any)) { s.set.Settings(add) }

// Verify checks the file by [Set.Verify] and compares its sequences with the sequences in memory.
func (s *Corpus) Verify(ctx context.Context) error {
	if err := s.set.Verify(ctx); err != nil {
		return err
	}
	for x := range s.set.All() {
		if !s.Contains(x) {
			return s.set.named(errors.New("the file holds a sequence that the automaton does not"))
		}
	}
	if s.Len() != s.set.Len() {
		return s.set.named(errors.New("the automaton holds a sequence that the file does not"))
	}
	return s.Err()
}
