package novelty

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Projector prevents a run from generating sequences that are already in a set. It replaces a
// distribution by the nearest one whose likeliest sequence is not in the set. It adds the generated
// sequences to the set.
//
// Of all sequences outside the set (and in Path.Language, if that is set), it chooses the one with
// the least divergence. If every sequence is in the set, the error is an
// *[projection.InfeasibleError]. The search is exact, and its method depends on the set:
//
//   - for a [Corpus], such as a [constraint.Lexicon]: branch and bound on its automaton;
//   - for any other [Seen]: try sequences in order of cost until one is new, at most n + 1 tries
//     for a set of n sequences;
//   - for any set, if Path.Language is set: try sequences of the language in order of cost.
//
// A Projector is written as a struct literal; the zero value is the recommended setting.
type Projector struct {
	// Seen is the set of known sequences. The default is a new, empty Lexicon for every call of
	// Bind.
	Seen Seen

	// Key, if not nil, returns a key for a sequence. Two sequences are then treated as equal if
	// their keys are equal. The set is a set of keys in memory, and Seen must be nil.
	Key func(x []int32) string

	// Path holds the language to which sequences must also belong, the divergence to minimise, and
	// the margin (see [projection.Path]). A nil Language means all sequences.
	Path projection.Path

	// If Gap is true, the sequence is chosen by the costs of Cardei et al. 2025, not by the
	// divergence. With the distribution p_i of site i, a sequence x costs the sum of the gaps max_l
	// p_i(l) − p_i(x_i) over the sites.
	Gap bool

	// Trials is the maximum number of draws that a joint draw may reject; 0 means 64. After that
	// many rejections, [CorpusProjection.Draw] uses a slower method that never rejects.
	Trials int
}

// Bind compiles the Projector for samples with the given numbers of sites and levels. If the set
// is a [Corpus], as the default set is, the result is a *[CorpusProjection], which can also draw
// jointly. Otherwise it is a *[Projection]. The error names a field that is out of range, or is
// an error of [projection.Path.Compile].
func (n Projector) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	if samples < 1 {
		return nil, fmt.Errorf("novelty: samples = %d, want ≥ 1", samples)
	}
	s, err := n.compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	if s.corpus != nil {
		return newCorpus(s, n.Trials, n.Path.Limit), nil
	}
	return s, nil
}

// Compile compiles the Projector for direct calls. (A sampler such as a diffusion calls Bind
// instead.) It returns the errors of [Projector.Bind], and an error if the set is not a [Corpus].
// The default set is a Corpus.
func (n Projector) Compile(ctx context.Context, sites, levels int) (*CorpusProjection, error) {
	s, err := n.compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	if s.corpus == nil {
		return nil, fmt.Errorf("novelty: the set is a %T, want a Corpus; Bind takes any", s.seen)
	}
	return newCorpus(s, n.Trials, n.Path.Limit), nil
}

// compile does the common work of Bind and Compile.
func (n Projector) compile(ctx context.Context, sites, levels int) (*Projection, error) {
	free := n.Path.Language == nil && !n.Path.Padded
	path := n.Path
	if path.Language == nil {
		path.Language = constraint.Any{}
	}
	switch {
	case n.Key != nil && n.Seen != nil:
		return nil, fmt.Errorf("novelty: both Seen and Key are set, want one")
	case n.Trials < 0:
		return nil, fmt.Errorf("novelty: Trials = %d, want ≥ 0", n.Trials)
	}
	if n.Seen != nil {
		if err := check.Given("novelty", "Seen", n.Seen); err != nil {
			return nil, err
		}
	}
	if c, ok := n.Seen.(Checked); ok {
		if err := c.Check(); err != nil {
			return nil, fmt.Errorf("novelty: Seen: %w", err)
		}
	}
	within, err := path.Compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	s := &Projection{
		name:   "novelty",
		sites:  sites,
		levels: levels,
		within: within,
		free:   free,
		rule: lead.Rule{
			Reverse: path.Divergence == projection.Reverse, Margin: path.Margin, Gap: n.Gap, Revive: path.Revive,
		},
		seen: n.Seen,
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
	s.corpus, _ = s.seen.(Corpus)
	s.fallible, _ = s.seen.(Fallible)
	return s, nil
}
