package sweep

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Locals is the base of kernels that move one chain after the other, by small updates such as a
// change of one site. It holds the energy of every chain and keeps it up to date. Kernels that
// change one site at a time also get exact single-site energies: for a site, the energies of all
// its levels. These are cached if the model is energy.Local. Locals provides the methods Reset,
// AppendBinary and UnmarshalBinary of [sampler.Transition].
type Locals struct {
	Model energy.Model
	// the model, whose methods update the cache; nil if the model is not energy.Local
	Local         energy.Local
	conditional   energy.Conditional
	Sites, Levels int
	E             []float64 // energy of each chain
	// states of all chains: the slice passed to the last step or the last call of Hold; nil after a
	// Reset
	X []int32
	// cached single-site energies, chains × sites × levels, or one row if Local is nil
	d       []float64
	Age     int       // number of steps since the cache was last recomputed
	Updates int       // number of updates per chain and step
	At      Cursor    // position in a step that was stopped
	Price   cost.Memo // estimated cost of evaluations of the model, for a kernel's method Cost
}

// updateWork is the number of elementary operations per level in an update of one site.
const updateWork = 64

// refreshEvery is the number of steps after which caches are recomputed. Each step adds a
// relative rounding error of about 1e−16 to a difference.
const refreshEvery = 512

// NewLocals returns a Locals with single-site energies for the given number of chains. Each chain
// makes the given number of updates per step.
func NewLocals(m energy.Model, chains, updates int) *Locals {
	sites, levels := m.Shape()
	c := padded.New(Locals{Model: m, Updates: updates, Sites: sites, Levels: levels, E: padded.Make[float64](chains), At: NewCursor(chains)})
	if l, ok := energy.As[energy.Local](m); ok {
		c.Local = l
		Prepare(m)
		c.d = make([]float64, chains*sites*levels)
		return c
	}
	c.conditional = energy.Conditionals(m)
	c.d = make([]float64, levels)
	return c
}

// NewEnergies returns a Locals with the energies of the chains only, without single-site energies.
func NewEnergies(m energy.Model, chains, updates int) *Locals {
	sites, levels := m.Shape()
	return padded.New(Locals{Model: m, Updates: updates, Sites: sites, Levels: levels, E: padded.Make[float64](chains), At: NewCursor(chains)})
}

// Reset computes the energies of the states x and fills the caches. It implements [sampler.Transition].
func (c *Locals) Reset(ctl sampler.Control, x []int32) error {
	c.Age, c.X = 0, nil
	return c.At.Renew(ctl.Stop, 1, c.Sites*c.Levels, func(_, lo, hi int) (bool, error) { return true, c.Compute(lo, hi, x) })
}

// Compute computes the energies of the chains lo, …, hi−1 from their states in x, and fills their
// caches.
func (c *Locals) Compute(lo, hi int, x []int32) error {
	c.Model.Energy(c.E[lo:hi], x[lo*c.Sites:hi*c.Sites])
	if err := CheckStart(c.E, lo, hi); err != nil {
		return err
	}
	if c.Local != nil {
		for s := lo; s < hi; s++ {
			c.Local.Locals(c.Chain(s), x[s*c.Sites:(s+1)*c.Sites])
		}
	}
	return nil
}

// Walker is a kernel that makes a step by updating one chain after the other.
type Walker interface {
	// Walk makes the next n updates of chain s, whose state is x. It returns the number of updates
	// made, which is smaller than n if Walk is stopped.
	Walk(n, s int, x []int32, r []sampler.Stream) (made int)
}

// Make makes a step of every chain, with c.Updates updates per chain. Every 512 steps it recomputes
// the caches before the step. It returns the number of steps completed: 1, or 0 if the step was
// stopped before its end.
func (c *Locals) Make(ctl sampler.Control, k Walker, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	c.X = x
	c.At.Begin(ctl.Stop)
	for ; c.At.Chain < len(info); c.At.Next() {
		s := c.At.Chain
		if c.At.Update == 0 && c.Age >= refreshEvery {
			_ = c.Compute(s, s+1, x) // an error shows in the energy of this step
			c.At.Work += c.Sites * c.Levels
		}
		for c.At.Update < c.Updates && c.At.Info[s].Err == nil {
			c.At.Update += k.Walk(c.Updates-c.At.Update, s, x[s*c.Sites:(s+1)*c.Sites], r)
			if c.At.Stopped {
				return 0
			}
		}
		c.At.Info[s].Energy = c.E[s]
	}
	c.At.Finish(info)
	if c.Age >= refreshEvery {
		c.Age = 0
	}
	c.Age++
	return 1
}

