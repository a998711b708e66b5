package grammar

import (
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// joint is a byte automaton for the texts that pass all tests of a string. It assigns numbers
// to its states when they are first reached.
type joint struct {
	tests  []test
	packed map[uint64]int // numbers of the states whose tests fit 64 bits
	number map[string]int // numbers of the others
	states []int32        // for each state, the states of the tests, −1 for a dead one
	key    []byte
	to     []int32
}

func newJoint(tests []test) *joint {
	j := &joint{tests: tests, packed: map[uint64]int{}, number: map[string]int{}}
	for _, t := range tests {
		j.to = append(j.to, int32(t.a.Start()))
	}
	j.find()
	return j
}

// at returns the states of the tests in a state.
func (j *joint) at(state int) []int32 {
	n := len(j.tests)
	return j.states[state*n : (state+1)*n]
}

// find returns the index of the state whose tests are in the states j.to.
func (j *joint) find() int {
	next := len(j.states) / len(j.tests)
	k, fits := uint64(0), len(j.to) <= 3
	for _, q := range j.to {
		fits = fits && q < 1<<21-1
		k = k<<21 | uint64(q+1)
	}
	if fits {
		if i, ok := j.packed[k]; ok {
			return i
		}
		j.packed[k] = next
	} else {
		j.key = appendWords(j.key[:0], j.to)
		if i, ok := j.number[string(j.key)]; ok {
			return i
		}
		j.number[string(j.key)] = next
	}
	j.states = append(j.states, j.to...)
	return next
}

func (j *joint) States() int { return unbounded }

func (j *joint) Start() int { return 0 }

func (j *joint) Next(state int, b int32) int {
	copy(j.to, j.at(state))
	for i, t := range j.tests {
		if j.to[i] >= 0 {
			j.to[i] = int32(max(-1, t.a.Next(int(j.to[i]), b)))
		}
		if j.to[i] < 0 && t.want {
			return -1
		}
	}
	return j.find()
}

func (j *joint) Accepting(state int) bool {
	for i, t := range j.tests {
		if q := j.at(state)[i]; (q >= 0 && t.a.Accepting(int(q))) != t.want {
			return false
		}
	}
	return true
}

// Classes puts two bytes into one class if they are treated alike by every automaton and every list
// of texts that this automaton combines.
func (j *joint) Classes(levels int) (of []int32, n int) {
	var classes [][]int32
	for _, t := range j.tests {
		a, is := t.a.(classifier)
		if !is { // every byte is a class
			return automata.Identity(levels), levels
		}
		class, _ := a.Classes(levels)
		classes = append(classes, class)
	}
	return automata.ClassesByBytes(levels, func(key []byte, b int32) []byte {
		for _, class := range classes {
			key = binary.LittleEndian.AppendUint32(key, uint32(class[b]))
		}
		return key
	})
}

// crowd bounds the number of states of the combined automaton of all tests of a string. If that
// automaton is too large, crowd bounds the product of the tests' numbers of states.
const crowd = 1 << 12

// Bounds for strings whose tests would otherwise be read side by side, where masks are often
// undecided: greatCrowd bounds the number of states of the combined automaton, and crowds the
// number of such automata in a schema. Each takes up to a fifth of a second.
const (
	greatCrowd = 1 << 16
	crowds     = 4
)

// joined returns spec with all its tests combined into one test. It returns spec itself if the
// combined automaton would have too many states.
func (c *compiler) joined(spec stringSpec) (stringSpec, error) {
	var tests []test
	wanted := false
	for _, t := range spec.tests {
		if x, is := t.a.(*trie); is && t.want {
			return spec.among(x), nil
		}
		if !slices.Contains(tests, t) {
			tests = append(tests, t)
		}
		wanted = wanted || t.want
	}
	spec.tests = tests
	if len(tests) == 0 || len(tests) == 1 && wanted {
		return spec, nil
	}
	if _, is := tests[0].a.(*trie); is && len(tests) == 1 {
		return spec, nil
	}
	if !wanted { // what fails a test is a text nevertheless
		any, err := c.allTexts()
		if err != nil {
			return spec, err
		}
		tests = append(slices.Clip(tests), test{a: any, want: true})
	}
	var limit *constraint.LimitError
	if c.merging != nil && spec.crowded() {
		a, err := c.automatonOf(stringSpec{most: -1, tests: tests})
		if errors.As(err, &limit) {
			err = errGates
		}
		spec.tests = []test{{a: a, want: true}}
		return spec, err
	}
	d, err := constraint.Compile(c.ctx, newJoint(tests), 256, constraint.Limits{States: crowd})
	switch {
	case errors.Is(err, constraint.ErrInfeasible):
		spec.tests = []test{{a: newTrie(nil), want: true}}
	case errors.As(err, &limit):
	case err != nil:
		return spec, err
	default:
		spec.tests = []test{{a: d, want: true}}
	}
	return spec, nil
}

// crowd compiles a combined automaton, whose number of states may exceed the bound crowd a few
// times in a schema.
func (c *compiler) crowd(a constraint.Automaton) (*constraint.DFA, error) {
	d, err := constraint.Compile(c.ctx, a, 256, constraint.Limits{States: crowd})
	var limit *constraint.LimitError
	if errors.As(err, &limit) && c.merging.crowds < crowds {
		c.merging.crowds++
		d, err = constraint.Compile(c.ctx, a, 256, c.merging.great)
	}
	return d, err
}

// among returns a spec for those texts of x that satisfy s.
func (s stringSpec) among(x *trie) stringSpec {
	if len(s.tests) == 1 && s.least == 0 && s.most < 0 {
		return s
	}
	var texts []string
	for _, text := range x.texts {
		n := utf8.RuneCountInString(text)
		if n >= s.least && (s.most < 0 || n <= s.most) && passes(s.tests, text) {
			texts = append(texts, text)
		}
	}
	s.tests, s.least, s.most = []test{{a: newTrie(texts), want: true}}, 0, -1
	return s
}

// crowded reports whether deciding that no text passes all tests may take too long. It returns
// true if some tests must fail or there are more than two tests, and the product of the numbers
// of states and the counted length exceeds [crowd]. The tests are then read side by side, and
// states are created only as texts reach them.
func (s stringSpec) crowded() bool {
	n, fails := max(1, s.least, s.most), false
	for _, t := range s.tests {
		if d, is := t.a.(*constraint.DFA); is && n <= crowd {
			n *= d.States()
		}
		fails = fails || !t.want
	}
	return (fails || len(s.tests) > 2) && n > crowd
}

// rests holds, for every state of an automaton, the possible lengths in characters of the texts
// that it accepts from there. Every state leads to an accepting one.
type rests struct {
	// sets[n] contains the states from which a text of n characters is accepted; for larger n,
	// the sets from sets[back] on repeat
	sets  []bitset
	back  int
	least []int32 // length of the shortest accepted text from each state
	all   []int8  // cached results of endless by state: 1 yes, −1 no, 0 not known
}

// restMoves bounds the number of operations of restsOf, which corresponds to a few milliseconds.
const restMoves = 1 << 21

// restsOf returns the rests of an automaton over UTF-8 bytes. It returns nil if the computation
// takes too long, because the sets of states repeat only after many lengths.
func restsOf(d *constraint.DFA) *rests {
	n := d.States()
	next, width := d.Table()
	of, _ := d.Classes(256)
	within := make([]bool, width) // the class is of bytes within a character
	for b := 0x80; b < 0xC0; b++ {
		within[of[b]] = true
	}
	var more, same [][2]int32 // moves that begin a character, and others
	moves := 0
	for s := range n {
		last := [2]int32{-1, -1}
		for c := range width {
			to := next[s*width+c]
			if to < 0 {
				continue
			}
			if within[c] {
				same = append(same, [2]int32{int32(s), to})
			} else if m := [2]int32{int32(s), to}; m != last {
				more = append(more, m)
				last = m
			}
		}
	}
	r := &rests{least: make([]int32, n), all: make([]int8, n)}
	for s := range r.least {
		r.least[s] = -1
	}
	size := (n + 31) / 32
	number := map[string]int{} // index of each set
	for {
		set := make(bitset, size)
		if k := len(r.sets); k == 0 {
			for s := range n {
				if d.Accepting(s) {
					set.set(int32(s))
				}
			}
		} else {
			for _, m := range more {
				if r.sets[k-1].has(m[1]) {
					set.set(m[0])
				}
			}
		}
		for range 3 { // of the bytes within a character
			for _, m := range same {
				if set.has(m[1]) {
					set.set(m[0])
				}
			}
		}
		for s := range r.least {
			if r.least[s] < 0 && set.has(int32(s)) {
				r.least[s] = int32(len(r.sets))
			}
		}
		k := set.key()
		if back, ok := number[k]; ok { // each set depends only on the one before
			r.back = back
			return r
		}
		number[k] = len(r.sets)
		r.sets = append(r.sets, set)
		if moves += n + len(more) + 3*len(same); moves > restMoves {
			return nil
		}
	}
}

// has reports whether a text of n characters is accepted from state q.
func (r *rests) has(q int32, n int) bool {
	if n >= len(r.sets) {
		n = r.back + (n-r.back)%(len(r.sets)-r.back)
	}
	return r.sets[n].has(q)
}

// end returns the length at which the sets have repeated if a search begins at the length from.
func (r *rests) end(from int) int { return max(from, r.back) + len(r.sets) - r.back }

// between reports whether a text of low to high characters is accepted from state q. high < 0
// means no upper bound.
func (r *rests) between(q int32, low, high int) bool {
	from := max(0, low, int(r.least[q]))
	end := r.end(from)
	for n := from; n < end && (high < 0 || n <= high); n++ {
		if r.has(q, n) {
			return true
		}
	}
	return false
}

// endless reports whether texts of every length from the shortest on are accepted from state q.
func (r *rests) endless(q int32) bool {
	if r.all[q] == 0 {
		r.all[q] = 1
		from := max(0, int(r.least[q]))
		for n := from; n < r.end(from); n++ {
			if !r.has(q, n) {
				r.all[q] = -1
				break
			}
		}
	}
	return r.all[q] > 0
}
