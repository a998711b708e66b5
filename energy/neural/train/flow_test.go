package train

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// small is a network of two positions of one channel.
var small = neural.Config{Length: 2, Channels: 1, Width: 16, Heads: 2, Blocks: 2, Hidden: 32, Cond: 16, Positions: true}

// points are two clusters that the sign of either entry tells apart.
func points() (data []float32) {
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 64 {
		sign := float64(2*(i%2) - 1)
		data = append(data, float32(sign+0.3*r.NormFloat64()), float32(-sign+0.3*r.NormFloat64()))
	}
	return data
}

// least is the mean squared error of an entry that the exact velocity of data has: that
// of E[ε − x_0 | z] over corruptions of every row.
func least(data []float32, draws int) float64 {
	r := rand.New(rand.NewPCG(9, 9))
	x, target := make([]float32, 2), make([]float32, 2)
	n, sum := len(data)/2, 0.0
	for row := range n {
		for d := range draws {
			u := (float64(d) + r.Float64()) / float64(draws)
			Flow{}.Corrupt(x, target, data[2*row:2*row+2], u, r)
			var mean [2]float64
			total := 0.0
			for k := range n {
				c := data[2*k : 2*k+2]
				e0, e1 := (float64(x[0])-(1-u)*float64(c[0]))/u, (float64(x[1])-(1-u)*float64(c[1]))/u
				w := math.Exp(-(e0*e0 + e1*e1) / 2)
				total += w
				mean[0] += w * (e0 - float64(c[0]))
				mean[1] += w * (e1 - float64(c[1]))
			}
			for i, t := range target {
				sum += math.Pow(float64(t)-mean[i]/total, 2) / float64(2*n*draws)
			}
		}
	}
	return sum
}

// A network learns the velocity of a data set nearly as well as it can be known.
func TestFlowLearnsAVelocity(t *testing.T) {
	exact.SkipUnderRace(t)
	data := points()
	bound := least(data, 16)
	net := network(t, small, 1)
	tr, err := NewReals(net, Flow{}, data, Config{Steps: 400, Batch: 32, Seed: 2, Rate: 1e-2, Average: 0.98})
	require.NoError(t, err)
	before, _, err := EvaluateReals(context.Background(), net, Flow{}, data, 16, 3, 2)
	require.NoError(t, err)
	require.NoError(t, tr.Run(context.Background(), 400))
	after, se, err := EvaluateReals(context.Background(), tr.Average(), Flow{}, data, 16, 3, 2)
	require.NoError(t, err)
	assert.Greater(t, after, bound-5*se, "a bound")
	assert.Less(t, after-bound, 0.1*(before-bound), "the least loss is %.4f, after training %.4f, before %.4f", bound, after, before)
	again, _, err := EvaluateReals(context.Background(), tr.Average(), Flow{}, data, 16, 3, 1)
	require.NoError(t, err)
	assert.Equal(t, after, again, "workers")
}

// What the network is shown lies between the clean state and noise, and the difference
// of the two is what it should say.
func TestFlowCorruption(t *testing.T) {
	const n = 20_000
	clean := []float32{0.5, -2}
	x, target := make([]float32, 2), make([]float32, 2)
	r := rand.New(rand.NewPCG(1, 1))
	sum, square := 0.0, 0.0
	for range n {
		u := r.Float64()
		require.Equal(t, 1000*u, Flow{}.Corrupt(x, target, clean, u, r))
		for i, c := range clean {
			require.InDelta(t, float64(c)+u*float64(target[i]), x[i], 1e-5)
			e := float64(target[i] + c)
			sum, square = sum+e, square+e*e
		}
	}
	// Of 2n standard normal numbers; 5.5 standard deviations are 4e-8 each.
	assert.Less(t, math.Abs(sum)/math.Sqrt(2*n), 5.5)
	assert.Less(t, math.Abs(square-2*n)/math.Sqrt(4*n), 5.5)
}

