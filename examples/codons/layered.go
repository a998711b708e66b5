package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// walker is a constraint that reads a design codon by codon. Its state is a string, the key. Two
// prefixes with the same key allow the same continuations.
type walker interface {
	start() string

	// next returns the key after reading a codon at a site. It returns ok = false if no design
	// continues from there.
	next(site int, key, codon string) (after string, ok bool)

	// accepts reports whether a design may end in the state key.
	accepts(key string) bool
}

// layered is the automaton of a constraint on the designs of one protein. Every state belongs to
// a site. States of a site with the same continuations are merged.
type layered struct {
	name   string
	tokens [][]int32 // tokens allowed at each site
	wide   int       // maximum number of tokens at a site
	site   []int32   // site of each state
	next   []int32   // next state, indexed by state·wide + index of the token at the state's site
	first  int
}

// Limits for one constraint, which then takes a few hundred megabytes. Tests set lower limits.
var (
	mostStates = 1 << 20 // maximum number of states
	mostBytes  = 1 << 24 // maximum total length of the keys in bytes
)

// tooLarge is the error for a constraint that needs too many states.
type tooLarge struct {
	name        string
	site, sites int
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("%s: more than %d states, or keys of %d kB, up to codon %d of %d: too many for exact sampling",
		e.name, mostStates, mostBytes>>10, e.site+1, e.sites)
}

// dies is the error for a constraint that no design satisfies even on its own.
type dies struct {
	name string
	site int // first codon at which no design continues
	end  bool
}

func (e *dies) Error() string {
	if e.end {
		return fmt.Sprintf("%s: no complete design of this protein meets it: %v", e.name, constraint.ErrInfeasible)
	}
	return fmt.Sprintf("%s: no design of this protein gets beyond codon %d: %v", e.name, e.site+1, constraint.ErrInfeasible)
}

func (e *dies) Unwrap() error { return constraint.ErrInfeasible }

// unroll builds the automaton of a walker for a protein whose sites allow the given tokens.
func unroll(ctx context.Context, name string, w walker, tokens [][]int32) (*layered, error) {
	n := len(tokens)
	a := &layered{name: name, tokens: tokens}
	for _, list := range tokens {
		a.wide = max(a.wide, len(list))
	}
	keys := []string{w.start()} // of the present site
	rows := make([][]int32, n)  // [site][state·wide + choice]: a number at the next site
	states, bytes := 1, 0
	for i, list := range tokens {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		number := make(map[string]int32)
		var after []string
		rows[i] = make([]int32, len(keys)*a.wide)
		for s, key := range keys {
			row := rows[i][s*a.wide:][:a.wide]
			for k := range row {
				row[k] = -1
				if k >= len(list) {
					continue
				}
				to, ok := w.next(i, key, codons.Tokens[list[k]])
				if !ok {
					continue
				}
				id, seen := number[to]
				if !seen {
					id = int32(len(after))
					number[to] = id
					after = append(after, to)
					states, bytes = states+1, bytes+len(to)
					if states > mostStates || bytes > mostBytes {
						return nil, &tooLarge{name, i, n}
					}
				}
				row[k] = id
			}
		}
		if keys = after; len(keys) == 0 {
			return nil, &dies{name: name, site: i}
		}
	}
	if !a.merge(rows, func(end int) bool { return w.accepts(keys[end]) }, len(keys)) {
		return nil, &dies{name: name, end: true}
	}
	return a, nil
}

// merge numbers the states from the last site to the first. It omits states that reach no
// accepting state and merges those with the same successors. It reports whether the start state
// remains.
func (a *layered) merge(rows [][]int32, accepts func(end int) bool, ends int) bool {
	n := len(rows)
	none := slices.Repeat([]int32{-1}, a.wide)
	add := func(site int, row []int32) int32 {
		a.site = append(a.site, int32(site))
		a.next = append(a.next, row...)
		return int32(len(a.site) - 1)
	}
	later := make([]int32, ends) // the state of each number at the next site
	end := add(n, none)
	for k := range later {
		if later[k] = -1; accepts(k) {
			later[k] = end
		}
	}
	row, word := make([]int32, a.wide), []byte(nil)
	for i := n - 1; i >= 0; i-- {
		same := make(map[string]int32)
		now := make([]int32, len(rows[i])/a.wide)
		for s := range now {
			word = word[:0]
			for k, to := range rows[i][s*a.wide:][:a.wide] {
				if row[k] = -1; to >= 0 {
					row[k] = later[to]
				}
				word = binary.LittleEndian.AppendUint32(word, uint32(row[k]))
			}
			if now[s] = -1; slices.Equal(row, none) {
				continue
			}
			id, ok := same[string(word)]
			if !ok {
				id = add(i, row)
				same[string(word)] = id
			}
			now[s] = id
		}
		later = now
	}
	a.first = int(later[0])
	return later[0] >= 0
}

func (a *layered) States() int { return len(a.site) }

func (a *layered) Start() int { return a.first }

func (a *layered) Next(state int, token int32) int {
	site := int(a.site[state])
	if site == len(a.tokens) {
		return -1
	}
	k := slices.Index(a.tokens[site], token)
	if k < 0 {
		return -1
	}
	return int(a.next[state*a.wide+k])
}

func (a *layered) Accepting(state int) bool { return int(a.site[state]) == len(a.tokens) }

func (a *layered) String() string { return a.name }
