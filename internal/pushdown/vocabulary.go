package pushdown

import "slices"

// Vocabulary is the text of every token, sorted once for any number of lifts.
// It is immutable.
type Vocabulary struct {
	Tokens []string
	Pad    []int32 // tokens that may follow an accepted text, and only each other
	order  []int32 // tokens with a text, sorted by it
	shared []int32 // bytes that a token shares with the one before
	rest   []byte  // the other bytes of all tokens, one after the other
	upto   []int32 // where those of a token end
}

// Prepare sorts the tokens for which spells holds (nil: all). Those of pad must
// not be among them. The slices are kept.
func Prepare(tokens []string, spells []bool, pad []int32) *Vocabulary {
	v := &Vocabulary{Tokens: tokens, Pad: pad}
	for t := range tokens {
		if spells == nil || spells[t] {
			v.order = append(v.order, int32(t))
		}
	}
	slices.SortFunc(v.order, func(a, b int32) int {
		switch x, y := tokens[a], tokens[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a - b)
	})
	v.shared = make([]int32, len(v.order))
	for i := 1; i < len(v.order); i++ {
		a, b := tokens[v.order[i-1]], tokens[v.order[i]]
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		v.shared[i] = int32(n)
	}
	v.upto = make([]int32, len(v.order))
	for i, t := range v.order {
		v.rest = append(v.rest, tokens[t][v.shared[i]:]...)
		v.upto[i] = int32(len(v.rest))
	}
	return v
}
