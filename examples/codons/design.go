package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// edges is the maximum number of edges of the unrolled constraint, which then takes a gigabyte.
const edges = 1 << 27

// task is a protein to encode, with a model and a language over codons.
type task struct {
	options
	gene
	host   usage
	of     usage // codon usage of the organism given by -harmonise
	kept   map[int]string
	tokens [][]int32          // tokens allowed at each site
	model  *model.Independent // codon usage given the protein, E = −log p
	table  []float32          // log-weights of model
	mask   *constraint.Mask   // designs that encode the protein
	parts  []constraint.Automaton
}

func newTask(ctx context.Context, o options, g gene, u, source usage) (*task, error) {
	t := &task{options: o, gene: g, host: u, of: source}
	var err error
	if t.kept, err = keep(o.keep, g, o.code); err != nil {
		return nil, err
	}
	if err := t.encode(); err != nil {
		return nil, err
	}
	return t, t.demand(ctx)
}

// encode builds the mask and the model from the protein. A protected codon has probability 1.
func (t *task) encode() error {
	n, v := len(t.letters), len(codons.Tokens)
	logw := make([]float64, n*v)
	t.table = make([]float32, n*v)
	for i := range logw {
		logw[i] = math.Inf(-1)
	}
	for i := range n {
		list, w, err := t.choices(i)
		if err != nil {
			return err
		}
		var some []int32
		for k, codon := range list {
			if logw[i*v+int(codon)] = w[k]; !math.IsInf(w[k], -1) {
				some = append(some, codon)
			}
		}
		t.tokens = append(t.tokens, some)
	}
	for i, w := range logw {
		t.table[i] = float32(w)
	}
	var err error
	if t.model, err = model.NewIndependent(logw, v); err != nil {
		return err
	}
	t.mask, err = constraint.NewMask(v, t.tokens)
	return err
}

// choices returns the codons allowed at a site and their log-probabilities.
func (t *task) choices(i int) ([]int32, []float64, error) {
	if codon, ok := t.kept[i]; ok {
		return []int32{codonOf[codon]}, []float64{0}, nil
	}
	aa := t.letters[i]
	list := t.options.code.tokensOf(aa)
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("amino acid %d is %c, for which translation table %d has no codon", i+1, aa, t.options.code.table)
	}
	var w []float64
	var err error
	if t.source == "" {
		w, err = t.host.weights(list, aa)
	} else {
		w, err = harmony(list, t.native[3*i:3*i+3], t.of, t.host, t.gene.code, t.options.code, t.strength)
	}
	return list, w, err
}

// demand compiles all constraints of the options to automata.
func (t *task) demand(ctx context.Context) error {
	if least, most := counts(3*len(t.letters), t.low, t.high); least > 0 || most < 3*len(t.letters) {
		gc, err := newContent(3*len(t.letters), t.low, t.high)
		if fewest, all := t.extremes(); err == nil && (fewest > most || all < least) {
			n := float64(3 * len(t.letters))
			return fmt.Errorf("no design exists: no DNA of this protein has %s, only [%.4g, %.4g]: %w", gc, float64(fewest)/n, float64(all)/n, constraint.ErrInfeasible)
		}
		if err != nil {
			return err
		}
		t.parts = append(t.parts, gc)
	}
	f := frame{t.gene.before, t.gene.after, 3 * len(t.letters)}
	add := func(name, advice string, w walker) error {
		a, err := unroll(ctx, name, w, t.tokens)
		var large *tooLarge
		switch {
		case errors.As(err, &large):
			return fmt.Errorf("%w; %s", err, advice)
		case errors.Is(err, constraint.ErrInfeasible):
			return fmt.Errorf("no design exists: %w", err)
		case err != nil:
			return err
		}
		t.parts = append(t.parts, a)
		return nil
	}
	var unwanted []site
	for _, s := range t.avoid {
		words, err := expand("-avoid", s)
		if err != nil {
			return err
		}
		unwanted = append(unwanted, newSite(words))
	}
	if t.run > 0 {
		unwanted = append(unwanted, runs(t.run)...)
	}
	if len(unwanted) > 0 {
		if err := add("forbidden sites and homopolymers", "drop some of -avoid", newCounter(f, 0, 0, unwanted...)); err != nil {
			return err
		}
	}
	for _, r := range t.require {
		words, err := expand("-require", r.site)
		if err != nil {
			return err
		}
		least, most := 1, -1
		if r.times > 0 {
			least, most = r.times, r.times
		}
		if err := add("required "+r.String(), "ask for a longer site", newCounter(f, least, most, newSite(words))); err != nil {
			return err
		}
	}
	if w := t.windows; w != nil {
		if total := len(f.before) + f.bases + len(f.after); w.size > total {
			return fmt.Errorf("-windows: size = %d, want at most the %d bases of the design and its flanks", w.size, total)
		}
		least, most := counts(w.size, w.low, w.high)
		if err := add(w.String(), "a larger step, a smaller size or wider bounds need fewer", newWindowed(f, w.size, w.step, least, most, t.tokens)); err != nil {
			return err
		}
	}
	if t.unique > 0 {
		return add(fmt.Sprintf("no %d bases twice", t.unique), "a larger -unique needs fewer", newUnique(f, t.unique, t.tokens))
	}
	return nil
}

