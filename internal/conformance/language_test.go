package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/constrainttest"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
)

// language is a line of the registry of languages: a part of the module, and what it
// is meant to accept among the sequences of up to five of three tokens.
type language struct {
	name    string
	part    constraint.Automaton
	accepts func(x []int32) bool
}

const (
	langSites  = 5
	langLevels = 3
)

// The languages of the module. A new one adds a line.
func languages(t *testing.T) []language {
	ctx := context.Background()
	few, mask := counted(1, 1, 2), exact.Must(constraint.NewMask(3, [][]int32{{0, 1}, nil, {2}}))
	masked := func(x []int32) bool {
		return len(x) < 1 || x[0] != 2 && (len(x) < 3 || x[2] == 2)
	}
	fewOnes := func(x []int32) bool { return times(x, 1) >= 1 && times(x, 1) <= 2 }
	words := [][]int32{{1, 2}, {2, 2, 0}}
	listed := [][]int32{{0, 1, 2, 0, 1}, {0, 1, 2, 0, 2}, {2, 2}, {1, 1, 1, 1, 1}, {0}}
	isListed := func(x []int32) bool {
		return slices.ContainsFunc(listed, func(y []int32) bool { return slices.Equal(x, y) })
	}
	lexicon := new(constraint.Lexicon)
	for _, x := range listed {
		lexicon.Add(x)
	}
	file := sortedFile(t, listed[:2])
	layered := sorted.Layered{Base: sortedFile(t, listed[:2]), Top: new(constraint.Lexicon)}
	for _, x := range listed[2:] {
		layered.Add(x)
	}
	both := exact.Must(constraint.Intersect(few, mask))
	rest, _ := constraint.Split(both)
	abc := text.Runes("abc")
	nested := exact.Must(exact.Must(grammar.Parse(ctx, `s ::= "a" s "b" | "c"`, constraint.Limits{})).Over(ctx, abc))
	return []language{
		{"constraint.Any", constraint.Any{}, func([]int32) bool { return true }},
		{"constraint.Count", few, fewOnes},
		{"constraint.Count", atLeast(2, 3), func(x []int32) bool { return times(x, 2) >= 3 }},
		{"constraint.Count", counted(0, 0, 1), func(x []int32) bool { return times(x, 0) <= 1 }},
		{"constraint.DFA", exact.Must(constraint.Compile(ctx, few, 3, constraint.Limits{})), fewOnes},
		{"constraint.DFA", exact.Must(constraint.NewDFA(ctx, 3, []int32{0, 1, -1, 1, 0, 0}, []bool{false, true})), func(x []int32) bool {
			odd := false
			for _, l := range x {
				switch {
				case l == 2 && !odd:
					return false
				case l == 1:
					odd = !odd
				case l == 2:
					odd = false
				}
			}
			return odd
		}},
		{"constraint.DFA", exact.Must(constraint.Concat(ctx, 3, constraint.Limits{}, counted(1, 1, 1), counted(2, 2, 2))), func(x []int32) bool {
			for k := range len(x) + 1 {
				if times(x[:k], 1) == 1 && times(x[k:], 2) == 2 {
					return true
				}
			}
			return false
		}},
		{"constraint.DFA", exact.Must(text.Regexp(ctx, `a(b|cc)*a?`, abc, constraint.Limits{})), matches(`a(b|cc)*a?`)},
		{"constraint.Intersection", both, func(x []int32) bool { return fewOnes(x) && masked(x) }},
		{"constraint.Split", rest, fewOnes},
		{"constraint.Mask", mask, masked},
		{"constraint.Complement", constraint.Complement(few), func(x []int32) bool { return !fewOnes(x) }},
		{"constraint.Complement", constraint.Complement(lexicon), func(x []int32) bool { return !isListed(x) }},
		{"constraint.Union", exact.Must(constraint.Union(few, mask)), func(x []int32) bool { return fewOnes(x) || masked(x) }},
		{"constraint.Contains", exact.Must(constraint.Contains(words...)), func(x []int32) bool { return occurs(x, words[0]) && occurs(x, words[1]) }},
		{"constraint.ContainsAny", exact.Must(constraint.ContainsAny(words...)), func(x []int32) bool { return occurs(x, words[0]) || occurs(x, words[1]) }},
		{"constraint.Avoids", exact.Must(constraint.Avoids(words...)), func(x []int32) bool { return !occurs(x, words[0]) && !occurs(x, words[1]) }},
		{"constraint.WordAt", exact.Must(constraint.WordAt([][]int32{{1}, {1, 2}}, 2, []int32{0})), func(x []int32) bool {
			w := strings.Fields(strings.NewReplacer("a", " ").Replace(spelt(x)))
			return len(w) > 1 && (w[1] == "b" || w[1] == "bc")
		}},
		{"constraint.Lexicon", lexicon, isListed},
		{"constraint.Residue", exact.Must(constraint.NewResidue([]int{0, 1, -2}, 4, 1, 2)), func(x []int32) bool {
			r := (times(x, 1) - 2*times(x, 2)) & 3
			return r == 1 || r == 2
		}},
		{"constraint.Residue", exact.Must(constraint.NewSiteResidue([][]int{{0, 1}, {0, 2, 1}, {1, 1, 1}}, 3, 0)), func(x []int32) bool {
			return len(x) == 3 && x[0] < 2 && (int(x[0])+[]int{0, 2, 1}[x[1]]+1)%3 == 0
		}},
		{"constraint.Sum", exact.Must(constraint.NewSum([]int{1, 3, 0}, 4, 7)), func(x []int32) bool {
			s := times(x, 0) + 3*times(x, 1)
			return s >= 4 && s <= 7
		}},
		{"constraint.Sum", exact.Must(constraint.NewSiteSum([][]int{{0, 2, 1}, {-1, 0}, {3, 0, 5}}, math.MinInt, 3)), func(x []int32) bool {
			return len(x) == 3 && x[1] < 2 && []int{0, 2, 1}[x[0]]+[]int{-1, 0}[x[1]]+[]int{3, 0, 5}[x[2]] <= 3
		}},
		{"grammar.Language", nested, func(x []int32) bool {
			n := len(x) / 2
			return spelt(x) == strings.Repeat("a", n)+"c"+strings.Repeat("b", n)
		}},
		{"sorted.Lexicon", file, func(x []int32) bool { return slices.Equal(x, listed[0]) || slices.Equal(x, listed[1]) }},
		{"sorted.Layered", layered, isListed},
	}
}

