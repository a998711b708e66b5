package simd

// Changes is what a sweep over one colour of a lattice changed. Sites of one
// colour are not neighbours, so Pairs is exactly the change of Σ x_i x_j over
// the bonds, and Up that of Σ x_i.
type Changes struct {
	Moved, Pairs, Up int
}

// site redraws one site with k neighbours in state 1.
func (c *Changes) site(table *[8]int32, x *int32, k int32, bits uint32) {
	y := int32(0)
	if int32(bits>>1) < table[k&7] {
		y = 1
	}
	if d := y - *x; d != 0 {
		c.Moved++
		c.Pairs += int(d * k)
		c.Up += int(d)
		*x = y
	}
}
