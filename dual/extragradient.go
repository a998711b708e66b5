package dual

import (
	"context"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Extragradient is ascent by the gradient at a point ahead (Korpelevich 1976),
//
//	λ' = clip(λ + η_t ḡ(λ), 0, max),   λ ← clip(λ + η_t ḡ(λ'), 0, max),
//
// two dual steps each, the first of which the second takes back: slower than
// ascent where that works, and steady at step sizes where ascent oscillates.
type Extragradient struct {
	Step Schedule // as of [Ascent]
}

// Bind implements [Rule].
func (e Extragradient) Bind(_ context.Context, n int) (Updater, error) {
	if err := checkCount("Extragradient", n); err != nil {
		return nil, err
	}
	return &extragradient{gains: newGains("Extragradient", e.Step, n), from: make([]float64, n+1)}, nil
}

type extragradient struct {
	gains
	from []float64 // λ before the step ahead, and 1 if λ is ahead
}

func (e *extragradient) Update(lambda []float64, b *Batch) error {
	eta, err := e.next(b, b.Step/2)
	if err != nil {
		return err
	}
	n := len(lambda)
	ahead := &e.from[n]
	if *ahead == 0 {
		copy(e.from, lambda)
	}
	*ahead = 1 - *ahead
	for j, g := range b.Mean {
		lambda[j] = b.clip(j, e.from[j]+float64(eta[j]*g))
	}
	return nil
}

func (e *extragradient) fields(f *wire.Fields) {
	f.Float64s(e.from)
	e.gains.fields(f)
}

func (e *extragradient) AppendBinary(data []byte) ([]byte, error) {
	return wire.AppendFields(data, e.fields)
}

func (e *extragradient) UnmarshalBinary(data []byte) error { return wire.ReadFields(data, e.fields) }