// counted is the language, and the set, of least to most tokens l.
func counted(l int32, least, most int) constraint.Count {
	return constraint.Count{Levels: []int32{l}, Min: least, Max: most}
}

// atLeast is that of at least that many.
func atLeast(l int32, least int) constraint.Count {
	return constraint.Count{Levels: []int32{l}, Min: least, Max: constraint.Unbounded}
}

func times(x []int32, l int32) (n int) {
	for _, y := range x {
		if y == l {
			n++
		}
	}
	return n
}

func occurs(x, word []int32) bool {
	for at := range len(x) - len(word) + 1 {
		if slices.Equal(x[at:at+len(word)], word) {
			return true
		}
	}
	return false
}

// spelt writes tokens as letters.
func spelt(x []int32) string {
	var b strings.Builder
	for _, l := range x {
		b.WriteByte("abcdefgh"[l])
	}
	return b.String()
}

// matches judges by package regexp.
func matches(pattern string) func(x []int32) bool {
	r := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	return func(x []int32) bool { return r.MatchString(spelt(x)) }
}

// sortedFile writes sequences to a file and maps it.
func sortedFile(t *testing.T, all [][]int32) *sorted.Lexicon {
	path := filepath.Join(t.TempDir(), "lexicon")
	exact.Must(sorted.Build(context.Background(), path, langLevels, slices.Values(all)))
	l := exact.Must(sorted.Open(path))
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// countOf counts the sequences of a language by its trellis.
func countOf(ctx context.Context, a constraint.Automaton, sites, levels int) (int, error) {
	p, err := projection.Path{Language: a}.Compile(ctx, sites, levels)
	if err != nil {
		return 0, err
	}
	n, err := p.Count(ctx, nil)
	if err != nil {
		return 0, err
	}
	return int(n.Int64()), nil
}

// feasible takes an empty language for one of no sequences.
func feasible(err error) error {
	if errors.Is(err, constraint.ErrInfeasible) {
		return nil
	}
	return err
}

func TestLanguages(t *testing.T) {
	ctx := context.Background()
	registered := map[string]bool{}
	for i, l := range languages(t) {
		registered[l.name] = true
		t.Run(fmt.Sprintf("%s/%d", l.name, i), func(t *testing.T) {
			o := constrainttest.Options{Sites: langSites, Levels: langLevels, Accepts: l.accepts}
			if err := constrainttest.TestAutomaton(ctx, l.part, o); err != nil {
				t.Fatal(err)
			}
			for sites := 1; sites <= langSites; sites++ {
				o := constrainttest.Options{Sites: sites, Levels: langLevels, Count: func(ctx context.Context) (int, error) {
					n, err := countOf(ctx, l.part, sites, langLevels)
					return n, feasible(err)
				}}
				if err := constrainttest.TestAutomaton(ctx, l.part, o); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	complete(t, "constraint.Automaton", "language_test.go", registered, nil, parts(t, "constraint", "Automaton"))
}

// inequalities is a line of the registry of sets: a part, and its formula for four
// sites of three levels.
type inequalities struct {
	name      string
	part      constraint.Set
	violation func(g []float64, x []int32)
}

// The sets of the module. A new one adds a line.
func sets() []inequalities {
	few := counted(1, 1, 2)
	fewOnes := func(g []float64, x []int32) { g[0], g[1] = float64(1-times(x, 1)), float64(times(x, 1)-2) }
	sum := exact.Must(constraint.NewSum([]int{1, 3, 0}, 4, 7))
	summed := func(x []int32) float64 { return float64(times(x, 0) + 3*times(x, 1)) }
	statistic := energy.Func{Sites: 4, Levels: 3, E: func(x []int32) float64 { return float64(x[0]*x[1]) - float64(x[3]) }}
	stat := func(x []int32) float64 { return float64(x[0]*x[1]) - float64(x[3]) }
	return []inequalities{
		{"constraint.Count", few, fewOnes},
		{"constraint.Linear", twoRows(), func(g []float64, x []int32) {
			g[0], g[1] = -0.5, 1
			if x[0] == 1 {
				g[0] += 2
			}
			if x[3] == 2 {
				g[0]--
				g[1] -= 3
			}
		}},
		{"constraint.Score", weighed(), func(g []float64, x []int32) { g[0] = float64(x[0]+x[1]+x[2]+x[3]) - 3.5 }},
		{"constraint.Sum", sum, func(g []float64, x []int32) { g[0], g[1] = 4-summed(x), summed(x)-7 }},
		{"dual.Constraint", dual.Between(statistic, -1, 0.5), func(g []float64, x []int32) {
			g[0], g[1] = stat(x)-0.5, -1-stat(x)
		}},
	}
}

// twoRows are two rows on 4 × 3 probabilities: 2·p(x_0 = 1) − p(x_3 = 2) ≤ ½ and
// −3·p(x_3 = 2) ≤ −1.
func twoRows() constraint.Linear {
	return constraint.Linear{A: []constraint.Row{{Index: []int32{1, 11}, Value: []float64{2, -1}}, {Index: []int32{11}, Value: []float64{-3}}}, B: []float64{0.5, -1}, Levels: 3}
}

// weighed bounds the expected sum of levels.
func weighed() constraint.Score {
	return constraint.Score{
		F: func(v []float32) (sum float64) {
			for i, p := range v {
				sum += float64(i%3) * float64(p)
			}
			return sum
		},
		Gradient: func(dst, _ []float32, w float64) {
			for i := range dst {
				dst[i] += float32(w * float64(i%3))
			}
		},
		Decide: func(x []int32) (sum float64) {
			for _, l := range x {
				sum += float64(l)
			}
			return sum
		},
		Threshold: 3.5,
	}
}

// targetsToo are sets that are judged as targets: see rule_test.go.
var targetsToo = map[string]string{"dual.Lagrangian": "a target", "unlearn.Erasure": "a target", "unlearn.Experts": "a target"}

func TestSets(t *testing.T) {
	registered := map[string]bool{}
	for i, s := range sets() {
		registered[s.name] = true
		t.Run(fmt.Sprintf("%s/%d", s.name, i), func(t *testing.T) {
			o := constrainttest.Options{Sites: 4, Levels: 3, Violation: s.violation, Accepts: func(x []int32) bool {
				g := make([]float64, s.part.Len())
				s.violation(g, x)
				return slices.Max(g) <= 0
			}}
			if err := constrainttest.TestSet(context.Background(), s.part, o); err != nil {
				t.Fatal(err)
			}
		})
	}
	complete(t, "constraint.Set", "language_test.go", registered, targetsToo, parts(t, "constraint", "Set"))
}

// smoothEntry is a line of the registry of smooth inequalities. A set is compared with
// its own violations on tokens; levels is 1 for reals.
type smoothEntry struct {
	name          string
	part          constraint.Smooth
	sites, levels int
}

// The smooth inequalities of the module. A new one adds a line.
func smooths() []smoothEntry {
	reals := constraint.Linear{A: constraint.Rows([]float64{1, -2, 0, 1, 0.5, 0, 0, 1}, 4), B: []float64{0.25, -1}}
	slabs := constraint.Slabs{A: reals.A, Lower: []float64{-1, -8}, Upper: []float64{1, 8}}
	return []smoothEntry{
		{"constraint.Linear", twoRows(), 4, 3},
		{"constraint.Linear", reals, 4, 1},
		{"constraint.Score", weighed(), 4, 3},
		{"constraint.Slabs", slabs, 4, 1},
		{"series.System", correlated(), 6, 1},
	}
}

// correlated is a series of six whose mean, order and autocorrelation are bounded.
func correlated() *series.System {
	b := series.NewBuilder(series.Shape{Length: 6, Channels: 1})
	b.Mean(0, 0.25)
	b.ArgMax(0, 4)
	b.Autocorrelation(0, 1, 0.5)
	return exact.Must(b.Build())
}

func TestSmooths(t *testing.T) {
	registered := map[string]bool{}
	for i, s := range smooths() {
		registered[s.name] = true
		t.Run(fmt.Sprintf("%s/%d", s.name, i), func(t *testing.T) {
			if err := constrainttest.TestSmooth(context.Background(), s.part, constrainttest.Options{Sites: s.sites, Levels: s.levels}); err != nil {
				t.Fatal(err)
			}
		})
	}
	complete(t, "constraint.Smooth", "language_test.go", registered, nil, parts(t, "constraint", "Smooth"))
}
