package projection

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Span is a part of a sequence. Field From is its first site, and field To is the site after its
// last. Path holds the language to which the tokens of this part must belong.
type Span struct {
	From, To int
	Path     Path
}

// Spans is a projection of several parts of a sequence. Each part has its own language. Examples
// are the blanks of a form and the answer after a prompt. Sites outside all spans are free. Draws
// and sums are exact, and their cost is the sum over the spans.
//
// A Spans is written as a struct literal. Compile makes a [SpansProjection] for direct use. Bind
// makes one for a runner such as package sampler/diffusion. The runner keeps given tokens, such as
// a prompt, fixed.
type Spans []Span

// Bind compiles the spans for samples with the given numbers of sites and levels. The result is a
// *[SpansProjection]. Bind returns the errors of [Spans.Compile], and an error if samples < 1.
func (s Spans) Bind(ctx context.Context, sites, levels, samples int) (Projection, error) {
	if samples < 1 {
		return nil, &constraint.ArgumentError{Func: "Spans.Bind", Arg: "samples", Value: samples, Want: "≥ 1"}
	}
	return s.Compile(ctx, sites, levels)
}

// Compile compiles the language of each span. The error names the span that overlaps
// another, does not lie within the sites, or has no sequence of its length.
func (s Spans) Compile(ctx context.Context, sites, levels int) (*SpansProjection, error) {
	order := make([]int, len(s))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s[a].From - s[b].From })
	p := &SpansProjection{sites: sites, levels: levels, parts: make([]*PathProjection, len(s))}
	at := 0
	add := func(from, to int, path Path, name string) (*PathProjection, error) {
		e, err := path.Compile(ctx, to-from, levels)
		if err != nil {
			return nil, part{from: from, to: to, name: name}.explain(err)
		}
		p.all = append(p.all, part{from, to, name, e})
		return e, nil
	}
	for _, i := range order {
		c := s[i]
		if c.From < at || c.To <= c.From || c.To > sites {
			return nil, &constraint.ArgumentError{Func: "Spans.Compile", Arg: fmt.Sprintf("span %d", i), Value: fmt.Sprintf("sites %d … %d", c.From, c.To-1),
				Want: fmt.Sprintf("one or more sites of %d … %d", at, sites-1)}
		}
		if c.From > at {
			if _, err := add(at, c.From, Path{Language: constraint.Any{}}, ""); err != nil {
				return nil, err
			}
		}
		var err error
		if p.parts[i], err = add(c.From, c.To, c.Path, fmt.Sprintf("span %d", i)); err != nil {
			return nil, err
		}
		at = c.To
	}
	if at < sites {
		if _, err := add(at, sites, Path{Language: constraint.Any{}}, ""); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// SpansProjection is [Spans] compiled for given numbers of sites and levels. Log-weights and errors
// are as in a [PathProjection], but errors name the span and the site within the whole sequence. A
// SpansProjection is safe for concurrent use.
type SpansProjection struct {
	sites, levels int
	parts         []*PathProjection // projections of the spans, in the order of the recipe
	all           []part            // all spans and gaps between them, in order of sites
}

// part is a span, or the sites between two spans. In the second case its name is empty.
type part struct {
	from, to int
	name     string
	e        *PathProjection
}

// explain converts an error about the part to one about the whole sequence: it shifts the site
// and adds the name of the span.
func (p part) explain(err error) error {
	if err == nil {
		return nil
	}
	var dead *InfeasibleError
	var weight *WeightError
	switch {
	case errors.As(err, &dead):
		moved := *dead
		moved.Site += p.from
		if p.name != "" {
			moved.Constraint = p.name + ", " + dead.Constraint
		}
		return &moved
	case errors.As(err, &weight):
		moved := *weight
		moved.Site += p.from
		return fmt.Errorf("projection: %w", &moved)
	case p.name == "":
		return err
	}
	return fmt.Errorf("%s: %w", p.name, err)
}

// Shape returns the number of sites and of levels.
func (p *SpansProjection) Shape() (sites, levels int) { return p.sites, p.levels }

// Span returns the projection of span i alone. Its methods take only the log-weights of the sites
// of that span, From … To−1.
func (p *SpansProjection) Span(i int) *PathProjection { return p.parts[i] }

// String returns the names of the spans' languages.
func (p *SpansProjection) String() string {
	names := make([]string, len(p.parts))
	for i, e := range p.parts {
		names[i] = e.String()
	}
	return strings.Join(names, ", ")
}

// of returns the rows of v that belong to a part, or nil if v is nil.
func (p *SpansProjection) of(c part, v []float32) []float32 {
	if v == nil {
		return nil
	}
	return v[c.from*p.levels : c.to*p.levels]
}

// Accepts reports whether every span of x is in the language of that span.
func (p *SpansProjection) Accepts(x []int32) bool {
	check.Len("projection", "x", len(x), p.sites)
	for _, c := range p.all {
		if !c.e.Accepts(x[c.from:c.to]) {
			return false
		}
	}
	return true
}

// each calls do for every part and returns the sum of the results.
func (p *SpansProjection) each(v []float32, do func(c part, v []float32) (float64, error)) (sum float64, err error) {
	if v != nil {
		check.Len("projection", "v", len(v), p.sites*p.levels)
	}
	for _, c := range p.all {
		w, err := do(c, p.of(c, v))
		if err != nil {
			return 0, c.explain(err)
		}
		sum += w
	}
	return sum, nil
}

// Project replaces the rows of every span by the nearest rows for the language of the span: see
// [PathProjection.Project]. Other rows do not change.
func (p *SpansProjection) Project(ctx context.Context, sample int, v []float32, start, end float64, src rand.Source) (violation float64, err error) {
	check.Len("projection", "v", len(v), p.sites*p.levels)
	return p.each(v, func(c part, v []float32) (float64, error) {
		if c.name == "" {
			return 0, nil
		}
		return c.e.Project(ctx, sample, v, start, end, src)
	})
}

// Draw stores in x0 an exact joint draw of the whole sequence. It returns the sum of the log Z of
// all spans and of the sites outside the spans (see [PathProjection.Draw]).
func (p *SpansProjection) Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("projection", "x0", len(x0), p.sites)
	return p.each(v, func(c part, v []float32) (float64, error) { return c.e.Draw(ctx, x0[c.from:c.to], v, src) })
}

