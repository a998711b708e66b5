package conformance_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The tests of this file draw a million samples each and judge every one by code
// that shares nothing with what drew it:
//
//	go test ./internal/conformance -run Million -million
var million = flag.Bool("million", false, "draw a million constrained samples in each TestMillion")

// millionQuota is the number of samples of a TestMillion; without the flag it is a
// thousandth, so that the code stays in use.
func millionQuota() int {
	if *million {
		return 1_000_000
	}
	return 1000
}

// judgedLanguage is a language over the letters abc and a judge that reads strings.
type judgedLanguage struct {
	name     string
	language constraint.Automaton
	judge    func(text string) bool
}

const millionSites = 8

func judgedLanguages(t *testing.T) []judgedLanguage {
	t.Helper()
	ctx := context.Background()
	vocab := text.Runes("abc")
	must := func(a constraint.Automaton, err error) constraint.Automaton {
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	compiled := func(pattern string) constraint.Automaton {
		return must(text.Regexp(ctx, pattern, vocab, constraint.Limits{}))
	}
	const pattern = `(ab|ba|c+)*[bc]{2}`
	match := regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString
	count := constraint.Count{Levels: []int32{2}, Min: 1, Max: 3}
	sum := must(constraint.NewSum([]int{1, 2, 5}, 14, 22))
	value := func(text string) (n int) {
		for _, r := range text {
			n += map[rune]int{'a': 1, 'b': 2, 'c': 5}[r]
		}
		return n
	}
	avoids := must(constraint.Avoids([]int32{0, 0}, []int32{1, 2, 1}))
	residue := must(constraint.NewResidue([]int{0, 1, 2}, 7, 3))
	mask := must(constraint.NewMask(3, [][]int32{nil, {0, 2}, nil, {1}}))

	var known constraint.Lexicon
	r := rand.New(rand.NewPCG(3, 3))
	seen := map[string]bool{}
	for range 500 {
		x := make([]int32, millionSites)
		for i := range x {
			x[i] = int32(r.IntN(3))
		}
		known.Add(x)
		seen[vocab.Text(x)] = true
	}
	between := func(n, lo, hi int) bool { return n >= lo && n <= hi }
	return []judgedLanguage{
		{"regexp ∩ count", must(constraint.Intersect(compiled(pattern), count)), func(s string) bool {
			return match(s) && between(strings.Count(s, "c"), 1, 3)
		}},
		{"sum ∩ avoids", must(constraint.Intersect(sum, avoids)), func(s string) bool {
			return between(value(s), 14, 22) && !strings.Contains(s, "aa") && !strings.Contains(s, "bcb")
		}},
		{"residue ∩ mask", must(constraint.Intersect(residue, mask)), func(s string) bool {
			return (strings.Count(s, "b")+2*strings.Count(s, "c"))%7 == 3 && s[1] != 'b' && s[3] == 'b'
		}},
		{"novel ∩ count", must(constraint.Intersect(constraint.Complement(&known), count)), func(s string) bool {
			return !seen[s] && between(strings.Count(s, "c"), 1, 3)
		}},
	}
}

// violationsOf counts the samples in x that the judge rejects.
func violationsOf(c judgedLanguage, x []int32) (violations int) {
	vocab := text.Runes("abc")
	for ; len(x) > 0; x = x[millionSites:] {
		if !c.judge(vocab.Text(x[:millionSites])) {
			violations++
		}
	}
	return violations
}

func TestMillionDraws(t *testing.T) {
	cases := judgedLanguages(t)
	r := rand.New(rand.NewPCG(1, 1))
	src := sampler.NewStream(1, 0)
	for _, c := range cases {
		exact, err := projection.Path{Language: c.language}.Compile(context.Background(), millionSites, 3)
		if err != nil {
			t.Fatal(err)
		}
		const together = 50
		v, x := make([]float32, 3*millionSites), make([]int32, together*millionSites)
		violations := 0
		for range millionQuota() / len(cases) / together {
			for i := range v {
				v[i] = float32(4 * r.NormFloat64())
			}
			if _, err := exact.Sample(t.Context(), x, v, src); err != nil {
				t.Fatal(err)
			}
			violations += violationsOf(c, x)
		}
		if violations > 0 {
			t.Errorf("%s: %d violations", c.name, violations)
		}
	}
}

func TestMillionChainStates(t *testing.T) {
	cases := judgedLanguages(t)
	m, err := model.NewPotts(model.Lattice{millionSites}, 3, 0.5, []float64{0, 0.3, -0.2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		const chains = 50
		ch, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{Within: c.language}, sampler.Config{Chains: chains, Seed: 2, Warmup: 20})
		if err != nil {
			t.Fatal(err)
		}
		violations := 0
		for x := range ch.Draws(context.Background(), max(1, millionQuota()/len(cases)/chains)) {
			violations += violationsOf(c, x)
		}
		if ch.Err() != nil || violations > 0 {
			t.Errorf("%s: %d violations, error %v", c.name, violations, ch.Err())
		}
	}
}

// Draws after a resume: chains are stopped, saved to a file and loaded by others,
// of another seed and other states, ten times; all that is drawn then is judged.
func TestMillionResumedDraws(t *testing.T) {
	exact.SkipUnderRace(t)
	cases := judgedLanguages(t)
	m, err := model.NewPotts(model.Lattice{millionSites}, 3, 0.5, []float64{0, 0.3, -0.2})
	if err != nil {
		t.Fatal(err)
	}
	const chains = 50
	resumes := 10
	if !*million {
		resumes = 2
	}
	path := filepath.Join(t.TempDir(), "run")
	drawn, violations := 0, 0
	for _, c := range cases {
		for _, method := range []sampler.Method{mcmc.DMALA{Within: c.language}, mcmc.Tempering{Rungs: 3, Base: mcmc.DMALA{Within: c.language}}} {
			build := func(seed uint64) *sampler.Chains {
				ch, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: chains, Seed: seed, Warmup: 20})
				if err != nil {
					t.Fatal(err)
				}
				return ch
			}
			ch := build(1)
			for resume := range resumes {
				if err := ch.Run(context.Background(), 1); err != nil {
					t.Fatal(err)
				}
				if err := ch.SaveFile(path); err != nil {
					t.Fatal(err)
				}
				ch = build(uint64(resume))
				if err := ch.LoadFile(context.Background(), path); err != nil {
					t.Fatal(err)
				}
				for x := range ch.Draws(context.Background(), max(1, (millionQuota()-1)/(2*len(cases)*resumes*chains)+1)) {
					drawn += chains
					violations += violationsOf(c, x)
				}
				if err := ch.Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if violations > 0 || drawn < millionQuota() {
		t.Errorf("%d of %d draws after a resume are outside their language", violations, drawn)
	}
	t.Logf("%d draws after %d resumes, %d outside the language", drawn, 2*resumes*len(cases), violations)
}

func TestMillionDiffusions(t *testing.T) {
	cases := judgedLanguages(t)
	trans := []float64{.6, .3, .1, .2, .5, .3, .3, .3, .4}
	chain, err := model.NewMarkov(millionSites, 3, 1, []float64{.2, .3, .5}, trans)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for name, p := range map[string]struct {
			process    diffusion.Process[int32]
			corruption denoise.Corruption
		}{
			"masked":        {diffusion.Masked{Mask: 3}, denoise.Absorbing},
			"first hitting": {diffusion.Masked{Mask: 3, FirstHitting: true}, denoise.Absorbing},
			"uniform":       {diffusion.Uniform{}, denoise.Noisy},
			"remask":        {diffusion.Remask{Mask: 3}, denoise.Absorbing},
		} {
			model, err := denoise.NewMarkov(chain, p.corruption)
			if err != nil {
				t.Fatal(err)
			}
			language := c.language
			if _, levels := model.Shape(); levels > 3 { // the mask is in no language
				if language, err = constraint.Intersect(language, constraint.Count{Levels: []int32{3}, Max: 0}); err != nil {
					t.Fatal(err)
				}
			}
			d, err := diffusion.New(context.Background(), model, p.process, diffusion.Config{Steps: 8, Seed: 4, Projector: projection.Path{Language: language}})
			if err != nil {
				t.Fatal(err)
			}
			x := make([]int32, millionQuota()/len(cases)/4*millionSites)
			if err := d.Sample(context.Background(), x); err != nil {
				t.Fatal(fmt.Errorf("%s, %s: %w", c.name, name, err))
			}
			if n := violationsOf(c, x); n > 0 {
				t.Errorf("%s, %s: %d violations", c.name, name, n)
			}
		}
	}
}