func TestTrainingsOfRealsResume(t *testing.T) {
	ctx := context.Background()
	data := points()
	cfg := Config{Steps: 12, Batch: 13, Shards: 4, Seed: 3, Decay: 0.01}
	start := func(workers int) (*neural.Transformer, *Trainer) {
		cfg.Workers = workers
		net := network(t, small, 4)
		return net, exact.Must(NewReals(net, Flow{}, data, cfg))
	}
	net, tr := start(1)
	require.NoError(t, tr.Run(ctx, 12))
	_, first := start(3)
	require.NoError(t, first.Run(ctx, 5))
	var file bytes.Buffer
	require.NoError(t, first.Save(&file))
	whole := file.Bytes()
	other, second := start(2)
	require.NoError(t, second.Load(context.Background(), &file))
	require.NoError(t, second.Run(ctx, 7))
	assert.Equal(t, net.Weights(), other.Weights())
	assert.Equal(t, tr.Loss(), second.Loss())

	data = append([]float32(nil), data...)
	data[7] += 1e-3
	_, tr = start(1)
	assert.ErrorContains(t, tr.Load(context.Background(), bytes.NewReader(whole)), "checksum of data is")
	data = data[2:]
	_, tr = start(1)
	assert.ErrorContains(t, tr.Load(context.Background(), bytes.NewReader(whole)), "numbers of data is 128 in the checkpoint and 126 here")
}

func TestErrorsOfReals(t *testing.T) {
	data := points()
	good := Config{Steps: 10}
	net := network(t, small, 1)
	blind := small
	blind.Cond = 0
	bad := append([]float32(nil), data...)
	bad[5] = float32(math.NaN())
	var objective *Flow
	for want, err := range map[string]error{
		"train: Steps = 0, want ≥ 1":                                            exact.Error(NewReals(net, Flow{}, data, Config{})),
		"train: network is nil":                                                 exact.Error(NewReals(nil, Flow{}, data, good)),
		"train: objective is nil":                                               exact.Error(NewReals(net, objective, data, good)),
		"train: Flow: the network has Cond = 0, want ≥ 1":                       exact.Error(NewReals(network(t, blind, 1), Flow{}, data, good)),
		"train: len(data) = 3, want a positive multiple of 2":                   exact.Error(NewReals(net, Flow{}, data[:3], good)),
		"train: data[5] = NaN, want a finite number":                            exact.Error(NewReals(net, Flow{}, bad, good)),
		"train: the network has 0 channels and 4 outputs, want as many and ≥ 1": exact.Error(NewReals(network(t, tiny, 1), Flow{}, data, good)),
	} {
		assert.EqualError(t, err, want)
	}
	_, _, err := EvaluateReals(context.Background(), net, Flow{}, data[:1], 1, 1, 1)
	assert.EqualError(t, err, "train: len(data) = 1, want a positive multiple of 2")
}

// spelled is the squared error as a loss of its own. It notes states whose clean state is not
// the row that Loss receives.
type spelled struct {
	Flow
	data  []float32
	wrong *atomic.Int32
}

func (o spelled) String() string { return "spelled" }

func (o spelled) Loss(d, y, target, x []float32, level float64, row int) (loss float64) {
	for i, t := range target {
		if clean := float64(x[i]) - level/1000*float64(t); math.Abs(clean-float64(o.data[row*len(x)+i])) > 1e-5 {
			o.wrong.Add(1)
		}
		e := y[i] - t
		loss += float64(e*e) / float64(len(y))
		d[i] = 2 * e / float32(len(y))
	}
	return loss
}

// A squared error that is spelled out trains like the built-in one.
func TestLossOfItsOwn(t *testing.T) {
	data := points()
	fit := func(o RealObjective) (float64, float64) {
		net, err := neural.New(small, rand.NewPCG(1, 0))
		require.NoError(t, err)
		tr, err := NewReals(net, o, data, Config{Steps: 8, Batch: 16, Seed: 3})
		require.NoError(t, err)
		require.NoError(t, tr.Run(context.Background(), 8))
		held, _, err := EvaluateReals(context.Background(), net, o, data, 2, 1, 1)
		require.NoError(t, err)
		return tr.Loss(), held
	}
	own := spelled{data: data, wrong: new(atomic.Int32)}
	loss, held := fit(own)
	want, wantHeld := fit(Flow{})
	assert.InEpsilon(t, want, loss, 1e-4)
	assert.InEpsilon(t, wantHeld, held, 1e-4)
	assert.Zero(t, own.wrong.Load())
}
