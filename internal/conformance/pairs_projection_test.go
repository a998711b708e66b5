package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// projectionCase is a combination for projections of tokens.
type projectionCase struct {
	language language
	path     projection.Path
	kind     string // of projector
	rows     string
}

var (
	projectionKinds = []string{"projection.Path", "prior.Path", "novelty.Projector", "novelty.Projector by gaps", "novelty.Projector of few trials", "novelty.Projector by keys"}
	projectionRows  = []string{"any", "some without weight", "some certain", "equal"}
)

// start of the Markov chain of prior.Path, and its transitions, for levels tokens.
func priorOf(levels int) (start, trans []float64) {
	for a := range levels {
		start = append(start, 1/float64(levels))
		for b := range levels {
			trans = append(trans, (1+float64((a+b)%2))/float64(levels+(levels+(1-a%2))/2))
		}
	}
	for a := range levels {
		sum := 0.0
		for _, w := range trans[a*levels : (a+1)*levels] {
			sum += w
		}
		for b := range levels {
			trans[a*levels+b] /= sum
		}
	}
	return start, trans
}

func (c *projectionCase) judge(ctx context.Context, scale int, seed uint64) error {
	const sites = 4
	levels := langLevels
	if c.kind == "prior.Path" { // which has fewer fields
		c.path = projection.Path{}
	}
	if c.path.Padded {
		levels++ // the token behind those of the language
		c.path.Pad = int32(levels - 1)
	}
	all := exact.States(sites, levels)
	accepts := func(x []int32) bool {
		if c.path.Padded {
			for len(x) > 0 && x[len(x)-1] == c.path.Pad {
				x = x[:len(x)-1]
			}
			if slices.Contains(x, c.path.Pad) {
				return false
			}
		}
		return c.language.accepts(x)
	}
	c.path.Language = c.language.part
	var p diffusion.Projector = c.path
	start, trans := priorOf(levels)
	seen := new(constraint.Lexicon)
	known := func([]int32) bool { return false }
	key := func(x []int32) string { return fmt.Sprint(x[1], x[2]) }
	switch c.kind {
	case "prior.Path":
		p = prior.Path{HMM: prior.Markov(start, trans), Language: c.path.Language, Limit: 1 << 16}
	case "novelty.Projector by keys":
		p = novelty.Projector{Key: key, Path: c.path}
		known = func(x []int32) bool { return key(x) == key([]int32{0, 1, 2, 0}) }
	case "projection.Path":
	default:
		for k := 0; k < len(all); k += 5 {
			seen.Add(all[k])
		}
		n := novelty.Projector{Seen: seen, Path: c.path, Gap: c.kind == "novelty.Projector by gaps"}
		if c.kind == "novelty.Projector of few trials" {
			n.Trials = 1
		}
		p = n
		known = func(x []int32) bool { return seen.Contains(x) }
	}
	bound, err := p.Bind(ctx, sites, levels, 1)
	if err != nil {
		return refusal{err}
	}
	src := rand.New(rand.NewPCG(seed, 1))
	if m, ok := bound.(diffusion.Recaller); ok && c.kind == "novelty.Projector by keys" {
		if err := m.Recall([]int32{0, 1, 2, 0}); err != nil {
			return fmt.Errorf("method Recall: %w", err)
		}
	}
	v := make([]float32, sites*levels)
	for i := range v {
		if v[i] = float32(src.NormFloat64()); c.rows == "equal" {
			v[i] = 1
		}
		if c.rows == "some without weight" && src.IntN(3) == 0 || c.rows == "some certain" && i/levels == 2 && i%levels != 1 {
			v[i] = float32(math.Inf(-1))
		}
	}
	// A weight for every sequence that is allowed.
	w := make([]float64, len(all))
	for k, x := range all {
		if !accepts(x) || known(x) {
			w[k] = math.Inf(-1)
			continue
		}
		for i, l := range x {
			w[k] += float64(v[i*levels+int(l)])
		}
		if c.kind == "prior.Path" {
			w[k] += math.Log(start[x[0]])
			for i := 1; i < sites; i++ {
				w[k] += math.Log(trans[int(x[i-1])*levels+int(x[i])])
			}
		}
	}
	if d, ok := bound.(diffusion.Drawer); ok {
		if err := c.draws(ctx, d, v, w, sites, levels, 1500*scale, src); err != nil {
			return err
		}
	}
	return c.moves(ctx, bound, v, w, sites, levels, src)
}

