package ground

import (
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

const (
	crowdMembers = 64 // number of states in a crowd: the bits of a word
	crowdDegree  = 64 // maximum mean number of neighbours, as counted in near, for which a crowd is used
	crowdSweeps  = 32 // sweeps of a crowd per sweep of a single state; more, because its members descend one by one afterwards
	crowdWork    = 8  // cost of redrawing a site of a crowd, relative to an update of a single state
	// By default one search uses a crowd if the model has more sites than crowdAlone. Its best state
	// then improves over more rounds in the same processor time.
	crowdAlone  = 4096
	crowdPlanes = 14 // number of binary digits of a count of bonds, which is at most 2·maxReach
)

// crowd anneals 64 states of a model whose weights are small multiples of a unit. A bond of k units
// counts as k bonds. Each word holds the levels of one site in all states. Bitwise adders count the
// satisfied bonds of a site in all states at once. The site flips in the states where the count is
// at most a threshold. Two thresholds are drawn per site, and a random word selects one of them for
// each state. Each state by itself makes Metropolis updates, and equal states diverge.
type crowd struct {
	most int // largest number of bonds of a site
	// Indices in x of the neighbours of each site i: near[start[2i]:start[2i+1]] count as one bond
	// each, near[start[2i+1]:start[2i+2]] as two. A field counts as several bonds to a constant.
	start, near []int32
	half        float64 // half the unit
	// levels of all sites, then their complements, then the words of 0 and of 1
	x []uint64
}

// newCrowd returns an empty crowd. It returns nil if fields are not multiples of the greatest common
// divisor of the weights, which is the unit, or if sites have too many bonds on average.
func newCrowd[T number](g *system[T]) *crowd {
	h, integers := any(g).(*system[int32])
	if !integers || len(h.adj) == 0 || h.reach == 0 {
		return nil
	}
	divisor := int64(0)
	for _, a := range h.adj {
		divisor = gcd(divisor, int64(a.w))
	}
	if divisor == 0 {
		return nil
	}
	n, unit := h.sites(), int32(divisor)
	c := &crowd{start: make([]int32, 1, 2*n+1), half: float64(unit) / 2}
	var twos []int32
	for i, f := range h.field {
		sum, first := 2*f, len(c.near)
		twos = twos[:0]
		for _, a := range h.row(i) {
			sum += a.w
			to := a.to
			if a.w < 0 {
				to += int32(n)
			}
			count := max(a.w, -a.w) / unit
			if count&1 == 1 {
				c.near = append(c.near, to)
			}
			for range count / 2 {
				twos = append(twos, to)
			}
		}
		constant := int32(2 * n)
		if sum > 0 {
			constant++
		}
		if sum = max(sum, -sum); sum%unit != 0 {
			return nil
		}
		sum /= unit
		if sum&1 == 1 {
			c.near = append(c.near, constant)
		}
		for range sum / 2 {
			twos = append(twos, constant)
		}
		c.most = max(c.most, len(c.near)-first+2*len(twos))
		c.start = append(c.start, int32(len(c.near)))
		c.near = append(c.near, twos...)
		if c.start = append(c.start, int32(len(c.near))); len(c.near) > crowdDegree*n {
			return nil
		}
	}
	return c
}

// empty returns a crowd of the same model with its own states, or nil if c is nil.
func (c *crowd) empty() *crowd {
	if c == nil {
		return nil
	}
	own, n := *c, c.sites()
	own.x = make([]uint64, 2*n+2)
	own.x[2*n+1] = 1<<crowdMembers - 1
	return &own
}

func (c *crowd) sites() int { return len(c.start) / 2 }

// set sets the levels of all members to s.
func (c *crowd) set(s []int32) {
	for i, v := range s {
		c.put(i, -uint64(v))
	}
}

func (c *crowd) put(i int, v uint64) { c.x[i], c.x[c.sites()+i] = v, ^v }

// member sets s to the levels of member m.
func (c *crowd) member(s []int32, m int) {
	for i := range s {
		s[i] = int32(c.x[i] >> m & 1)
	}
}

// fields reads or writes the states of all members.
func (c *crowd) fields(f *wire.Fields) {
	n := c.sites()
	f.Uint64s(c.x[:n])
	for i, v := range c.x[:n] {
		c.put(i, v)
	}
}

// sweep updates the sites lo … hi−1 in turn, in all states. table[k] is the probability of
// accepting a loss of k half weights, in units of 2⁻³².
func (c *crowd) sweep(lo, hi int, table []uint32, r *words) {
	n, x := c.sites(), c.x
	for i := lo; i < hi; i++ {
		near, pairs := c.near[c.start[2*i]:c.start[2*i+1]], c.near[c.start[2*i+1]:c.start[2*i+2]]
		degree, own := len(near)+2*len(pairs), x[i]
		var ones, twos, fours uint64
		var high [crowdPlanes - 3]uint64 // digits of the count from eights on
		for ; len(near) >= 8; near = near[8:] {
			var a, b, f, g, e uint64
			ones, a = add(ones, own^x[near[0]], own^x[near[1]])
			ones, b = add(ones, own^x[near[2]], own^x[near[3]])
			twos, f = add(twos, a, b)
			ones, a = add(ones, own^x[near[4]], own^x[near[5]])
			ones, b = add(ones, own^x[near[6]], own^x[near[7]])
			twos, g = add(twos, a, b)
			fours, e = add(fours, f, g)
			raise(&high, e)
		}
		var four, eight uint64
		if len(near) >= 4 {
			var a, b uint64
			ones, a = add(ones, own^x[near[0]], own^x[near[1]])
			ones, b = add(ones, own^x[near[2]], own^x[near[3]])
			twos, four = add(twos, a, b)
			near = near[4:]
		}
		if len(near) >= 2 {
			var a uint64
			ones, a = add(ones, own^x[near[0]], own^x[near[1]])
			carry := twos & a
			twos ^= a
			fours, eight = add(fours, four, carry)
			four = 0
			near = near[2:]
		}
		if len(near) == 1 {
			a := own ^ x[near[0]]
			carry := ones & a
			ones ^= a
			twos, carry = twos^carry, twos&carry
			var e uint64
			fours, e = add(fours, four, carry)
			eight |= e
			four = 0
		}
		if four != 0 {
			fours, four = fours^four, fours&four
			eight |= four
		}
		raise(&high, eight)
		for len(pairs) > 0 {
			a, b := own^x[pairs[0]], uint64(0)
			if pairs = pairs[1:]; len(pairs) > 0 {
				b = own ^ x[pairs[0]]
				pairs = pairs[1:]
			}
			var e uint64
			twos, e = add(twos, a, b)
			fours, e = fours^e, fours&e
			raise(&high, e)
		}
		a, b := loss(table, r.next()), loss(table, r.next())
		flip := within(degree, a, ones, twos, fours, &high)
		if a != b {
			mask := uint64(r.next())<<32 | uint64(r.next())
			flip = flip&mask | within(degree, b, ones, twos, fours, &high)&^mask
		}
		own ^= flip
		x[i], x[n+i] = own, ^own
	}
}

// raise adds the bits of a carry to the numbers of which high holds the binary digits.
func raise(high *[crowdPlanes - 3]uint64, carry uint64) {
	for k := 0; carry != 0; k++ {
		high[k], carry = high[k]^carry, high[k]&carry
	}
}

// add adds three bits at each of 64 positions.
func add(a, b, c uint64) (sum, carry uint64) {
	t := a ^ b
	return t ^ c, a&b | t&c
}

// loss returns the largest loss, in half weights, that is accepted if the random number is u.
func loss(table []uint32, u uint32) (l int) {
	for l+1 < len(table) && u < table[l+1] {
		l++
	}
	return l
}

// within returns a word whose bits are 1 where a count is at most half of degree + l. The words
// ones, twos, fours and high hold the binary digits of the counts.
func within(degree, l int, ones, twos, fours uint64, high *[crowdPlanes - 3]uint64) uint64 {
	if l >= degree {
		return 1<<crowdMembers - 1
	}
	bound := uint64(degree+l) / 2
	below := least(ones, 1<<crowdMembers-1, bound)
	below = least(twos, below, bound>>1)
	below = least(fours, below, bound>>2)
	for k := range bits.Len(uint(degree)) - 3 {
		below = least(high[k], below, bound>>(3+k))
	}
	return below
}

// least is one step of comparing binary numbers with a bound, from the lowest digit up. The word
// below holds the result for the lower digits, and the word digit holds the next digit of the
// numbers. The lowest bit of the argument bound is the next digit of the bound. It returns a word
// with 1 at the positions of numbers that are at most the bound.
func least(digit, below, bound uint64) uint64 {
	one := -(bound & 1)
	return ^digit&(below|one) | below&one
}
