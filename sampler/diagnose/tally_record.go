package diagnose

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Observe records the state x of a chain, given by its number in the run; it has the type
// [sampler.Observer]. Draws are numbered in the order of the calls; the argument draw is ignored.
// Calls for the same chain must not overlap; calls for different chains may.
//
// It panics if the chain is not in this part or has all its draws, or if t was not created by
// [NewTally].
func (t *Tally) Observe(chain, draw int, x []int32, info *sampler.Info) {
	u := t.next(chain)
	n := t.record.draws
	for i, f := range t.record.functions {
		u.values[i*n+u.draws] = f(x)
	}
	drawn(t, chain, x, info)
}

// next returns the record of the chain, with space for its next draw.
func (t *Tally) next(chain int) *underway {
	r := t.record
	if r == nil {
		panic("diagnose: Tally.Observe: the tally is not from NewTally")
	}
	if chain < r.first || chain >= r.first+len(r.chains) {
		panic(fmt.Sprintf("diagnose: Tally.Observe: chain = %d, want %d ≤ chain < %d", chain, r.first, r.first+len(r.chains)))
	}
	u := &r.chains[chain-r.first]
	if u.draws == r.draws {
		panic(fmt.Sprintf("diagnose: Tally.Observe: chain %d has %d draws, want no more: TallyConfig.Draws = %d", chain, u.draws, r.draws))
	}
	if u.draws == 0 {
		u.values = r.buffer(len(t.rows) * r.draws)
	}
	return u
}

// drawn counts the draw and adds the chain to the tally if that was its last.
func drawn[S energy.Site](t *Tally, chain int, x []S, info *sampler.Info) {
	u := &t.record.chains[chain-t.record.first]
	if info != nil {
		u.actions.add(info)
	}
	if u.draws++; u.draws == t.record.draws {
		t.finish(chain, digestOf(chain, u.values, x))
	}
}

func (t *Tally) finish(chain int, d digest) {
	r := t.record
	u := &r.chains[chain-r.first]
	all := make([]condensed, len(t.rows))
	logWeight := 0.0
	if t.run.logWeights {
		logWeight = u.values[0]
	}
	for i := range all {
		all[i] = condense(chain, u.values[i*r.draws:(i+1)*r.draws])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range all {
		t.rows[i].add(&all[i])
	}
	if t.run.logWeights {
		t.rows[0].weights.add(chain, logWeight)
	}
	r.free = append(r.free, u.values)
	u.values = nil
	t.moves.add(&u.actions)
	t.bits.add(d)
	t.done.add(span{chain, chain + 1})
	if r.nested > 1 {
		u.means = make([]float64, len(all))
		for i := range all {
			u.means[i] = all[i].mean
		}
		t.finishGroup((chain - r.first) / r.nested)
	}
}

// finishGroup adds a group of chains that began in the same state to the tally, if
// they are all finished.
func (t *Tally) finishGroup(group int) {
	r := t.record
	chains := r.chains[group*r.nested : (group+1)*r.nested]
	for i := range chains {
		if chains[i].means == nil {
			return
		}
	}
	means := make([]float64, r.nested)
	for f := range t.rows {
		for i := range chains {
			means[i] = chains[i].means[f]
		}
		t.rows[f].addGroup(means)
	}
	for i := range chains {
		chains[i].means = nil
	}
}

// recorder holds the draws of chains until the chains are complete.
type recorder struct {
	first, draws, nested int
	functions            []func(x []int32) float64
	chains               []underway // of this part

	mu   sync.Mutex  // for the tally and what follows
	free [][]float64 // buffers of finished chains
}

// underway is a chain whose draws are being recorded; it must be used by one goroutine at a time.
type underway struct {
	draws   int
	values  []float64 // functions × draws
	means   []float64 // of the functions, once finished, until their group is
	actions chainActions
}

func (r *recorder) buffer(n int) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 {
		b := r.free[last]
		r.free = r.free[:last]
		return b
	}
	return make([]float64, n)
}

// unfinished returns an error unless all chains are done.
func (r *recorder) unfinished(done spans) error {
	if done.chains() >= len(r.chains) {
		return nil
	}
	for i := range r.chains {
		if n := r.chains[i].draws; n < r.draws {
			return fmt.Errorf("chain %d has %d draws, want %d", r.first+i, n, r.draws)
		}
	}
	return nil
}

// chainActions sums the reports on the steps of one chain that ended in a draw.
type chainActions struct {
	accept                  float64
	accepts, moved, invalid int64
}

func (a *chainActions) add(info *sampler.Info) {
	a.moved += int64(info.Moved)
	a.invalid += int64(info.Invalid)
	if !math.IsNaN(info.Accept) && !math.IsInf(info.Accept, 0) {
		a.accepts++
		a.accept += info.Accept
	}
}

// actions sums the chainActions of chains; the order does not matter.
type actions struct {
	accept                  exactSum
	accepts, moved, invalid int64
}

func (a *actions) add(c *chainActions) {
	a.accept.add(c.accept)
	a.accepts += c.accepts
	a.moved += c.moved
	a.invalid += c.invalid
}

func (a *actions) merge(o *actions) {
	a.accept.merge(&o.accept)
	a.accepts += o.accepts
	a.moved += o.moved
	a.invalid += o.invalid
}

// digest is the sum, modulo 2⁶⁴ in each word, of the SHA-256 digests of chains: the order of the
// chains does not matter.
type digest [4]uint64

func (d *digest) add(o digest) {
	for i := range d {
		d[i] += o[i]
	}
}

// digestOf returns the digest of one chain, computed from its number, its draws and the state of
// the last draw.
func digestOf[S energy.Site](chain int, values []float64, x []S) (d digest) {
	b := make([]byte, 0, 8+8*len(values)+4*len(x))
	b = wire.AppendFloat64s(wire.AppendInts(b, chain), values)
	switch x := any(x).(type) {
	case []int32:
		b = wire.AppendInt32s(b, x)
	case []float32:
		b = wire.AppendFloat32s(b, x)
	}
	sum := sha256.Sum256(b)
	_, _ = wire.ReadUint64s(sum[:], d[:])
	return d
}

func (d digest) String() string { return hex.EncodeToString(wire.AppendUint64s(nil, d[:]...)) }
