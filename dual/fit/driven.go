package fit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Persistent estimates the moments of the model by chains that continue from step to step while the
// parameters move. This is stochastic maximum likelihood (Younes 1989), also called persistent
// contrastive divergence (Tieleman 2008). With a decreasing rate the fit converges to maximum
// likelihood. The zero value makes one draw per chain and step, and starts the chains at rows of
// the data.
type Persistent struct {
	Draws int  // number of draws that each chain makes in a step of the fit; 0 means 1
	Cold  bool // whether the chains start from their present states instead of from rows of data

	// Buffer, if positive, is the number of states in a replay buffer. There must be at least one
	// per chain. In every step, each chain starts from a random state of the buffer, and its new
	// state then replaces that state (Du and Mordatch 2019).
	Buffer int

	// Restart is the probability, 0 … 1, that a chain begins a step at a row of the data
	// instead of its own state. It introduces a bias but helps with models that mix poorly.
	Restart float64
}

// Contrastive estimates the moments of the model by short chains (contrastive divergence, Hinton
// 2002). In every step, the chains begin at the rows of the batch and make a few draws. The
// estimate has little noise. Its bias vanishes as the number of draws grows. The zero value makes
// one draw.
type Contrastive struct {
	Draws int // number of draws that each chain makes in a step of the fit; 0 means 1
}

// Name returns the name by which checkpoints identify the objective.
func (Persistent) Name() string { return "persistent" }

// Name returns the name by which checkpoints identify the objective.
func (Contrastive) Name() string { return "contrastive" }

// Bind returns the [Phase] that computes gradients for the model p and its data; it implements
// [Objective].
func (o Persistent) Bind(_ context.Context, p energy.Parametric, data []int32, chains dual.Primal[int32]) (Phase, error) {
	if !(o.Restart >= 0 && o.Restart <= 1) {
		return nil, fmt.Errorf("fit: Persistent: Restart = %v, want 0 … 1", o.Restart)
	}
	d, err := newDriven("Persistent", p, data, chains, o.Draws)
	if err != nil {
		return nil, err
	}
	if n := len(chains.States()) / d.sites; o.Buffer != 0 && o.Buffer < n {
		return nil, fmt.Errorf("fit: Persistent: Buffer = %d, want ≥ %d (one state per chain) or 0", o.Buffer, n)
	}
	if err := check.Entries("fit: Persistent", "Buffer × sites", o.Buffer, d.sites); err != nil {
		return nil, err
	}
	d.cold, d.restart = o.Cold, o.Restart
	d.buffer = make([]int32, o.Buffer*d.sites)
	d.slots = make([]int, len(chains.States())/d.sites)
	return d, nil
}

// Bind returns the [Phase] that computes gradients for the model p and its data; it implements
// [Objective].
func (o Contrastive) Bind(_ context.Context, p energy.Parametric, data []int32, chains dual.Primal[int32]) (Phase, error) {
	d, err := newDriven("Contrastive", p, data, chains, o.Draws)
	if err != nil {
		return nil, err
	}
	d.fresh = true
	return d, nil
}

// driven is the [Phase] of objectives that run chains.
type driven struct {
	p      energy.Parametric
	data   *moments
	rows   []int32 // all rows of data
	chains dual.Primal[int32]
	sites  int
	draws  int

	fresh   bool // every step begins at rows of the batch
	cold    bool
	restart float64
	buffer  []int32 // states of the replay buffer; empty if there is none
	slots   []int   // for each chain: index of its state in buffer

	open bool // whether a step is in progress, with its initial states set
	due  int  // total draws per chain that the chains must have made at the end of the step
	next []int32
}

func newDriven(name string, p energy.Parametric, data []int32, chains dual.Primal[int32], draws int) (*driven, error) {
	if err := check.Given("fit: "+name, "p", p); err != nil {
		return nil, err
	}
	if draws < 0 {
		return nil, fmt.Errorf("fit: %s: Draws = %d, want ≥ 0", name, draws)
	}
	if check.Nil(chains) {
		return nil, fmt.Errorf("fit: %s: Config.Chains = nil, want chains on the model", name)
	}
	d := &driven{p: p, data: newMoments(p, data), rows: data, chains: chains, draws: max(draws, 1)}
	d.sites, _ = p.Shape()
	if n := len(chains.States()); n == 0 || n%d.sites != 0 {
		return nil, fmt.Errorf("fit: %s: the chains have %d entries of states, want a positive multiple of %d", name, n, d.sites)
	}
	d.next = make([]int32, len(chains.States()))
	return d, nil
}

