package mcmc

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// memoGibbs is the kernel of [Gibbs] for models of two levels on sparse graphs with
// couplings or fields of their own everywhere. Its draws are those of the plain
// kernel.
type memoGibbs struct {
	sitewise // energies alone
	memo     *memo
	order    []int32
}

var (
	_ sampler.Costed    = (*memoGibbs)(nil)
	_ sampler.Exchanger = (*memoGibbs)(nil)
)

// Reset implements [sampler.Transition].
func (k *memoGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.memo.forget()
	return k.locals.Reset(ctl, x)
}

// Step implements [sampler.Transition]. It asks whether to stop about every millisecond.
func (k *memoGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.step(ctl, k, info, x, r, k.sites)
}

// walk implements walker.
func (k *memoGibbs) walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	told := &k.at.told[s]
	told.Accept = 1
	for made < n && told.Err == nil && !k.at.stopped {
		from := k.at.update + made
		sites := k.order[from:min(from+min(n-made, chunk), len(k.order))]
		u := k.memo.u[:len(sites)]
		r[s].Float64s(u)
		moved, rise, dead := k.memo.draw(sites, x, u)
		told.Moved += moved
		k.e[s] += rise
		if dead >= 0 {
			told.Err = fmt.Errorf("site %d: %w", dead, sampler.ErrNaN)
		}
		made += len(sites)
		k.at.done(len(sites) * siteWork)
	}
	return made
}

// UnmarshalBinary implements [sampler.Transition].
func (k *memoGibbs) UnmarshalBinary(b []byte) error { return k.restore(b, k.sites) }
