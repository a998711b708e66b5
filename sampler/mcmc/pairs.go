package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// pairs is the base of kernels that change two sites at a time within a language. It finds the
// changes that stay in the language, and their exact energies.
type pairs struct {
	inLanguage
	node []int     // trellis node before each site of the current chain
	d    []float64 // energies of the joint levels of two sites
	row  []float64 // copy of a cached row
	y    []int32   // scratch for one state
	one  []float64 // energy of y
	work int       // work of examining one change of two sites
	long bool      // an update takes so long that it can be stopped between two changes
}

func newPairs(m energy.Model, chains, updates int, within *support) *pairs {
	sites, levels := m.Shape()
	k := padded.New(pairs{
		inLanguage: inLanguage{sweep.NewLocals(m, chains, updates), within}, node: padded.Make[int](sites + 1),
		d: padded.Make[float64](levels * levels), row: padded.Make[float64](levels),
		y: padded.Make[int32](sites), one: padded.Make[float64](1),
	})
	k.work = k.RowWork()
	if within != nil && within.count == nil {
		k.work += sites // length of a path at worst
	}
	k.long = k.work*levels*levels >= sweep.PollWork/longShare
	return k
}

// longShare decides whether an update can be stopped in the middle. It can if it may take more
// than 1/longShare of the time between two checks for a stop.
const longShare = 64

// begin prepares for changes of the state x: it stores the trellis nodes along x.
func (k *pairs) begin(x []int32) {
	if k.within != nil {
		k.within.follow(k.node, x)
	}
}

// pick draws two different sites i < j, every pair equally likely.
func (k *pairs) pick(r *sampler.Stream) (i, j int) {
	i, j = r.IntN(k.Sites), r.IntN(k.Sites-1)
	if j >= i {
		return i, j + 1
	}
	return j, i
}

// allowed reports whether x with x_i = a and x_j = b is in the language.
func (k *pairs) allowed(i, j int, a, b int32, x []int32) bool {
	return k.onward(k.through(i, j, a, x), j, b, x)
}

// through returns the trellis node before site j for x with x_i = a, or 0 without a language.
func (k *pairs) through(i, j int, a int32, x []int32) int {
	if k.within == nil {
		return 0
	}
	return k.within.through(i, j, a, k.node, x)
}

// onward reports whether x with x_j = b is accepted when it continues before site j from a given
// trellis node.
func (k *pairs) onward(at, j int, b int32, x []int32) bool {
	return k.within == nil || k.within.completes(at, j, b, k.node, x)
}

// joint stores in d[a·levels+b] the energy of chain s at state x with x_i = a and x_j = b, or
// +Inf if that state is not in the language. It returns early if the update is stopped.
func (k *pairs) joint(s, i, j int, x []int32) []float64 {
	for a := range k.Levels {
		d := k.d[a*k.Levels : (a+1)*k.Levels]
		at, any := k.through(i, j, int32(a), x), false
		for b := range d {
			if k.ends() {
				return k.d
			}
			d[b] = math.Inf(1)
			if k.onward(at, j, int32(b), x) {
				d[b], any = 0, true
			}
		}
		if any {
			k.fill(d, s, i, j, int32(a), x)
		}
		if k.ends() {
			break
		}
	}
	return k.d
}

// ends counts the work of examining one change and reports whether the update stops here. An
// update that was already stopped once is not stopped again.
func (k *pairs) ends() bool { return k.long && k.At.Done(k.work) && k.At.Part == 0 }

// fill replaces the zeros in d by energies: entry b becomes the energy of x with x_i = a and x_j
// = b.
func (k *pairs) fill(d []float64, s, i, j int, a int32, x []int32) {
	rise, ok := k.rise(s, i, a, x)
	if !ok {
		for b := range d {
			if d[b] == 0 {
				d[b] = k.whole(i, j, a, int32(b), x)
				if k.long && k.At.Done(k.Sites) && k.At.Part == 0 {
					return
				}
			}
		}
		return
	}
	was := x[i]
	k.put(s, i, a, x)
	row := k.Locals.Row(s, j, x)
	for b := range d {
		if d[b] == 0 {
			d[b] = (k.E[s] + rise) + (row[b] - row[x[j]])
		}
	}
	k.put(s, i, was, x)
}

// energy returns the energy of chain s at x with x_i = a and x_j = b, from the cache if possible.
func (k *pairs) energy(s, i, j int, a, b int32, x []int32) float64 {
	rise, ok := k.rise(s, i, a, x)
	if !ok {
		return k.whole(i, j, a, b, x)
	}
	was := x[i]
	k.put(s, i, a, x)
	row := k.Locals.Row(s, j, x)
	e := (k.E[s] + rise) + (row[b] - row[x[j]])
	k.put(s, i, was, x)
	return e
}

// rise returns the change of the energy when x_i becomes a, read from the cache. It returns ok =
// false if there is no cache, or if the cached difference is not finite, for instance at a state of
// probability zero.
func (k *pairs) rise(s, i int, a int32, x []int32) (v float64, ok bool) {
	if k.Local == nil {
		return 0, false
	}
	row := k.Locals.Row(s, i, x)
	v = row[a] - row[x[i]]
	return v, !math.IsInf(v, 0) && !math.IsNaN(v)
}

// whole evaluates the model at x with x_i = a and x_j = b and returns the energy.
func (k *pairs) whole(i, j int, a, b int32, x []int32) float64 {
	copy(k.y, x)
	k.y[i], k.y[j] = a, b
	k.Model.Energy(k.one, k.y)
	return k.one[0]
}

// put sets x_i = a and updates the cached differences of chain s, but not its energy.
func (k *pairs) put(s, i int, a int32, x []int32) {
	if x[i] == a {
		return
	}
	if k.Local != nil {
		k.Local.Move(k.Chain(s), i, a, x)
	}
	x[i] = a
}

// settle moves chain s to the state with x_i = a, x_j = b and energy e, and returns the number of
// sites that changed.
func (k *pairs) settle(s, i, j int, a, b int32, e float64, x []int32) (moved int) {
	if x[i] != a {
		moved++
	}
	if x[j] != b {
		moved++
	}
	if moved == 0 {
		return 0
	}
	wasA, wasB := x[i], x[j]
	k.put(s, i, a, x)
	k.put(s, j, b, x)
	k.E[s] = e
	if k.within != nil {
		k.within.refollow(k.node, i, j, wasA, wasB, x)
	}
	return moved
}

// joins returns the cost, in nanoseconds, of trying one level of the first of two sites. It
// covers updating the table and restoring it, and a path through the language.
func (k *pairs) joins() float64 {
	join := k.Price.Of(k.Model).Move
	if k.within != nil && k.within.count == nil {
		join += float64(trellisCost * float64(k.Sites) / 2)
	}
	return join
}