// draws judges joint draws, and the weight of all that is allowed.
func (c *projectionCase) draws(ctx context.Context, d diffusion.Drawer, v []float32, w []float64, sites, levels, n int, src rand.Source) error {
	x := make([]int32, sites)
	z, err := d.LogZ(ctx, v)
	if math.IsInf(slices.Max(w), -1) {
		if _, again := d.Draw(ctx, x, v, src); !errors.Is(err, constraint.ErrInfeasible) || !errors.Is(again, constraint.ErrInfeasible) {
			return fmt.Errorf("nothing is allowed: LogZ = %v (%v), and Draw returns %v", z, err, again)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("method LogZ: %w", err)
	}
	p := slices.Clone(w)
	if want := exact.Normalize(p); math.Abs(z-want) > 1e-4 {
		return fmt.Errorf("method LogZ = %v, want %v", z, want)
	}
	counts := make([]int, len(p))
	for range n {
		if _, err := d.Draw(ctx, x, v, src); err != nil {
			return fmt.Errorf("method Draw: %w", err)
		}
		counts[exact.Index(x, levels)]++
	}
	if v := exact.PValue(counts, p); v < exact.Rate {
		k, _ := laws.WorstCell(counts, p)
		return fmt.Errorf("%d of %d draws are %v, want about %.1f (p-value %.2g)", counts[k], n, exact.States(sites, levels)[k], p[k]*float64(n), v)
	}
	return nil
}

// moves judges the nearest rows: their likeliest tokens are an allowed sequence, unless
// tokens may share the lead.
func (c *projectionCase) moves(ctx context.Context, bound diffusion.Projection, v []float32, w []float64, sites, levels int, src rand.Source) error {
	moved := slices.Clone(v)
	_, err := bound.Project(ctx, 0, moved, 0.5, 0.25, src)
	nothing := math.IsInf(slices.Max(w), -1)
	switch {
	case errors.Is(err, constraint.ErrInfeasible) && nothing:
		return nil
	case err != nil:
		return fmt.Errorf("method Project: %w", err)
	case nothing && !c.path.Revive:
		return fmt.Errorf("nothing is allowed, and Project makes %v", moved)
	case c.kind == "prior.Path" || c.path.Margin <= 1:
		return nil
	}
	x := make([]int32, sites)
	for i := range x {
		row := moved[i*levels : (i+1)*levels]
		x[i] = int32(slices.Index(row, slices.Max(row)))
	}
	if k := exact.Index(x, levels); math.IsInf(w[k], -1) && !c.path.Revive {
		return fmt.Errorf("the likeliest tokens after Project are %v, which is not allowed", x)
	}
	return nil
}

// projectionPairing is everything that projections of tokens accept.
func projectionPairing(t *testing.T) pairing {
	all := languages(t)
	names := map[string]int{}
	divergences := []projection.Divergence{projection.Forward, projection.Reverse}
	margins := []float64{0, 1.5}
	p := pairing{name: "projections", share: 1, again: 2, factors: []factor{
		{"language", namesOf(all, func(l language) string { names[l.name]++; return fmt.Sprintf("%s/%d", l.name, names[l.name]) })},
		{"projector", projectionKinds},
		{"padding", []string{"none", "behind"}},
		{"divergence", []string{"Forward", "Reverse"}},
		{"margin", []string{"0", "1.5"}},
		{"Revive", []string{"false", "true"}},
		{"rows", projectionRows},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := projectionCase{language: all[pick[0]], kind: projectionKinds[pick[1]], rows: projectionRows[pick[6]]}
		c.path = projection.Path{Padded: pick[2] == 1, Divergence: divergences[pick[3]], Margin: margins[pick[4]], Revive: pick[5] == 1}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.define("a", "languages", pick[0])
		l.add("path := projection.Path{Language: a, Padded: %v, Pad: 3, Divergence: projection.%s, Margin: %s, Revive: %s}", pick[2] == 1, p.factors[3].options[pick[3]], p.factors[4].options[pick[4]], p.factors[5].options[pick[5]])
		l.add("bound := exact.Must(path.Bind(t.Context(), 4, %d, 1)) // inside %s", langLevels+pick[2], projectionKinds[pick[1]])
		l.add("v := make([]float32, 4*%d) // rows: %s", langLevels+pick[2], projectionRows[pick[6]])
		l.add("t.Log(bound.Project(t.Context(), 0, v, 0.5, 0.25, rand.NewPCG(1, 1)))")
		return l.String()
	}
	return p
}
