package projection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// Path projects a factorised categorical distribution onto a language (a set of allowed sequences).
// It finds the nearest distribution over sites × levels whose likeliest sequence is in the
// language. The result is exact. Samplers that can draw sequences jointly should condition on the
// language instead (see [PathProjection.Draw]).
//
// A Path is written as a struct literal. Compile makes a [PathProjection] for direct use, and Bind
// one for a runner. For every field except Language, the zero value is the recommended setting.
type Path struct {
	// Language is the set of allowed sequences. Intersecting it with a [constraint.Mask] adds no
	// cost. A [Nested] language may have any depth. The cost grows linearly with the length, or
	// with the cube of the length if a part of the language may contain itself.
	Language constraint.Language

	// Name is the name of the language in errors. The default is the name of the language's type.
	Name string

	// Padded, if true, also allows shorter sequences of the language, followed by copies of the
	// token Pad. The language itself must then not use the token Pad.
	Padded bool
	Pad    int32 // padding token, a level of the model; ignored unless Padded is set

	// Divergence is the direction of the Kullback–Leibler divergence that the projection minimises.
	// The default is Forward.
	Divergence Divergence

	// Margin is κ ≥ 1. After the projection, every token of the likeliest sequence is at least κ
	// times as likely as any other token at its site. 0 means 1, which allows ties.
	Margin float64

	// Revive lets a projection with the divergence Forward choose tokens of probability zero, at
	// the finite cost that KL(x‖y) assigns to them. Otherwise a log-weight of −Inf forbids a token.
	Revive bool

	// Limit is the largest size of the compiled language; 0 means 2²⁴. For a nested language, the
	// size is the number of sums over parts of the sequence. For other languages, it is the number
	// of edges of the automaton, unrolled over the sites.
	Limit int
}

