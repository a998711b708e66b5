package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// asked holds the options of the run "words": the numbers of words, runes and sentences, and the
// allowed words. All of them apply at once.
type asked struct {
	given struct{ words, characters, sentences, lengths, at, last, letters string } // unparsed options

	words, characters, sentences, lengths *text.Range // parsed ranges; nil if not given
	list                                  string      // file of the allowed words
	letters                               []letters
	at                                    []place
	last                                  []string
	separators                            string
}

// letters requires that a byte occur so many times.
type letters struct {
	letter byte
	times  *text.Range
}

// place requires that the n-th word be one of words. For n < 0 it counts from the end.
type place struct {
	n     int
	words []string
}

// stops lists the characters that end a sentence.
const stops = ".!?"

// most is the maximum of word counts, rune counts and positions.
const most = 1024

func (a *asked) define(f *flag.FlagSet) {
	number := func(to *string, name, what string) {
		f.StringVar(to, name, "", what+" of a line of the words run, a `range` such as 5, 5-8, 5- or -8")
	}
	number(&a.given.words, "words", "number of words")
	number(&a.given.characters, "characters", "number of characters")
	number(&a.given.sentences, "sentences", "number of sentences, each with . or ! or ? at its end and nothing after the last,")
	number(&a.given.lengths, "word-lengths", "number of characters of every word")
	f.StringVar(&a.list, "list", "", "in the words run, use only the words in this `file`, which are separated by white space")
	f.StringVar(&a.given.at, "at", "", "`words` at given positions of a line in the words run: 3=of,-2=the|a puts of third, and the or a second to last; positions from the end go up to 16")
	f.StringVar(&a.given.last, "last", "", "last `word` of a line of the words run: end, or one of several: end|stop")
	f.StringVar(&a.given.letters, "letters", "", "numbers of `letters` in a line of the words run: e=3,z=0-1")
	f.StringVar(&a.separators, "separators", ` ,.;:!?"()`, "ASCII `characters` that separate words")
}

// first returns the name and the value of the first option that is given, "" and "" if none is.
func (a *asked) first() (name, value string) {
	for _, o := range [][2]string{{"-words", a.given.words}, {"-characters", a.given.characters}, {"-sentences", a.given.sentences}, {"-word-lengths", a.given.lengths},
		{"-list", a.list}, {"-at", a.given.at}, {"-last", a.given.last}, {"-letters", a.given.letters}} {
		if o[1] != "" {
			return o[0], o[1]
		}
	}
	return "", ""
}

// scan parses the options.
func (a *asked) scan() error {
	for _, o := range []struct {
		name, given string
		to          **text.Range
	}{{"-words", a.given.words, &a.words}, {"-characters", a.given.characters, &a.characters}, {"-sentences", a.given.sentences, &a.sentences}, {"-word-lengths", a.given.lengths, &a.lengths}} {
		if o.given == "" {
			continue
		}
		r, err := scanRange(o.given)
		if err != nil {
			return fmt.Errorf("%s = %q, %w", o.name, o.given, err)
		}
		*o.to = r
	}
	var err error
	if a.given.at != "" {
		if a.at, err = scanPlaces(a.given.at); err != nil {
			return fmt.Errorf("-at = %q, %w", a.given.at, err)
		}
	}
	if a.given.letters != "" {
		if a.letters, err = scanLetters(a.given.letters); err != nil {
			return fmt.Errorf("-letters = %q, %w", a.given.letters, err)
		}
	}
	if a.given.last != "" {
		if a.last, err = scanWords(a.given.last); err != nil {
			return fmt.Errorf("-last = %q, %w", a.given.last, err)
		}
	}
	return a.check()
}

// any reports whether any option is given.
func (a *asked) any() bool {
	name, _ := a.first()
	return name != ""
}

// check returns an error if the options do not fit together.
func (a *asked) check() error {
	for _, c := range a.separators {
		if c >= utf8.RuneSelf {
			return fmt.Errorf("-separators: %q, want ASCII characters", c)
		}
	}
	if a.separators == "" {
		return fmt.Errorf("-separators = \"\", want a character")
	}
	each := func(option string, words []string) error {
		for _, w := range words {
			if at := strings.IndexAny(w, a.separators); at >= 0 {
				return fmt.Errorf("%s: the word %q has the separator %q in it", option, w, w[at:at+1])
			}
		}
		return nil
	}
	for _, p := range a.at {
		if err := each("-at", p.words); err != nil {
			return err
		}
	}
	return each("-last", a.last)
}

// scanRange parses a range: 5, 5-8, 5- or -8.
func scanRange(s string) (*text.Range, error) {
	low, high, two := strings.Cut(s, "-")
	if !two {
		high = low
	}
	var err error
	number := func(s string, unset int) int {
		if s = strings.TrimSpace(s); s == "" {
			return unset
		}
		n, bad := strconv.Atoi(s)
		if bad != nil || n < 0 || n > most {
			err = fmt.Errorf("want 0 … %d, or two such numbers: 5-8, 5-, -8", most)
		}
		return n
	}
	r := &text.Range{Min: number(low, 0), Max: number(high, constraint.Unbounded)}
	switch {
	case err != nil:
	case strings.Trim(s, " -") == "":
		err = errors.New("want a number")
	case r.Min > r.Max:
		err = errors.New("want the lower number first")
	}
	return r, err
}

// scanWords splits a list of words at the bars.
func scanWords(s string) ([]string, error) {
	words := strings.Split(s, "|")
	for _, w := range words {
		if w == "" || !utf8.ValidString(w) {
			return nil, errors.New("want words of UTF-8, with | between them")
		}
	}
	return words, nil
}

func scanLetters(s string) ([]letters, error) {
	var all []letters
	for item := range strings.SplitSeq(s, ",") {
		letter, times, ok := strings.Cut(item, "=")
		if !ok || len(letter) != 1 || letter[0] >= utf8.RuneSelf {
			return nil, fmt.Errorf("%q in it: want an ASCII character and a number or a range: e=3", item)
		}
		r, err := scanRange(times)
		if err != nil {
			return nil, fmt.Errorf("%q in it: %w", item, err)
		}
		all = append(all, letters{letter[0], r})
	}
	return all, nil
}

func scanPlaces(s string) ([]place, error) {
	var all []place
	for item := range strings.SplitSeq(s, ",") {
		n, list, ok := strings.Cut(item, "=")
		at, err := strconv.Atoi(strings.TrimSpace(n))
		if !ok || err != nil || at == 0 || at > most || at < -16 {
			return nil, fmt.Errorf("%q in it: want the number of a word, 1 … %d or −1 … −16, and words: 3=of or -2=the|a", item, most)
		}
		words, err := scanWords(list)
		if err != nil {
			return nil, fmt.Errorf("%q in it: %w", item, err)
		}
		all = append(all, place{at, words})
	}
	return all, nil
}