// Gradient adds to g the gradient of the mean loss of the rows. It implements [Phase].
func (d *driven) Gradient(ctx context.Context, g []float64, rows []int32, step int, seed uint64) error {
	c, counts := d.chains.(dual.Counter)
	if !d.open {
		if err := d.begin(rows, step, seed); err != nil {
			return err
		}
		d.open = true
		if counts {
			d.due = c.Len() + d.draws
		}
	}
	n := d.draws
	if counts {
		n = d.due - c.Len()
	}
	if err := d.chains.Run(ctx, n); err != nil {
		return err
	}
	d.open = false
	x := d.chains.States()
	for k, b := range d.slots {
		if len(d.buffer) > 0 {
			copy(d.buffer[b*d.sites:(b+1)*d.sites], x[k*d.sites:])
		}
	}
	d.data.mean(g, x, -1)
	d.data.add(g, rows)
	return nil
}

// begin sets the initial states of the chains for a step.
func (d *driven) begin(rows []int32, step int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, uint64(step)<<1|1))
	row := func(from []int32) []int32 {
		k := r.IntN(len(from) / d.sites)
		return from[k*d.sites : (k+1)*d.sites]
	}
	first := step == 0 && !d.fresh && !d.cold
	if !d.fresh && !first && len(d.buffer) == 0 && d.restart == 0 {
		return d.chains.Reset()
	}
	copy(d.next, d.chains.States())
	if len(d.buffer) > 0 {
		if step == 0 {
			for at := 0; at < len(d.buffer); at += d.sites {
				copy(d.buffer[at:], row(d.rows))
			}
			if d.cold {
				for at := 0; at < len(d.buffer); at += len(d.next) {
					copy(d.buffer[at:], d.next)
				}
			}
		}
		copy(d.slots, r.Perm(len(d.buffer) / d.sites)[:len(d.slots)])
	}
	for k := 0; k*d.sites < len(d.next); k++ {
		to := d.next[k*d.sites : (k+1)*d.sites]
		switch {
		case d.fresh && len(rows) == len(d.next):
			copy(to, rows[k*d.sites:])
		case d.fresh:
			copy(to, row(rows))
		case first && len(d.buffer) == 0, d.restart > 0 && r.Float64() < d.restart:
			copy(to, row(d.rows))
		case len(d.buffer) > 0:
			copy(to, d.buffer[d.slots[k]*d.sites:(d.slots[k]+1)*d.sites])
		}
	}
	return d.chains.SetStates(d.next)
}

// Settle resets the chains to the new parameters, unless a step was interrupted; it implements
// [Phase].
func (d *driven) Settle() error {
	if d.open {
		return nil // the chains are in the middle of a step
	}
	return d.chains.Reset()
}

// fields reads or writes the state that is kept between steps.
func (d *driven) fields(f *wire.Fields) {
	f.Bool("a step in progress", &d.open)
	f.Counts("a count of draws", &d.due)
	for k := range d.slots {
		f.Int("a place in the buffer", &d.slots[k], 0, max(0, len(d.buffer)/d.sites-1))
	}
	_, levels := d.p.Shape()
	f.Tokens(d.buffer, levels)
}

// AppendBinary appends to b the state that the phase keeps between steps; it implements [Phase].
func (d *driven) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, d.fields) }

// UnmarshalBinary restores the state kept between steps; it implements [Phase].
func (d *driven) UnmarshalBinary(b []byte) error {
	next := *d
	next.buffer, next.slots = slices.Clone(d.buffer), slices.Clone(d.slots)
	if err := wire.ReadFields(b, next.fields); err != nil {
		return err
	}
	*d = next
	return nil
}
