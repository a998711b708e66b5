package ground

import (
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

const (
	crowdMembers = 64 // states of a crowd: the bits of a word
	crowdDegree  = 64 // mean number of neighbours up to which counting them all is worth it
	crowdSweeps  = 32 // a crowd makes so many sweeps for one of a single state: members are looked at one by one afterwards
	crowdWork    = 8  // of a site of a crowd, that of an update being 1
	crowdPlanes  = 13 // digits of a number of bonds, at most maxReach
)

// crowd anneals 64 states of a model whose weights all have one magnitude. A word holds a site
// of all states. The satisfied bonds of a site are counted by adders of bits, 64 counts at a
// time, and the site flips where the count is at most a threshold. Two thresholds are drawn for
// a site, and a random word chooses which of the two each state takes: a state by itself makes
// Metropolis updates, and states that are equal do not stay so.
type crowd struct {
	most        int      // neighbours
	start, near []int32  // places in x of the neighbours of each site; a field is some bonds to a constant
	half        float64  // half the magnitude of weights
	x           []uint64 // levels of all sites, their complements, 0 and its complement
}

// newCrowd returns nil if weights have several magnitudes, fields are no multiples of them, or
// sites have many neighbours.
func newCrowd[T number](g *system[T]) *crowd {
	h, integers := any(g).(*system[int32])
	if !integers || len(h.adj) == 0 || h.reach == 0 {
		return nil
	}
	n, unit := h.sites(), max(h.adj[0].w, -h.adj[0].w)
	c := &crowd{start: make([]int32, 1, n+1), half: float64(unit) / 2}
	for i, f := range h.field {
		sum := 2 * f
		for _, a := range h.row(i) {
			if a.w != unit && a.w != -unit {
				return nil
			}
			sum += a.w
			to := a.to
			if a.w < 0 {
				to += int32(n)
			}
			c.near = append(c.near, to)
		}
		constant := int32(2 * n)
		if sum > 0 {
			constant++
		}
		if sum = max(sum, -sum); sum%unit != 0 {
			return nil
		}
		for range sum / unit {
			c.near = append(c.near, constant)
		}
		c.most = max(c.most, len(c.near)-int(c.start[i]))
		if c.start = append(c.start, int32(len(c.near))); len(c.near) > crowdDegree*n {
			return nil
		}
	}
	return c
}

// empty returns a crowd of the same model with states of its own, nil for nil.
func (c *crowd) empty() *crowd {
	if c == nil {
		return nil
	}
	own, n := *c, c.sites()
	own.x = make([]uint64, 2*n+2)
	own.x[2*n+1] = 1<<crowdMembers - 1
	return &own
}

func (c *crowd) sites() int { return len(c.start) - 1 }

// set makes the levels of all members s.
func (c *crowd) set(s []int32) {
	for i, v := range s {
		c.put(i, -uint64(v))
	}
}

func (c *crowd) put(i int, v uint64) { c.x[i], c.x[c.sites()+i] = v, ^v }

// member stores the levels of a member in s.
func (c *crowd) member(s []int32, m int) {
	for i := range s {
		s[i] = int32(c.x[i] >> m & 1)
	}
}

// fields goes through what a checkpoint has.
func (c *crowd) fields(f *wire.Fields) {
	n := c.sites()
	f.Uint64s(c.x[:n])
	for i, v := range c.x[:n] {
		c.put(i, v)
	}
}

// sweep makes an update of the sites lo … hi−1 in turn in all states; table[k] is the
// probability of accepting a loss of k half weights, in units of 2⁻³².
func (c *crowd) sweep(lo, hi int, table []uint32, r *words) {
	n, x := c.sites(), c.x
	for i := lo; i < hi; i++ {
		near := c.near[c.start[i]:c.start[i+1]]
		degree, own := len(near), x[i]
		var ones, twos, fours uint64
		var high [crowdPlanes - 3]uint64 // eights, …
		for ; len(near) >= 8; near = near[8:] {
			var a, b, f, g, e uint64
			ones, a = add(ones, own^x[near[0]], own^x[near[1]])
			ones, b = add(ones, own^x[near[2]], own^x[near[3]])
			twos, f = add(twos, a, b)
			ones, a = add(ones, own^x[near[4]], own^x[near[5]])
			ones, b = add(ones, own^x[near[6]], own^x[near[7]])
			twos, g = add(twos, a, b)
			fours, e = add(fours, f, g)
			for k := 0; e != 0; k++ {
				high[k], e = high[k]^e, high[k]&e
			}
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
		for k := 0; eight != 0; k++ {
			high[k], eight = high[k]^eight, high[k]&eight
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

// add adds three bits in each place.
func add(a, b, c uint64) (sum, carry uint64) {
	t := a ^ b
	return t ^ c, a&b | t&c
}

// loss returns the largest loss that is accepted where the random number is u.
func loss(table []uint32, u uint32) (l int) {
	for l+1 < len(table) && u < table[l+1] {
		l++
	}
	return l
}

// within returns where a count is at most half of degree + l.
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

// least returns where numbers whose lowest digits compare as below says, and whose next digit is
// digit, are at most one whose next digit is the lowest of bound.
func least(digit, below, bound uint64) uint64 {
	one := -(bound & 1)
	return ^digit&(below|one) | below&one
}