// extremes returns the least and greatest number of G and C in any DNA of the protein.
func (t *task) extremes() (fewest, most int) {
	for _, list := range t.tokens {
		low, high := 3, 0
		for _, codon := range list {
			n := strong(codons.Tokens[codon])
			low, high = min(low, n), max(high, n)
		}
		fewest, most = fewest+low, most+high
	}
	return fewest, most
}

func (w *window) String() string {
	every := ""
	if w.step > 1 {
		every = fmt.Sprintf(", every %d", w.step)
	}
	return fmt.Sprintf("GC content in [%v, %v] in windows of %d bases%s", w.low, w.high, w.size, every)
}

// content is the constraint on the GC content of a whole design.
type content struct {
	*constraint.Sum
	low, high float64
}

func (c content) String() string { return fmt.Sprintf("GC content in [%v, %v]", c.low, c.high) }

// newContent returns the language of the designs of n bases whose GC content is in [low, high].
func newContent(n int, low, high float64) (content, error) {
	least, most := counts(n, low, high)
	weights := make([]int, len(codons.Tokens))
	for t, codon := range codons.Tokens {
		weights[t] = strong(codon)
	}
	gc, err := constraint.NewSum(weights, least, most)
	if err != nil {
		return content{}, fmt.Errorf("-gc: no number of G and C among %d bases is in [%v, %v]: %w", n, low, high, err)
	}
	return content{gc, low, high}, nil
}

// compile intersects the protein with the parts and compiles the result.
func (t *task) compile(ctx context.Context, name string, parts ...constraint.Automaton) (*projection.PathProjection, error) {
	language, err := constraint.Intersect(append([]constraint.Automaton{t.mask}, parts...)...)
	if err != nil {
		return nil, err
	}
	return projection.Path{Language: language, Name: name, Limit: edges}.Compile(ctx, len(t.letters), len(codons.Tokens))
}

// solve compiles all constraints. If they cannot be satisfied, the error names the constraints
// that exclude each other.
func (t *task) solve(ctx context.Context) (*projection.PathProjection, error) {
	e, err := t.compile(ctx, "all constraints together", t.parts...)
	var dead *projection.InfeasibleError
	var large *constraint.LimitError
	switch {
	case errors.As(err, &dead):
		names := make([]string, 0, len(dead.Clash))
		for _, name := range dead.Clash {
			if !strings.HasPrefix(name, "constraint.Mask") { // the protein, which every demand is about
				names = append(names, name)
			}
		}
		if len(names) == 1 {
			return nil, fmt.Errorf("no design exists: no DNA of this protein has %s: %w", names[0], constraint.ErrInfeasible)
		}
		return nil, fmt.Errorf("no design exists: %s exclude each other: %w", strings.Join(names, ", and "), constraint.ErrInfeasible)
	case errors.As(err, &large):
		var sizes []string
		for _, p := range t.parts {
			if l, ok := p.(*layered); ok {
				sizes = append(sizes, fmt.Sprintf("%s takes %d", l.name, l.States()))
			}
		}
		return nil, fmt.Errorf("all constraints together need more than %d edges: drop or widen one (states by themselves: %s; -gc 0,1 takes none)", edges, strings.Join(sizes, "; "))
	}
	return e, err
}

// bases returns the bases of a design.
func bases(x []int32) string { return codons.Text(x) }

// logProb returns log p(x) under codon usage given the protein.
func (t *task) logProb(x []int32) float64 {
	var e [1]float64
	t.model.Energy(e[:], x)
	return -e[0]
}

// design computes the designs and the report.
func (t *task) design(ctx context.Context) (*report, error) {
	exact, err := t.solve(ctx)
	if err != nil {
		return nil, err
	}
	mass, err := exact.LogZ(ctx, t.table)
	if err != nil {
		return nil, err
	}
	mass = min(mass, 0) // rows of float32 logarithms miss 1 by some 1e−8
	n := len(t.letters)
	best := make([]int32, n)
	if _, err := exact.MAP(ctx, best, t.table); err != nil {
		return nil, err
	}
	x := make([]int32, t.designs*n)
	if _, err := exact.Sample(ctx, x, t.table, sampler.NewStream(t.seed, 0)); err != nil {
		return nil, err
	}
	r := newReport(t, mass)
	r.Map = r.add(t, best)
	for ; len(x) > 0; x = x[n:] {
		r.Designs = append(r.Designs, r.add(t, x[:n]))
	}
	if r.free, err = reject(ctx, t); err != nil {
		return nil, err
	}
	r.Acceptance = float64(r.free.accepted) / float64(r.free.trials)
	if t.Dir != "" {
		err = r.write(t.Dir, t)
	}
	return r, err
}
