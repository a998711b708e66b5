package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// edges bounds the unrolled constraint: a gigabyte.
const edges = 1 << 27

// task is a protein to encode, as a model and a language over codons.
type task struct {
	options
	protein protein
	usage   usage
	model   *model.Independent // codon usage given the protein: E = −log p
	table   []float32          // its log-weights
	mask    *constraint.Mask   // the protein
	parts   []part             // what else is asked
}

// part is one demand as a language.
type part struct {
	name     string
	language constraint.Automaton
}

func newTask(ctx context.Context, o options, p protein, u usage) (*task, error) {
	t := &task{options: o, protein: p, usage: u}
	if err := t.encode(); err != nil {
		return nil, err
	}
	gc, err := gcWindow(3*len(p.letters), o.low, o.high)
	if err != nil {
		return nil, err
	}
	t.parts = append(t.parts, part{fmt.Sprintf("GC content in [%v, %v]", o.low, o.high), gc})
	words, err := avoided(o)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 {
		a, err := text.Avoids(ctx, codons, constraint.Limits{}, words...)
		if err != nil {
			return nil, fmt.Errorf("forbidden sites and homopolymers: %w", err)
		}
		t.parts = append(t.parts, part{"forbidden sites and homopolymers", a})
	}
	return t, nil
}

// encode makes the mask and the model from the protein.
func (t *task) encode() error {
	n, v := len(t.protein.letters), len(codons.Tokens)
	logw := make([]float64, n*v)
	t.table = make([]float32, n*v)
	for i := range logw {
		logw[i] = math.Inf(-1)
	}
	allowed := make([][]int32, n)
	for i := range n {
		aa := t.protein.letters[i]
		w, err := t.usage.weights(aa)
		if err != nil {
			return err
		}
		allowed[i] = tokensOf(aa)
		for k, codon := range allowed[i] {
			logw[i*v+int(codon)] = w[k]
		}
	}
	for i, w := range logw {
		t.table[i] = float32(w)
	}
	var err error
	if t.model, err = model.NewIndependent(logw, v); err != nil {
		return err
	}
	t.mask, err = constraint.NewMask(v, allowed)
	return err
}

// gcWindow is the language of the designs of n bases whose GC content is in
// [low, high].
func gcWindow(n int, low, high float64) (constraint.Automaton, error) {
	content := func(k int) float64 { return float64(k) / float64(n) }
	least, most := 0, n
	for content(least) < low {
		least++
	}
	for content(most) > high {
		most--
	}
	weights := make([]int, len(codons.Tokens))
	for t, codon := range codons.Tokens {
		for _, base := range codon {
			if base == 'G' || base == 'C' {
				weights[t]++
			}
		}
	}
	gc, err := constraint.NewSum(weights, least, most)
	if err != nil {
		return nil, fmt.Errorf("-gc: no number of G and C among %d bases is in [%v, %v]: %w", n, low, high, err)
	}
	return gc, nil
}

// avoided returns the words of bases that no design may contain.
func avoided(o options) ([]string, error) {
	var words []string
	for _, site := range o.avoid {
		list, err := expand(site)
		if err != nil {
			return nil, err
		}
		for _, w := range list {
			words = append(words, w, opposite(w))
		}
	}
	if o.run > 0 {
		for _, base := range "ACGT" {
			run := make([]rune, o.run+1)
			for i := range run {
				run[i] = base
			}
			words = append(words, string(run))
		}
	}
	return words, nil
}

// compile intersects the protein with the parts.
func (t *task) compile(ctx context.Context, name string, parts ...part) (*projection.PathProjection, error) {
	all := []constraint.Automaton{t.mask}
	for _, p := range parts {
		all = append(all, p.language)
	}
	language, err := constraint.Intersect(all...)
	if err != nil {
		return nil, err
	}
	e, err := projection.Path{Language: language, Name: name, Limit: edges}.Compile(ctx, len(t.protein.letters), len(codons.Tokens))
	if err != nil {
		return nil, err
	}
	_, err = e.LogZ(t.table) // codons of frequency 0 may be what is missing
	return e, err
}

// solve compiles everything and, if that cannot be met, says which demands clash.
func (t *task) solve(ctx context.Context) (*projection.PathProjection, error) {
	e, err := t.compile(ctx, "all constraints together", t.parts...)
	if !errors.Is(err, constraint.ErrInfeasible) {
		return e, err
	}
	for _, p := range t.parts {
		if _, alone := t.compile(ctx, p.name+", given the protein,", p); alone != nil {
			err = alone
			break
		}
	}
	return nil, fmt.Errorf("no design exists: %w", err)
}

// bases returns the bases of a design.
func bases(x []int32) string { return codons.Text(x) }

// logProb returns log p(x) under codon usage given the protein.
func (t *task) logProb(x []int32) float64 {
	var e [1]float64
	t.model.Energy(e[:], x)
	return -e[0]
}

// design does what the program is for.
func design(ctx context.Context, o options, p protein, u usage) (*report, error) {
	t, err := newTask(ctx, o, p, u)
	if err != nil {
		return nil, err
	}
	exact, err := t.solve(ctx)
	if err != nil {
		return nil, err
	}
	mass, err := exact.LogZ(t.table)
	if err != nil {
		return nil, err
	}
	mass = min(mass, 0) // rows of float32 logarithms miss 1 by some 1e−8
	n := len(p.letters)
	best := make([]int32, n)
	if _, err := exact.MAP(best, t.table); err != nil {
		return nil, err
	}
	x := make([]int32, o.designs*n)
	if _, err := exact.Sample(x, t.table, sampler.NewStream(o.seed, 0)); err != nil {
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
	if o.Dir != "" {
		err = r.write(o.Dir, t)
	}
	return r, err
}
