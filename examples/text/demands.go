package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/projection"
)

// demand is one requirement on a line: a language, and a check that uses only package strings.
type demand struct {
	name     string
	language *constraint.DFA
	holds    func(line string) bool
}

// demands compiles the requirements of the options and the pattern, if there is one.
func (a *asked) demands(ctx context.Context, v text.Vocabulary, pattern string) ([]demand, error) {
	var all []demand
	add := func(name string, d *constraint.DFA, err error, holds func(line string) bool) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, demand{name, d.Named(name), holds})
		return nil
	}
	none := constraint.Limits{}
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(a.separators, c) })
	}
	if r := a.words; r != nil {
		d, err := text.WordCount(ctx, v, none, *r, a.separators)
		if err := add(fmt.Sprintf("-words %v", r), d, err, func(s string) bool { return within(r, len(split(s))) && utf8.ValidString(s) }); err != nil {
			return nil, err
		}
	}
	if r := a.characters; r != nil {
		d, err := text.Characters(ctx, v, none, *r)
		if err := add(fmt.Sprintf("-characters %v", r), d, err, func(s string) bool { return within(r, utf8.RuneCountInString(s)) && utf8.ValidString(s) }); err != nil {
			return nil, err
		}
	}
	if r := a.sentences; r != nil {
		d, err := text.Sentences(ctx, v, none, *r, stops)
		if err := add(fmt.Sprintf("-sentences %v", r), d, err, func(s string) bool {
			n, whole := sentencesOf(s)
			return whole && within(r, n) && utf8.ValidString(s)
		}); err != nil {
			return nil, err
		}
	}
	if r := a.lengths; r != nil {
		d, err := text.WordLengths(ctx, v, none, *r, a.separators)
		if err := add(fmt.Sprintf("-word-lengths %v", r), d, err, func(s string) bool {
			for _, w := range split(s) {
				if !within(r, utf8.RuneCountInString(w)) {
					return false
				}
			}
			return utf8.ValidString(s)
		}); err != nil {
			return nil, err
		}
	}
	for _, r := range a.letters {
		bytes := constraint.Count{Levels: []int32{int32(r.letter)}, Min: r.times.Min, Max: r.times.Max}
		d, err := text.Lift(ctx, bytes, v, none)
		if err := add(fmt.Sprintf("-letters %c=%v", r.letter, r.times), d, err, func(s string) bool {
			return within(r.times, strings.Count(s, string(rune(r.letter))))
		}); err != nil {
			return nil, err
		}
	}
	if a.list != "" {
		b, err := os.ReadFile(a.list)
		if err != nil {
			return nil, fmt.Errorf("-list: %w", err)
		}
		list := strings.Fields(string(b))
		known := make(map[string]bool, len(list))
		for _, w := range list {
			known[w] = true
		}
		d, err := text.Words(ctx, v, none, a.separators, list...)
		if err := add("-list "+a.list, d, err, func(s string) bool {
			for _, w := range split(s) {
				if !known[w] {
					return false
				}
			}
			return true
		}); err != nil {
			return nil, err
		}
	}
	places := a.at
	if a.last != nil {
		places = append(places[:len(places):len(places)], place{-1, a.last})
	}
	for i, p := range places {
		name := fmt.Sprintf("-at %d=%s", p.n, strings.Join(p.words, "|"))
		if i == len(a.at) {
			name = "-last " + strings.Join(p.words, "|")
		}
		d, err := text.WordAt(ctx, v, none, p.n, a.separators, p.words...)
		if err := add(name, d, err, func(s string) bool { return p.holds(split(s)) }); err != nil {
			return nil, err
		}
	}
	if pattern != "" {
		judge, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			return nil, fmt.Errorf("-regex: %w", err)
		}
		d, err := text.Regexp(ctx, pattern, v, none)
		if err := add("-regex "+pattern, d, err, func(s string) bool { return judge.MatchString(s) && utf8.ValidString(s) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (p place) holds(words []string) bool {
	at := p.n - 1
	if p.n < 0 {
		at = len(words) + p.n
	}
	if at < 0 || at >= len(words) {
		return false
	}
	for _, w := range p.words {
		if words[at] == w {
			return true
		}
	}
	return false
}

// within reports whether n is in the range r.
func within(r *text.Range, n int) bool {
	return r.Min <= n && n <= r.Max
}

// sentencesOf counts the sentences of a line and reports whether the last one is complete.
func sentencesOf(s string) (n int, complete bool) {
	complete = true
	for _, field := range strings.Fields(s) {
		if complete {
			n++
		}
		tail := field[len(strings.TrimRight(field, stops+"\"'’”»›)]}")):]
		complete = strings.ContainsAny(tail, stops)
	}
	return n, complete
}

// together returns the job of lines that meet all demands. If no line of l.length tokens does, the
// error names demands that exclude each other.
func together(ctx context.Context, all []demand, l *lines) (job, error) {
	var names []string
	var parts []constraint.Automaton
	for _, d := range all {
		names = append(names, d.name)
		parts = append(parts, d.language)
	}
	both, err := constraint.Intersect(parts...)
	if err != nil {
		return job{}, err
	}
	what := strings.Join(names, ", ")
	path := projection.Path{Language: both, Name: what}
	_, err = path.Compile(ctx, l.length, l.levels())
	var dead *projection.InfeasibleError
	var large *constraint.LimitError
	switch {
	case errors.As(err, &dead) && len(dead.Clash) == 1:
		return job{}, fmt.Errorf("no line of at most %d %s has %s: %w", l.length, l.unit(), dead.Clash[0], constraint.ErrInfeasible)
	case errors.As(err, &dead):
		return job{}, fmt.Errorf("no line of at most %d %s has %s together: %w", l.length, l.unit(), strings.Join(dead.Clash, " and "), constraint.ErrInfeasible)
	case errors.As(err, &large):
		return job{}, fmt.Errorf("%s together: %w; ask for less, or a shorter -length", what, err)
	case err != nil:
		return job{}, err
	}
	return job{name: "words", what: what, projector: path, parts: all, holds: func(line string) bool {
		for _, d := range all {
			if !d.holds(line) {
				return false
			}
		}
		return true
	}}, nil
}
