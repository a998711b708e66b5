package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

var (
	pairsDrawn    = flag.Int("pairs", 0, "TestPairs: combinations to draw at random, over all runners; 0: a covering array")
	pairsSeed     = flag.Uint64("seed", 1, "of the combinations that TestPairs draws")
	pairsStrength = flag.Int("strength", 2, "of the covering array of TestPairs: any so many options occur together")
	pairsPart     = flag.String("part", "0/1", "of the covering array of TestPairs, such as 2/8: parts 0/8 … 7/8 are the whole")
	pairsRunners  = flag.String("runners", "", "runners of TestPairs, or runs of TestKill: a regular expression")
	pairsDeadline = flag.Duration("deadline", time.Minute, "CPU time of a combination of TestPairs, and a thirtieth of its time by the clock")
)

// factor is one choice of a user, and its options by name.
type factor struct {
	name    string
	options []string
}

// pairing is everything that a runner accepts: one option of each factor makes a
// combination.
type pairing struct {
	name    string
	share   int // of the combinations that are drawn at random
	again   int // how often options are tried in company that is right, if no combination with both is
	factors []factor

	// judge makes a combination and judges it: nil if it has the distribution that its
	// documentation states, a refusal if it cannot be made, and any other error if it
	// is wrong. draws scales the number of samples.
	judge func(ctx context.Context, pick []int, draws int, seed uint64) error

	// program returns the statements that make the combination.
	program func(pick []int) string
}

// refusal is the error of what is refused where it is made.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// results are those of many combinations.
type results struct {
	Drawn   int `json:"drawn"`
	Right   int `json:"right"`
	Refused int `json:"refused"`
	Wrong   int `json:"wrong"`
	Hung    int `json:"hung"`
}

// pairings are the runners of the module and everything that they accept.
func pairings(t *testing.T) []pairing {
	return []pairing{chainPairing(), diffusionPairing(), projectionPairing(t), realPairing(), twistedPairing(), langevinPairing(), dualPairing(), pdiPairing(), unlearnPairing(), junctionPairing(), annealPairing(), groundPairing(), maskPairing(), problemPairing(), generatePairing()}
}

// Every combination of what a runner accepts is right or refused where it is made.
// Without flags a covering array is judged; -pairs draws combinations at random.
func TestPairs(t *testing.T) {
	wanted := exact.Must(regexp.Compile(*pairsRunners))
	all := slices.DeleteFunc(pairings(t), func(p pairing) bool { return !wanted.MatchString(p.name) })
	drawn, shares := *pairsDrawn, 0
	if drawn == 0 && (testing.Short() || exact.Race) {
		drawn = 100
	}
	for _, p := range all {
		shares += p.share
	}
	var sum results
	for _, p := range all {
		n := min((drawn*p.share+shares-1)/shares, drawn-sum.Drawn)
		t.Run(p.name, func(t *testing.T) {
			begun := time.Now()
			v := p.try(t, n, drawn == 0)
			t.Logf("%s: %+v in %v", p.name, v, time.Since(begun).Round(time.Millisecond))
			sum.Drawn, sum.Right, sum.Refused = sum.Drawn+v.Drawn, sum.Right+v.Right, sum.Refused+v.Refused
			sum.Wrong, sum.Hung = sum.Wrong+v.Wrong, sum.Hung+v.Hung
		})
	}
	fmt.Printf("%s\n", exact.Must(json.Marshal(sum)))
}

// try judges n random combinations, or a covering array.
func (p pairing) try(t *testing.T, n int, array bool) results {
	j := judging{pairing: p, t: t, r: rand.New(rand.NewPCG(*pairsSeed, uint64(len(p.name)))), refusals: map[string]int{}}
	if array {
		j.cover(*pairsStrength)
	}
	for n > j.Drawn && t.Context().Err() == nil {
		pick := make([]int, len(p.factors))
		for f := range pick {
			pick[f] = j.r.IntN(len(p.factors[f].options))
		}
		j.one(pick)
	}
	for _, m := range slices.Sorted(maps.Keys(j.refusals)) {
		t.Logf("%6d refused: %s", j.refusals[m], m)
	}
	return j.results
}

// judging is a run over combinations.
type judging struct {
	pairing
	results
	t        *testing.T
	r        *rand.Rand
	refusals map[string]int // by message
}