// Bind compiles the path for samples with the given numbers of sites and levels. The result is a
// *[PathProjection]. Bind returns the errors of [Path.Compile], and an error if samples < 1.
func (p Path) Bind(ctx context.Context, sites, levels, samples int) (Projection, error) {
	if samples < 1 {
		return nil, fmt.Errorf("projection: Path: samples = %d, want ≥ 1", samples)
	}
	e, err := p.Compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Compile compiles the path for direct calls, by unrolling the automaton of the language over the
// sites. (A sampler such as a diffusion calls Bind instead.) If the language has no sequence with
// this number of sites, the error is an *[InfeasibleError]. For an intersection, this error names
// the clashing parts. If the result is too large, the error is a *[constraint.LimitError]. Other
// errors name a field that is out of range or wrap the cause of ctx.
func (p Path) Compile(ctx context.Context, sites, levels int) (*PathProjection, error) {
	margin, err := p.check()
	if err != nil {
		return nil, err
	}
	if err := automata.Validate(p.Language); err != nil {
		return nil, fmt.Errorf("projection: Path: %w", err)
	}
	e, err := p.compile(ctx, sites, levels, margin)
	if err != nil {
		return nil, p.blame(ctx, err, sites, levels)
	}
	return e, nil
}

// blame adds to an InfeasibleError the parts of the language that clash.
func (p Path) blame(ctx context.Context, err error, sites, levels int) error {
	var dead *InfeasibleError
	product, ok := p.Language.(constraint.Product)
	if !ok || !errors.As(err, &dead) {
		return err
	}
	parts := clash(product.Parts(), func(parts []constraint.Automaton) bool {
		both, err := constraint.Intersect(parts...)
		if err != nil {
			return false
		}
		p.Language = both
		_, err = p.compile(ctx, sites, levels, 1)
		return errors.Is(err, constraint.ErrInfeasible)
	})
	for _, part := range parts {
		dead.Clash = append(dead.Clash, automata.Name(part))
	}
	return err
}

// compile is Compile for a recipe that has been checked.
func (p Path) compile(ctx context.Context, sites, levels int, margin float64) (*PathProjection, error) {
	name := p.Name
	if name == "" {
		name = automata.Name(p.Language)
	}
	a, mask := constraint.Split(p.Language)
	if language, ok := a.(Nested); ok {
		g, ok := language.Pushdown().(*pushdown.Graph)
		if !ok {
			return nil, fmt.Errorf("projection: Path: the Pushdown of %s is a %T, want one of package constraint/grammar", name, language.Pushdown())
		}
		n, err := p.nest(ctx, g, mask, sites, levels)
		if err != nil {
			return nil, explain(name, err)
		}
		n.language = language
		return p.projection(name, n, sites, levels, margin), nil
	}
	g, err := trellis.Compile(ctx, p.Language, trellis.Config{Sites: sites, Levels: levels, Padded: p.Padded, Pad: p.Pad, Limit: p.Limit})
	if err != nil {
		return nil, explain(name, err)
	}
	return p.projection(name, unrolled{g}, sites, levels, margin), nil
}

func (p Path) projection(name string, g program, sites, levels int, margin float64) *PathProjection {
	return &PathProjection{
		name: name, program: g, sites: sites, levels: levels,
		zeros: sync.OnceValue(func() []float32 { return make([]float32, sites*levels) }),
		rule:  lead.Rule{Reverse: p.Divergence == Reverse, Margin: margin, Revive: p.Revive},
	}
}

// nest compiles a nested language and checks that it has a sequence of the given length.
func (p Path) nest(ctx context.Context, g *pushdown.Graph, mask *constraint.Mask, sites, levels int) (*nested, error) {
	limit := p.Limit
	if limit == 0 {
		limit = 1 << 24
	}
	switch {
	case p.Padded:
		return nil, fmt.Errorf("field Padded = true, want false: the vocabulary of a nested language has its own padding")
	case sites < 1:
		return nil, fmt.Errorf("sites = %d, want ≥ 1", sites)
	case levels < g.Tokens():
		return nil, fmt.Errorf("levels = %d, want ≥ %d, the number of tokens", levels, g.Tokens())
	case p.Limit < 0:
		return nil, fmt.Errorf("field Limit = %d, want ≥ 0", p.Limit)
	case g.Cells(sites) > limit:
		return nil, &constraint.LimitError{What: "Path: sums of spans", Value: g.Cells(sites), Bound: limit}
	case poll.Err(ctx) != nil:
		return nil, context.Cause(ctx)
	}
	n := &nested{graph: g, sites: sites, levels: levels}
	if mask != nil {
		n.allows = mask.Allows
	}
	run := n.runner()
	run.Watch(ctx)
	_, err := run.MAP(make([]int32, sites), make([]float32, sites*levels))
	return n, err
}

// check returns the margin with the default applied, or an error that states what is wrong with
// the recipe.
func (p Path) check() (margin float64, err error) {
	margin = p.Margin
	if margin == 0 {
		margin = 1
	}
	switch {
	case check.Nil(p.Language):
		return 0, fmt.Errorf("projection: Path: Language is nil")
	case !(margin >= 1) || math.IsInf(margin, 1):
		return 0, fmt.Errorf("projection: Path: Margin = %v, want ≥ 1 and finite", p.Margin)
	case p.Divergence > Reverse:
		return 0, fmt.Errorf("projection: Path: Divergence = %v, want Forward or Reverse", p.Divergence)
	case p.Revive && p.Divergence == Reverse:
		return 0, fmt.Errorf("projection: Path: Revive = true with Divergence = Reverse, want false, as KL(y‖x) is infinite where x = 0: set Divergence = Forward")
	}
	return margin, nil
}

// Divergence is the direction of the Kullback–Leibler divergence that a projection minimises.
type Divergence uint8

const (
	// Forward minimises KL(x‖y), where x is the given distribution and y the result. Wherever x has
	// positive probability, y has positive probability, too. Cardei et al. (2025) use this
	// projection.
	Forward Divergence = iota

	// Reverse minimises KL(y‖x), where x is the given distribution and y the result. Wherever x has
	// probability zero, y has probability zero, too.
	Reverse
)

// String returns "forward" or "reverse".
func (d Divergence) String() string {
	return check.Name("Divergence", d, "forward", "reverse")
}

// MarshalText returns the result of String as bytes. It returns an error for an unknown value. It
// implements encoding.TextMarshaler.
func (d Divergence) MarshalText() ([]byte, error) {
	return check.MarshalName("divergence", d, Reverse)
}

// UnmarshalText sets d to the divergence with the given name, "forward" or "reverse". It implements
// encoding.TextUnmarshaler.
func (d *Divergence) UnmarshalText(name []byte) error {
	return check.UnmarshalName("divergence", d, Reverse, name)
}
