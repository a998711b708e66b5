package text

import (
	"context"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// kinds assigns a kind to every rune. Listed runes have kinds from 1 on, and all other runes
// have kind 0.
type kinds struct {
	of map[rune]int32
	n  int32
}

func newKinds() *kinds { return &kinds{map[rune]int32{}, 1} }

// separated checks the arguments of a function that counts words between separators. It returns
// the counter, and kinds in which the separators have kind 1.
func separated(name string, limits constraint.Limits, r Range, separators string) (counter, *kinds, error) {
	c, err := r.counter(name, limits)
	if err == nil {
		err = valid(name, "separators", separators)
	}
	k := newKinds()
	k.one(separators)
	return c, k, err
}

// one gives all runes of a string one new kind, replacing earlier kinds, and returns the new
// kind.
func (k *kinds) one(s string) (kind int32) {
	kind = k.n
	k.n++
	for _, r := range s {
		k.of[r] = kind
	}
	return kind
}

// each returns the kinds of the runes of a string. It gives a new kind of its own to every rune
// that has none.
func (k *kinds) each(s string) []int32 {
	var all []int32
	for _, r := range s {
		if _, ok := k.of[r]; !ok {
			k.of[r] = k.n
			k.n++
		}
		all = append(all, k.of[r])
	}
	return all
}

// classes returns the kinds as classes of runes.
func (k *kinds) classes() *runeClasses {
	low := []rune{0, surrogateLow, surrogateHigh, unicode.MaxRune + 1}
	for r := range k.of {
		low = append(low, r, r+1)
	}
	slices.Sort(low)
	c := &runeClasses{low: slices.Compact(low)}
	for _, r := range c.low[:len(c.low)-1] {
		kind := k.of[r]
		if r >= surrogateLow && r < surrogateHigh {
			kind = -1
		}
		c.class = append(c.class, kind)
	}
	return c
}

// compile converts an automaton over kinds of runes to an automaton over the tokens of a
// vocabulary. name is the function that errors name, and title the name of the result.
func (k *kinds) compile(ctx context.Context, name, title string, a constraint.Automaton, v Vocabulary, limits constraint.Limits) (*constraint.DFA, error) {
	p, err := prepare(v)
	if err != nil {
		return nil, err
	}
	overRunes, err := constraint.Compile(ctx, a, int(k.n), limits)
	if err != nil {
		return nil, fmt.Errorf("text: %s: %w", name, err)
	}
	d, err := spell(ctx, name, overRunes, k.classes(), p, limits)
	if err != nil {
		return nil, err
	}
	return d.Named(title), nil
}

// valid returns an error if the argument s is not valid UTF-8.
func valid(name, arg, s string) error {
	if !utf8.ValidString(s) {
		return &constraint.ArgumentError{Func: name, Arg: arg, Value: check.Quote(s), Want: "UTF-8"}
	}
	return nil
}
