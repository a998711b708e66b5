package sampler

// Steps returns the number of steps that each block has made, for the tests.
func (c *Runner[S]) Steps() []int {
	steps := make([]int, len(c.blocks))
	for i := range c.blocks {
		steps[i] = c.blocks[i].steps
	}
	return steps
}