// cover judges a covering array. Options that occur together only where something is
// refused are tried again among options that are right.
func (j *judging) cover(strength int) {
	sizes := j.sizes()
	strength = min(strength, len(sizes))
	var part, parts int
	if _, err := fmt.Sscanf(*pairsPart, "%d/%d", &part, &parts); err != nil || part < 0 || part >= parts {
		j.t.Fatalf("-part %s, want 0/n … n−1/n", *pairsPart)
	}
	var right [][]int
	for k, pick := range covering(sizes, strength, j.r) {
		if j.again == 0 && k%parts != part {
			continue // rows are divided, or what is tried again, which needs all of them
		}
		if j.one(pick) {
			right = append(right, pick)
		}
	}
	if len(right) == 0 {
		return
	}
	for k, group := range subsets(len(sizes), strength) {
		if k%parts != part {
			continue
		}
		seen := map[string]bool{}
		at := func(row []int) string {
			key := ""
			for _, f := range group {
				key += fmt.Sprint(row[f], " ")
			}
			return key
		}
		for _, row := range right {
			seen[at(row)] = true
		}
		tuple := make([]int, len(sizes))
		for more := true; more; more = count(tuple, group, sizes) {
			for range j.again {
				if j.t.Context().Err() != nil {
					return
				}
				if seen[at(tuple)] {
					break
				}
				row := slices.Clone(right[j.r.IntN(len(right))])
				for _, f := range group {
					row[f] = tuple[f]
				}
				seen[at(row)] = j.one(row)
			}
		}
	}
}

// count adds one to the digits at some places, and reports false after the last number.
func count(digits, at, sizes []int) bool {
	for _, f := range at {
		if digits[f]++; digits[f] < sizes[f] {
			return true
		}
		digits[f] = 0
	}
	return false
}

// one judges a combination and reports whether it is right.
func (j *judging) one(pick []int) bool {
	if j.t.Context().Err() != nil {
		return false
	}
	seed := *pairsSeed + uint64(j.Drawn)
	j.Drawn++
	draws := 1
	if *pairsDrawn > 0 {
		draws = 2
	}
	err, hung := j.within(j.t.Context(), pick, draws, seed)
	if _, refused := errors.AsType[refusal](err); !hung && err != nil && !refused {
		// At more draws and another seed, as one in a million is a false alarm.
		err, hung = j.within(j.t.Context(), pick, 4*draws, seed+1<<32)
	}
	because, refused := errors.AsType[refusal](err)
	switch {
	case hung:
		j.Hung++
		j.t.Errorf("no result in %v\n%s", *pairsDeadline, j.show(pick, seed))
	case refused && !namesWho.MatchString(because.Error()):
		j.Wrong++
		j.t.Errorf("refused, without the name of who refuses and what: %v\n%s", because, j.show(pick, seed))
	case refused:
		j.Refused++
		j.refusals[anyNumber.ReplaceAllString(because.Error(), "9")]++
	case err != nil:
		j.Wrong++
		j.t.Errorf("%v\n%s", err, j.show(pick, seed))
	default:
		j.Right++
		return true
	}
	return false
}

var (
	anyNumber = regexp.MustCompile(`[-+]?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?`)
	namesWho  = regexp.MustCompile(`^[a-z]+: \S`)
)

// within judges a combination under a deadline of CPU time, as other processes may have most
// of the machine, and a longer one by the clock.
func (p pairing) within(ctx context.Context, pick []int, draws int, seed uint64) (err error, hung bool) {
	ctx, cancel := context.WithTimeout(ctx, 30**pairsDeadline)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("panic: %s\n%s", laws.Text(v), debug.Stack())
			}
		}()
		done <- p.judge(ctx, pick, draws, seed)
	}()
	begun := exact.CPU()
	tick := time.NewTicker(max(*pairsDeadline/100, time.Millisecond))
	defer tick.Stop()
	late, since := time.Duration(0), time.Now()
	for {
		select {
		case err := <-done:
			return err, err != nil && ctx.Err() != nil
		case <-tick.C:
		}
		switch used := exact.CPU() - begun; {
		case late == 0 && (used > *pairsDeadline || ctx.Err() != nil):
			cancel()
			late, since = used, time.Now()
		case late > 0 && (used > late+*pairsDeadline/10+time.Second || time.Since(since) > 10**pairsDeadline):
			return nil, true
		}
	}
}

func (p pairing) sizes() []int {
	var sizes []int
	for _, f := range p.factors {
		sizes = append(sizes, len(f.options))
	}
	return sizes
}

