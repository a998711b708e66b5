package unlearn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Denoise implements energy.Denoiser. It returns an error if a distribution to move away
// from has no weight where q has some, or if tokens are not revealed in the way of the path
// that e measures.
func (e *Erasure) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if err := e.follows(q.Reveals); err != nil {
		return err
	}
	if e.terminal && slices.Contains(q.Clean, true) {
		return fmt.Errorf("unlearn: Erasure: tokens are given, want none after Terminal: it measures all that was drawn")
	}
	if err := e.base.Denoise(ctx, v, q); err != nil {
		return err
	}
	for i, a := range e.away {
		e.tables[i] = slices.Grow(e.tables[i][:0], len(v))[:len(v)]
		if err := a.Denoise(ctx, e.tables[i], q); err != nil {
			return err
		}
	}
	if q.Sample == nil && len(q.Time) > 0 {
		return fmt.Errorf("unlearn: Erasure: Noised.Sample = nil, want the number of every state: what was erased is counted by sample")
	}
	for s, sample := range q.Sample {
		r := e.record(sample, q.Alpha[s])
		if e.terminal {
			e.reveal(&r.path, q.X[s*e.sites:(s+1)*e.sites])
			copy(r.path.x, q.X[s*e.sites:(s+1)*e.sites])
		}
		masked := 0
		for site := range e.sites {
			if q.X[s*e.sites+site] == e.mask {
				masked++
			}
		}
		for site := range e.sites {
			if q.X[s*e.sites+site] != e.mask {
				continue
			}
			at := (s*e.sites + site) * e.levels
			if e.terminal {
				e.follow(&r.path, site, at, v[at:at+e.levels], e.rest())
			}
			if err := e.combine(v[at:at+e.levels], at, r, masked, q.Reveals); err != nil {
				return fmt.Errorf("unlearn: Erasure: sample %d, site %d: %w", sample, site, err)
			}
		}
	}
	return nil
}

// follows returns an error unless e measures the path of samples whose tokens are so
// revealed.
func (e *Erasure) follows(r energy.Reveals) error {
	switch {
	case r != energy.RevealsOne && e.terminal:
		return fmt.Errorf("unlearn: Erasure: Noised.Reveals = %d, want RevealsOne after Terminal: sample by diffusion.Masked{FirstHitting: true}, without a projector, guidance or particles", r)
	case r != energy.RevealsOne && r != energy.RevealsEach:
		return fmt.Errorf("unlearn: Erasure: Noised.Reveals = %d, want RevealsOne or RevealsEach: sample by diffusion.Masked, without a projector, guidance or particles", r)
	}
	return nil
}

// record brings the record of a sample up to the step that led to alpha.
func (e *Erasure) record(sample int, alpha float64) *pathRecord {
	k, known := e.slot[sample]
	if !known {
		k = len(e.records)
		e.slot[sample] = k
		n := len(e.away)
		e.records = append(e.records, pathRecord{sample: sample, pending: make([]float64, n), sum: make([]float64, n)})
		if e.terminal {
			e.records[k].path = tokenPath{
				x: slices.Repeat([]int32{e.mask}, e.sites), rows: make([]float64, e.sites*(1+n)*e.levels),
				totals: make([]float64, e.sites), logp: make([]float64, 1+n),
			}
		}
	}
	r := &e.records[k]
	if known {
		r.settle(alpha)
	}
	r.alpha = alpha
	return r
}

// combine replaces a row of log-weights of q by those of p_λ and records its
// divergences.
func (e *Erasure) combine(row []float32, at int, r *pathRecord, masked int, how energy.Reveals) error {
	c := e.rest()
	for k, w := range row {
		if int32(k) == e.mask || math.IsInf(float64(w), -1) {
			e.p[k] = math.Inf(-1)
			continue
		}
		sum := float64(w)
		for i, l := range e.lambda {
			a := float64(e.tables[i][at+k])
			if math.IsInf(a, -1) {
				return fmt.Errorf("distribution %d gives level %d no weight where q gives %v", i, k, w)
			}
			sum -= float64(l * a)
		}
		e.p[k] = sum / c
		row[k] = float32(e.p[k])
	}
	top := slices.Max(e.p)
	if !check.Finite(top) {
		return fmt.Errorf("q gives every level weight zero")
	}
	tilt.Normalize(e.p)
	for i := range e.away {
		for k := range e.q {
			e.q[k] = float64(e.tables[i][at+k])
		}
		e.q[e.mask] = math.Inf(-1)
		tilt.Normalize(e.q)
		if k := KL(e.p, e.q); how == energy.RevealsOne {
			r.sum[i] += k / float64(masked)
		} else {
			r.pending[i] += k
		}
	}
	return nil
}

// Violation stores b_i − path divergence or, after [Erasure.Terminal], b_i − log
// p_λ(x)/q_i(x), for the most recent samples, as many as x has states, in the order in
// which they were begun. It panics if fewer samples have been drawn since SetLambda, or if
// the lengths do not match.
func (e *Erasure) Violation(g []float64, x []int32) {
	n, states := len(e.lambda), len(x)/e.sites
	check.Len("unlearn", "g", len(g), states*n)
	if len(e.records) < states {
		panic(fmt.Sprintf("unlearn: Erasure: %d samples since SetLambda, want ≥ %d", len(e.records), states))
	}
	for s := range e.records[len(e.records)-states:] {
		r := &e.records[len(e.records)-states+s]
		if e.terminal {
			e.terminals(g[s*n:(s+1)*n], &r.path)
			continue
		}
		r.settle(1) // every run ends at α = 1
		for i, b := range e.bound {
			g[s*n+i] = b - r.sum[i]
		}
	}
}
