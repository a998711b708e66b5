package mcmc

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proposals sums up what a step of a block proposed, which kernels adapt their step
// size by.
func proposals(info []sampler.Info) tune.Proposals {
	return tune.Mean(len(info), func(i int) (float64, int) { return info[i].Accept, info[i].Moved })
}

// appendTuning appends a step size to a checkpoint, and what tunes it unless that is nil.
func appendTuning(b []byte, alpha float64, t *tune.Tuner) []byte {
	if b = wire.AppendFloat64s(b, []float64{alpha}); t != nil {
		b, _ = wire.AppendFields(b, t.Fields)
	}
	return b
}

// restoreTuning reads what appendTuning wrote and returns the rest of b.
func restoreTuning(b []byte, t *tune.Tuner) (alpha float64, rest []byte, err error) {
	var v [1]float64
	if b, err = wire.ReadFloat64s(b, v[:]); err != nil {
		return 0, nil, err
	}
	if alpha = v[0]; !(alpha > 0) || math.IsInf(alpha, 1) {
		return 0, nil, fmt.Errorf("mcmc: the checkpoint has step size %v, want positive and finite", alpha)
	}
	if t != nil {
		f := wire.Reading(b)
		t.Fields(f)
		b, err = f.Rest()
	}
	return alpha, b, err
}