// show returns a test that shows a combination.
func (p pairing) show(pick []int, seed uint64) string {
	var b strings.Builder
	for f, at := range p.factors {
		fmt.Fprintf(&b, "// %s: %s\n", at.name, at.options[pick[f]])
	}
	fmt.Fprintf(&b, "func TestShow(t *testing.T) { // in internal/conformance, seed %d\n%s}\n", seed, p.program(pick))
	return b.String()
}

// covering returns combinations in which any options of so many factors occur together:
// a covering array, greedily. sizes are the numbers of options of the factors.
func covering(sizes []int, strength int, r *rand.Rand) (rows [][]int) {
	strength = min(strength, len(sizes))
	groups := subsets(len(sizes), strength)
	open := make([][]bool, len(groups)) // by group, by options: not covered yet
	at := func(g int, row []int) int {
		k := 0
		for _, f := range groups[g] {
			k = k*sizes[f] + row[f]
		}
		return k
	}
	containing := make([][]int, len(sizes)) // groups by factor
	for g, group := range groups {
		n := 1
		for _, f := range group {
			n *= sizes[f]
			containing[f] = append(containing[f], g)
		}
		open[g] = make([]bool, n)
		for k := range open[g] {
			open[g][k] = true
		}
	}
	for g, group := range groups {
		for first := range open[g] {
			if !open[g][first] {
				continue
			}
			row := make([]int, len(sizes))
			for f := range row {
				row[f] = -1
			}
			for k, j := first, len(group)-1; j >= 0; j-- {
				row[group[j]] = k % sizes[group[j]]
				k /= sizes[group[j]]
			}
			for _, f := range r.Perm(len(sizes)) {
				if row[f] >= 0 {
					continue
				}
				best, most := 0, -1
				for _, option := range r.Perm(sizes[f]) {
					row[f] = option
					news := 0
					for _, h := range containing[f] {
						if !slices.ContainsFunc(groups[h], func(f int) bool { return row[f] < 0 }) && open[h][at(h, row)] {
							news++
						}
					}
					if news > most {
						best, most = option, news
					}
				}
				row[f] = best
			}
			for h := range groups {
				open[h][at(h, row)] = false
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// subsets returns the subsets of 0 … n−1 of a size.
func subsets(n, size int) (all [][]int) {
	if size == 0 {
		return [][]int{nil}
	}
	for last := size - 1; last < n; last++ {
		for _, s := range subsets(last, size-1) {
			all = append(all, append(slices.Clone(s), last))
		}
	}
	return all
}

// Any options of two, and of three, factors occur together.
func TestCovering(t *testing.T) {
	sizes := []int{4, 3, 2, 5, 3}
	for _, strength := range []int{2, 3} {
		rows := covering(sizes, strength, rand.New(rand.NewPCG(1, 1)))
		for _, group := range subsets(len(sizes), strength) {
			seen, want := map[string]bool{}, 1
			for _, f := range group {
				want *= sizes[f]
			}
			for _, row := range rows {
				key := ""
				for _, f := range group {
					key += fmt.Sprint(row[f], " ")
				}
				seen[key] = true
			}
			require.Len(t, seen, want, "factors %v", group)
		}
		require.Less(t, len(rows), 3*map[int]int{2: 20, 3: 60}[strength])
	}
}

// A machine that judges combinations finds the wrong ones, those that hang and those
// that panic.
func TestPairsAreJudged(t *testing.T) {
	p := pairing{factors: []factor{{"what", []string{"right", "refused", "wrong", "hangs", "panics"}}}}
	p.judge = func(ctx context.Context, pick []int, _ int, _ uint64) error {
		switch pick[0] {
		case 1:
			return refusal{errors.New("part: New: Sites = 0, want ≥ 1")}
		case 2:
			return errors.New("wrong")
		case 3:
			<-ctx.Done()
			return ctx.Err()
		case 4:
			panic("no")
		}
		return nil
	}
	defer func(d time.Duration) { *pairsDeadline = d }(*pairsDeadline)
	*pairsDeadline = 50 * time.Millisecond
	for k, want := range []string{"<nil> false", "part: New: Sites = 0, want ≥ 1 false", "wrong false", " true", "panic: no"} {
		err, hung := p.within(t.Context(), []int{k}, 1, 1)
		require.Contains(t, fmt.Sprint(err, " ", hung), want)
	}
}