// State returns the part of X that holds the state of chain s.
func (c *Locals) State(s int) []int32 { return c.X[s*c.Sites : (s+1)*c.Sites] }

// Swap exchanges the states of chain s in X and in o.X. If moved is not nil, Swap adds to moved[s]
// the number of sites at which the two states differ.
func (c *Locals) Swap(o *Locals, s int, moved []int) { swap(c.State(s), o.State(s), s, moved) }

// swap exchanges two states of chain s. If moved is not nil, it adds to moved[s] the number of sites
// at which they differ.
func swap(a, b []int32, s int, moved []int) {
	if moved != nil {
		moved[s] += Changed(a, b)
	}
	Exchange(a, b)
}

// Store copies the second slice to the first, unless both are the same slice.
func Store(x, states []int32) {
	if len(states) > 0 && &x[0] != &states[0] {
		copy(x, states)
	}
}

// MeanAccept divides the sums of acceptance probabilities in info by the number of updates, which
// makes them means. It does nothing if done is 0, that is, if the step is not complete.
func MeanAccept(info []sampler.Info, done, updates int) {
	if done == 0 {
		return
	}
	for s := range info {
		info[s].Accept /= float64(updates)
	}
}

// RowWork returns the estimated number of elementary operations in a call of [Locals.Row]. A change
// of one site takes the same number.
func (c *Locals) RowWork() int {
	if c.Local == nil {
		return c.Sites * c.Levels // as much as an energy, because nothing is known about the model
	}
	return updateWork * c.Levels
}

// Chain returns the cached single-site energies of chain s as an array of sites × levels.
func (c *Locals) Chain(s int) []float64 {
	n := c.Sites * c.Levels
	return c.d[s*n : (s+1)*n]
}

// Row returns the energies of all levels of one site of chain s, with the other sites as in the
// state x. A constant common to all levels is omitted. The slice is valid until the next call.
func (c *Locals) Row(s, site int, x []int32) []float64 {
	if c.Local != nil {
		at := (s*c.Sites + site) * c.Levels
		return c.d[at : at+c.Levels]
	}
	c.conditional.Conditional(c.d, site, x)
	return c.d
}

// move changes a site of x to a new level and updates the energy and the cache. The argument row is
// the result of Row for that site.
func (c *Locals) move(s, site int, to int32, x []int32, row []float64) {
	c.E[s] += row[to] - row[x[site]]
	if c.Local != nil {
		c.Local.Move(c.Chain(s), site, to, x)
	}
	x[site] = to
}

// AppendBinary appends the energies, the caches and the position within a step to b, for a
// checkpoint. It implements [sampler.Transition].
func (c *Locals) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, c.fields) }

// UnmarshalBinary restores what AppendBinary saved. It implements [sampler.Transition].
func (c *Locals) UnmarshalBinary(b []byte) error { return wire.ReadFields(b, c.fields) }

// fields reads or writes the age of the cache, the energies, the cache and the position of a
// step.
func (c *Locals) fields(f *wire.Fields) {
	age := []int32{int32(c.Age)}
	f.Int32s(age)
	c.Age = int(age[0])
	f.Float64s(c.E)
	if f.Reading() {
		c.X = nil
	}
	if c.Local != nil {
		f.Float64s(c.d)
	}
	c.At.Fields(f, c.Updates)
}

// Visits estimates the time of a step in nanoseconds (see sampler.Costed), from these arguments:
//
//   - updates: the number of visits to a site that each chain makes;
//   - rows: the number of rows computed in a visit, where a row holds the energies of all levels of
//     a site;
//   - each: the time for the rest of a visit;
//   - info: reports of the changes that the step made.
func (c *Locals) Visits(info []sampler.Info, updates, rows int, each float64) float64 {
	m := c.Price.Of(c.Model)
	visit := float64(float64(rows)*m.Row) + each
	return float64(float64(len(info))*(WholeCost+float64(float64(updates)*visit))) + float64(Moves(info)*m.Move)
}
