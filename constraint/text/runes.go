package text

import (
	"context"
	"regexp/syntax"
	"slices"
	"unicode"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// runeClasses divides the runes that UTF-8 can encode into intervals, and the intervals into
// classes. A regexp program treats all runes of a class alike.
type runeClasses struct {
	low   []rune  // interval j is low[j]…low[j+1]−1; the last entry is MaxRune+1
	class []int32 // class of each interval, −1 for surrogates
	rep   []rune  // an example rune of each class
	inst  [][]bool
	// inst[pc][c] reports whether instruction pc consumes class c; nil if it
	// consumes no rune. Equal instructions share the slice.
}

// surrogateLow and surrogateHigh bound the UTF-16 surrogates, which UTF-8 excludes.
const surrogateLow, surrogateHigh = 0xD800, 0xE000

// newRuneClasses returns the classes of prog. If prog has assertions about positions, newline
// and word characters are in separate classes.
func newRuneClasses(ctx context.Context, name string, prog *syntax.Prog, limits constraint.Limits) (*runeClasses, error) {
	r := &runeClasses{}
	distinct, of := consumers(prog)
	var meter poll.Meter
	meter.Watch(ctx)
	low := []rune{0, surrogateLow, surrogateHigh, unicode.MaxRune + 1}
	looks := false
	for i := range prog.Inst {
		looks = looks || prog.Inst[i].Op == syntax.InstEmptyWidth
	}
	if looks {
		low = append(low, '\n', '\n'+1, '0', '9'+1, 'A', 'Z'+1, '_', '_'+1, 'a', 'z'+1)
	}
	for _, i := range distinct {
		low = append(low, boundaries(i)...)
	}
	slices.Sort(low)
	r.low = slices.Compact(low)

	seen := map[string]int32{}
	signature := make([]byte, len(distinct)+1)
	for _, at := range r.low[:len(r.low)-1] {
		if at >= surrogateLow && at < surrogateHigh {
			r.class = append(r.class, -1)
			continue
		}
		if meter.Done(len(distinct)) {
			return nil, meter.Err()
		}
		for k, i := range distinct {
			signature[k] = 0
			if i.MatchRune(at) {
				signature[k] = 1
			}
		}
		if looks {
			signature[len(distinct)] = byte(kindOf(at))
		}
		c, ok := seen[string(signature)]
		if !ok {
			c = int32(len(seen))
			seen[string(signature)] = c
			r.rep = append(r.rep, at)
			if err := limits.Check(name, 0, 0, 2*len(signature)*len(r.rep)); err != nil {
				return nil, err
			}
		}
		r.class = append(r.class, c)
	}
	matches := make([][]bool, len(distinct))
	for k, i := range distinct {
		if meter.Done(len(r.rep)) {
			return nil, meter.Err()
		}
		for _, at := range r.rep {
			matches[k] = append(matches[k], i.MatchRune(at))
		}
	}
	r.inst = make([][]bool, len(prog.Inst))
	for pc, k := range of {
		if k >= 0 {
			r.inst[pc] = matches[k]
		}
	}
	return r, nil
}

// consumers returns the distinct instructions of prog that consume a rune. of holds, for every
// instruction, the index of the equal one in distinct, or −1 if the instruction consumes
// nothing.
func consumers(prog *syntax.Prog) (distinct []*syntax.Inst, of []int) {
	seen := map[string]int{}
	for pc := range prog.Inst {
		i := &prog.Inst[pc]
		switch i.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		default:
			of = append(of, -1)
			continue
		}
		key := string(append([]rune{rune(i.Op), rune(i.Arg)}, i.Rune...))
		k, ok := seen[key]
		if !ok {
			k = len(distinct)
			seen[key] = k
			distinct = append(distinct, i)
		}
		of = append(of, k)
	}
	return distinct, of
}

// boundaries returns the runes at which the result of an instruction may change.
func boundaries(i *syntax.Inst) []rune {
	switch {
	case i.Op == syntax.InstRuneAny:
		return nil
	case i.Op == syntax.InstRuneAnyNotNL:
		return []rune{'\n', '\n' + 1}
	case len(i.Rune) == 1: // a single rune, perhaps with its case folds
		first := i.Rune[0]
		low := []rune{first, first + 1}
		if syntax.Flags(i.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(first); f != first; f = unicode.SimpleFold(f) {
				low = append(low, f, f+1)
			}
		}
		return low
	}
	var low []rune
	for j := 0; j+1 < len(i.Rune); j += 2 {
		low = append(low, i.Rune[j], i.Rune[j+1]+1)
	}
	return low
}

// kind is the information about a rune on which empty-width assertions depend: a class of
// runes, or the absence of a rune.
type kind uint8

const (
	kindEdge    kind = iota // begin or end of the text
	kindNewline             // the rune \n
	kindWord                // a rune of [0-9A-Za-z_]
	kindOther
)

// example holds a rune of each kind, as an argument of syntax.EmptyOpContext.
var example = [...]rune{kindEdge: -1, kindNewline: '\n', kindWord: 'a', kindOther: ' '}

func kindOf(r rune) kind {
	switch {
	case r < 0:
		return kindEdge
	case r == '\n':
		return kindNewline
	case syntax.IsWordChar(r):
		return kindWord
	}
	return kindOther
}
