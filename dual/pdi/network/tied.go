package network

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// tied holds the single λ of dual training and the updater that moves it.
type tied struct {
	updater dual.Updater
	batch   dual.Batch
	lambda  []float64
}

// newTied returns λ = 0 with an updater of the given rule.
func newTied(ctx context.Context, rule dual.Rule, m int, beta float64) (*tied, error) {
	u, err := rule.Bind(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("network: Config.Dual: %w", err)
	}
	return &tied{u, dual.Batch{Beta: beta, Mean: make([]float64, m), Max: math.Inf(1)}, make([]float64, m)}, nil
}

// move updates λ. It uses the sum of shift and the violations of the samples of diffusions at λ. It
// returns a function that undoes the update.
func (t *tied) move(all []*visits, shift []float64) (undo func() error, err error) {
	m := len(t.lambda)
	var g []float64
	for _, v := range all {
		g = append(g, v.violation...)
	}
	for i := range g {
		g[i] += shift[i%m]
	}
	t.batch.States = len(g) / m
	if err := t.batch.Measure(g); err != nil {
		return nil, err
	}
	before, state, step := slices.Clone(t.lambda), []byte(nil), t.batch.Step
	if state, err = t.updater.AppendBinary(nil); err != nil {
		return nil, err
	}
	undo = func() error {
		copy(t.lambda, before)
		t.batch.Step = step
		return t.updater.UnmarshalBinary(state)
	}
	if err := t.updater.Update(t.lambda, &t.batch); err != nil {
		return nil, err
	}
	t.batch.Step++
	return undo, nil
}

// size returns an upper bound on the number of bytes that fields writes.
func (t *tied) size() int {
	state, err := t.updater.AppendBinary(nil)
	if err != nil {
		return 0 // Save reports this error
	}
	return 8*(len(t.lambda)+2) + len(state)
}

// fields reads or writes the state for a checkpoint.
func (t *tied) fields(f *wire.Fields) {
	f.Float64s(t.lambda)
	f.Int("dual steps", &t.batch.Step, 0, math.MaxInt32)
	f.Sized(t.updater)
}