// DrawGiven is like [SpansProjection.Draw] with some tokens fixed. On entry, x0 holds the fixed
// tokens and −1 at the other sites: see [PathProjection.DrawGiven].
func (p *SpansProjection) DrawGiven(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("projection", "x0", len(x0), p.sites)
	return p.each(v, func(c part, v []float32) (float64, error) { return c.e.DrawGiven(ctx, x0[c.from:c.to], v, src) })
}

// Self returns the receiver. If a type embeds a *SpansProjection, its method Self still returns the
// *SpansProjection and not the type. Runners can thus see that the type may have a Draw of its own.
func (p *SpansProjection) Self() any { return p }

// LogZ returns the log of the total weight of all sequences in which every span is in its language.
func (p *SpansProjection) LogZ(ctx context.Context, v []float32) (float64, error) {
	return p.each(v, func(c part, v []float32) (float64, error) { return c.e.LogZ(ctx, v) })
}

// MAP stores in x the likeliest sequence in which every span is in its language, and returns its
// log-weight: see [PathProjection.MAP].
func (p *SpansProjection) MAP(ctx context.Context, x []int32, v []float32) (logWeight float64, err error) {
	check.Len("projection", "x", len(x), p.sites)
	return p.each(v, func(c part, v []float32) (float64, error) { return c.e.MAP(ctx, x[c.from:c.to], v) })
}

// Marginals stores in dst (sites × levels) the probabilities P(x_i = l | x ∈ C). Here C is the set
// of sequences in which every span is in its language.
func (p *SpansProjection) Marginals(ctx context.Context, dst []float64, v []float32) error {
	check.Len("projection", "dst", len(dst), p.sites*p.levels)
	_, err := p.each(v, func(c part, v []float32) (float64, error) {
		return 0, c.e.Marginals(ctx, dst[c.from*p.levels:c.to*p.levels], v)
	})
	return err
}

// Entropy returns the entropy, in nats, of the distribution of a joint draw (see
// [SpansProjection.Draw]).
func (p *SpansProjection) Entropy(ctx context.Context, v []float32) (float64, error) {
	return p.each(v, func(c part, v []float32) (float64, error) { return c.e.Entropy(ctx, v) })
}
