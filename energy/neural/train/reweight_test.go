package train

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Rows come with the probabilities that their weights give them: the share of every row in
// many batches against its own, and of none without weight.
func TestReweightDrawsByWeight(t *testing.T) {
	data := []int32{0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 2, 2, 1, 0}
	tr := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, Config{Steps: 500, Batch: 7, Workers: 1, Seed: 3}))
	weight := []float64{0, 2, 0.5, 7, 0}
	require.NoError(t, tr.Reweight(weight))
	weight[3] = 0 // copied
	count := make([]int, 5)
	for range 2000 {
		tr.step++
		tr.choose(tr.random(0))
		for i := range tr.cfg.Batch {
			count[tr.row(i)]++
		}
	}
	assert.Zero(t, count[0]+count[4])
	exact.Counts(t, count[1:4], []float64{2 / 9.5, 0.5 / 9.5, 7 / 9.5}, 1e-6)
	assert.Less(t, exact.PValue(count[1:4], []float64{1. / 3, 1. / 3, 1. / 3}), 1e-6, "even rows are another distribution")

	// Where a row is in its batch, and so how strongly it is corrupted, does not depend on
	// which row it is.
	first := make([]int, 5)
	for range 4000 {
		tr.step++
		tr.choose(tr.random(0))
		first[tr.row(0)]++
	}
	exact.Counts(t, first[1:4], []float64{2 / 9.5, 0.5 / 9.5, 7 / 9.5}, 1e-6)
}

// A network that learns reweighted rows predicts the reweighted distribution.
func TestReweightLearnsTheTilt(t *testing.T) {
	exact.SkipUnderRace(t)
	data := []int32{0, 0, 0, 1, 1, 1}
	tr := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, Config{Steps: 300, Batch: 32, Rate: 1e-2, Workers: 1, Seed: 3}))
	require.NoError(t, tr.Reweight([]float64{1, 9}))
	require.NoError(t, tr.Run(context.Background(), 300))
	loss := exact.Must(Losses(context.Background(), tr.Average(), Masked{mask}, data, 64, 1, 1))
	// The bound of a constant row is −log of its probability, .1 and .9, at least.
	assert.InDelta(t, math.Log(10), loss[0], 0.35)
	assert.InDelta(t, -math.Log(0.9), loss[1], 0.1)

	// Losses are what Evaluate averages, and the same corruptions for any network.
	mean, _, err := Evaluate(context.Background(), tr.Average(), Masked{mask}, data, 64, 1, 2)
	require.NoError(t, err)
	assert.Equal(t, (loss[0]+loss[1])/2, mean)
}

// Weights go through a checkpoint: the rest of a training has the same bits.
func TestReweightResumes(t *testing.T) {
	data, _, _ := joint()
	build := func() *Trainer {
		return exact.Must(New(network(t, tiny, 1), Masked{mask}, data, Config{Steps: 20, Batch: 5, Workers: 1}))
	}
	var weight []float64
	for i := range len(data) / 3 {
		weight = append(weight, float64(i%3))
	}
	whole := build()
	require.NoError(t, whole.Reweight(weight))
	require.NoError(t, whole.Run(context.Background(), 8))
	var file bytes.Buffer
	require.NoError(t, whole.Save(&file))
	require.NoError(t, whole.Run(context.Background(), 4))
	other := build()
	require.NoError(t, other.Load(context.Background(), &file))
	require.NoError(t, other.Run(context.Background(), 4))
	assert.Equal(t, whole.net.Weights(), other.net.Weights())

	// Without them again it is a training by epochs.
	require.NoError(t, other.Reweight(nil))
	require.NoError(t, other.Run(context.Background(), 1))
	assert.NotEqual(t, whole.net.Weights(), other.net.Weights())
}

func TestReweightErrors(t *testing.T) {
	data := []int32{0, 0, 0, 1, 1, 1}
	tr := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, Config{Steps: 3, Workers: 1}))
	for want, w := range map[string][]float64{
		"len(weight) = 1, want 2":   {1},
		"weight[1] = -1, want ≥ 0":  {1, -1},
		"weight[0] = NaN, want ≥ 0": {math.NaN(), 1},
		"weights sum to 0":          {0, 0},
		"weights sum to +Inf":       {1, math.Inf(1)},
	} {
		assert.ErrorContains(t, tr.Reweight(w), want)
	}
	require.NoError(t, tr.Run(context.Background(), 1))
	_, err := Losses(context.Background(), tr.net, Masked{mask}, data[1:], 1, 1, 1)
	assert.ErrorContains(t, err, "len(data) = 5")
	_, err = Losses(context.Background(), tr.net, Masked{mask}, data, mostDraws+1, 1, 1)
	assert.ErrorContains(t, err, "draws = ")
}
