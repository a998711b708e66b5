package dual

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// gains are the step sizes of a first-order rule, one per multiplier: a
// schedule's, or β/(v_j·√(1+t)) with v_j the mean variance of g_j.
type gains struct {
	rule string
	step Schedule

	batches         int
	variance        []float64 // mean over all batches
	now, scale, eta []float64 // scratch: of this batch, v_j, the gains
}

func newGains(rule string, step Schedule, n int) gains {
	return gains{rule: rule, step: step, variance: make([]float64, n), now: make([]float64, n), scale: make([]float64, n), eta: make([]float64, n)}
}

// next returns the gains for a batch at step t of the schedule.
func (g *gains) next(b *Batch, t int) ([]float64, error) {
	if g.step != nil {
		eta, err := stepSize(g.rule, g.step, t)
		for j := range g.eta {
			g.eta[j] = eta
		}
		return g.eta, err
	}
	v, err := g.variances(b)
	if err != nil {
		return nil, err
	}
	for j := range g.eta {
		g.eta[j] = 0
		if v[j] > 0 {
			g.eta[j] = b.Beta / float64(v[j]*math.Sqrt(float64(t+1)))
		}
	}
	return g.eta, nil
}

// variances returns the mean variances over the batches before this one, that
// of the first for the first: the batch that a step is made with must not bend
// its direction. Where there is none yet the square of the mean stands in.
func (g *gains) variances(b *Batch) ([]float64, error) {
	b.Variance(g.now)
	for j, v := range g.now {
		if !check.Finite(v) {
			return nil, fmt.Errorf("dual: %s: variance of violation %d = %v, want a finite number", g.rule, j, v)
		}
	}
	copy(g.scale, g.variance)
	w := 1 / float64(g.batches+1)
	for j, v := range g.now {
		if g.scale[j] == 0 {
			g.scale[j] = v
		}
		if g.scale[j] == 0 {
			g.scale[j] = float64(b.Mean[j] * b.Mean[j])
		}
		g.variance[j] += float64(w * (v - g.variance[j]))
	}
	g.batches++
	return g.scale, nil
}

// fields goes through the state.
func (g *gains) fields(f *wire.Fields) {
	f.Counts("batches", &g.batches)
	f.Float64s(g.variance)
}

// AppendBinary implements part of [Updater].
func (g *gains) AppendBinary(data []byte) ([]byte, error) { return wire.AppendFields(data, g.fields) }

// UnmarshalBinary implements part of [Updater].
func (g *gains) UnmarshalBinary(data []byte) error { return wire.ReadFields(data, g.fields) }
