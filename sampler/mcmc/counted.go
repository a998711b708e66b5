package mcmc

import "github.com/gibbsite-go/gibbsite/constraint"

// counted is a language defined by a count and perhaps a mask: the effect of a
// change of some sites is known without looking at the other sites.
type counted struct {
	in       []int // per level: 1 if it counts
	min, max int
	mask     *constraint.Mask // nil: every site may take every level
}

// newCounted returns nil unless the language is of that kind.
func newCounted(a constraint.Automaton, levels int) *counted {
	rest, mask := constraint.Split(a)
	c, ok := rest.(constraint.Counting)
	if !ok {
		return nil
	}
	in, least, most := c.Counts()
	t := &counted{in: make([]int, levels), min: least, max: most, mask: mask}
	for _, l := range in {
		if l >= 0 && int(l) < levels {
			t.in[l] = 1
		}
	}
	return t
}

// of returns the count of x.
func (c *counted) of(x []int32) int {
	n := 0
	for _, l := range x {
		n += c.in[l]
	}
	return n
}

// without returns the count n of x after x_i becomes a and site j is taken out,
// −1 if site i may not take a.
func (c *counted) without(n, i, j int, a int32, x []int32) int {
	if c.mask != nil && !c.mask.Allows(i, a) {
		return -1
	}
	return n - c.in[x[i]] - c.in[x[j]] + c.in[a]
}

// within reports whether site j may take b where the others count n.
func (c *counted) within(n, j int, b int32) bool {
	if c.mask != nil && !c.mask.Allows(j, b) {
		return false
	}
	n += c.in[b]
	return n >= c.min && n <= c.max
}
