package train

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// The gradient of adapters is that of the loss, by differences of what merge makes of them.
func TestAdapterGradient(t *testing.T) {
	net := network(t, tiny, 3)
	d := newAdapters(net, 2, 5)
	for i := range d.weights { // B is 0 at first
		d.weights[i] += float32(0.1 * math.Sin(float64(i)))
	}
	// A loss with the gradient c, linear in the weights of the network.
	c, w := make([]float32, len(net.Weights())), make([]float32, len(net.Weights()))
	for i := range c {
		c[i] = float32(math.Cos(float64(3 * i)))
	}
	loss := func() (sum float64) {
		d.merge(w, d.weights)
		for i, v := range w {
			sum += float64(c[i]) * float64(v)
		}
		return sum
	}
	norm := d.pull(c)
	squares := 0.0
	const h = 1.0 / 64
	for _, k := range []int{0, 1, len(d.weights) / 3, len(d.weights) / 2, len(d.weights) - 1} {
		before := d.weights[k]
		d.weights[k] = before + h
		up := loss()
		d.weights[k] = before - h
		down := loss()
		d.weights[k] = before
		require.InDelta(t, (up-down)/(2*h), d.gradient[k], 1e-4, k)
	}
	for _, v := range d.gradient {
		squares += float64(v) * float64(v)
	}
	require.InDelta(t, squares, norm, 1e-9*squares)
}

// Training of low rank lowers the loss, changes the matrices of linear layers by that rank and
// nothing else, and begins with the network as it is.
func TestLowRank(t *testing.T) {
	exact.SkipUnderRace(t)
	data, _, _ := joint()
	net := network(t, tiny, 1)
	full := exact.Must(New(net, Masked{mask}, data, Config{Steps: 100, Workers: 1, Rate: 1e-2}))
	require.NoError(t, full.Run(context.Background(), 100)) // so that no layer is 0
	start := net.Clone()
	tr := exact.Must(New(net, Masked{mask}, data, Config{Steps: 60, Workers: 1, Rate: 2e-2, Rank: 1, Seed: 2}))
	require.Equal(t, start.Weights(), tr.Average().Weights())
	weight := make([]float64, len(data)/tiny.Length)
	for i := range weight { // other data: rows that begin with 0
		if data[i*tiny.Length] == 0 {
			weight[i] = 1
		}
	}
	require.NoError(t, tr.Reweight(weight))
	require.NoError(t, tr.Run(context.Background(), 1))
	first := tr.Loss()
	require.NoError(t, tr.Run(context.Background(), 59))
	require.Less(t, tr.Loss(), 0.95*first)
	changed := 0
	for k, a := range net.Tensors() {
		b := start.Tensors()[k]
		if len(a.Shape) != 2 || strings.Contains(a.Name, "embed") {
			require.Equal(t, b.Data, a.Data, a.Name)
			continue
		}
		change := make([]float64, len(a.Data))
		for i := range change {
			change[i] = float64(a.Data[i]) - float64(b.Data[i])
		}
		largest, at := 0.0, 0
		for i, v := range change {
			if math.Abs(v) > largest {
				largest, at = math.Abs(v), i
			}
		}
		if largest == 0 {
			continue
		}
		changed++
		// Rank 1: every entry is a row's times a column's.
		cols := a.Shape[1]
		r, c := at/cols, at%cols
		for i, v := range change {
			require.InDelta(t, change[i/cols*cols+c]*change[r*cols+i%cols]/change[at], v, 1e-5*max(1, largest), a.Name)
		}
	}
	require.Greater(t, changed, 2)
}

// A training of low rank that was saved ends with the same bits, and another rank or other
// weights before are named.
func TestLowRankResumes(t *testing.T) {
	data, _, _ := joint()
	cfg := Config{Steps: 8, Workers: 1, Rank: 2, Seed: 3}
	whole := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, cfg))
	require.NoError(t, whole.Run(context.Background(), 8))
	cut := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, cfg))
	require.NoError(t, cut.Run(context.Background(), 5))
	var file bytes.Buffer
	require.NoError(t, cut.Save(&file))
	net := network(t, tiny, 1)
	again := exact.Must(New(net, Masked{mask}, data, cfg))
	require.NoError(t, again.Load(context.Background(), bytes.NewReader(file.Bytes())))
	require.True(t, slices.Equal(cut.net.Weights(), net.Weights()))
	require.NoError(t, again.Run(context.Background(), 3))
	require.Equal(t, whole.net.Weights(), net.Weights())
	require.Equal(t, whole.Average().Weights(), again.Average().Weights())

	other := cfg
	other.Rank = 1
	for want, tr := range map[string]*Trainer{
		"Config.Rank is 2 in the checkpoint and 1 here": exact.Must(New(network(t, tiny, 1), Masked{mask}, data, other)),
		"checksum of the weights before":                exact.Must(New(network(t, tiny, 2), Masked{mask}, data, cfg)),
	} {
		require.ErrorContains(t, tr.Load(context.Background(), bytes.NewReader(file.Bytes())), want)
	}
	other.Rank = 0
	require.Error(t, exact.Must(New(network(t, tiny, 1), Masked{mask}, data, other)).Load(context.Background(), bytes.NewReader(file.Bytes())))
	other.Rank = -1
	require.ErrorContains(t, exact.Error(New(network(t, tiny, 1), Masked{mask}, data, other)), "Rank = -1, want ≥ 0")
}
