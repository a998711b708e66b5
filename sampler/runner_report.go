package sampler

import "fmt"

// Err returns the error of the last Run or Draws, nil if it ran to its end.
func (c *Runner[S]) Err() error { return c.err }

// States returns the current states, chains × sites. The slice is the runner's
// own: later runs overwrite it. After writing to it, call Reset.
func (c *Runner[S]) States() []S { return c.x }

// Energy stores the energies of the states x, as the chains' target has them now:
// e has one entry per state.
func (c *Runner[S]) Energy(e []float64, x []S) { c.system.Energy(e, x) }

// Info returns what the kernels reported of each chain's last step. The slice is
// the runner's own. A checkpoint does not keep it: after a Load it is that of the states
// until the next step, without moves.
func (c *Runner[S]) Info() []Info { return c.info }

// Len returns the number of draws made.
func (c *Runner[S]) Len() int { return c.kept }

// Kernels returns the kernels, one per block of consecutive chains, see
// [Config.Block], to ask them what they know. They are the runner's own.
func (c *Runner[S]) Kernels() []Transition[S] {
	kernels := make([]Transition[S], len(c.blocks))
	for i := range c.blocks {
		kernels[i] = c.blocks[i].kernel
	}
	return kernels
}

// StepSizes returns the step size of each block's kernel, nil if it has none.
func (c *Runner[S]) StepSizes() []float64 {
	var sizes []float64
	for i := range c.blocks {
		if k, ok := As[Tuned](c.blocks[i].kernel); ok && k.StepSize() > 0 {
			sizes = append(sizes, k.StepSize())
		}
	}
	return sizes
}

// Warnings returns what kernels say about their own settings, such as a step size
// that warm-up took to its bound: each sentence once, with the first of the chains
// that it is about and their number; nil if there is nothing to say.
func (c *Runner[S]) Warnings() []string {
	var sentences []string
	first, chains := map[string]int{}, map[string]int{}
	for i, kernel := range c.Kernels() {
		k, ok := As[Warner](kernel)
		if !ok || k.Warning() == "" {
			continue
		}
		w := k.Warning()
		if chains[w] == 0 {
			first[w] = c.cfg.First + c.blocks[i].first
			sentences = append(sentences, w)
		}
		chains[w] += c.blocks[i].chains
	}
	for i, w := range sentences {
		sentences[i] = fmt.Sprintf("chain %d, %d in all: %s", first[w], chains[w], w)
	}
	return sentences
}

// Stats returns the statistics of all chains since warm-up, the last one; across a
// Retarget they go on.
func (c *Runner[S]) Stats() Stats {
	var t Stats
	for i := range c.blocks {
		s := &c.blocks[i].stats
		t.Steps = plus(t.Steps, s.Steps)
		t.Accept += s.Accept
		t.Moved += s.Moved
		t.Invalid = plus(t.Invalid, s.Invalid)
	}
	if t.Steps > 0 {
		t.Accept /= float64(t.Steps)
		t.Moved /= float64(t.Steps)
	}
	return t
}
