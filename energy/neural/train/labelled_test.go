package train

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// parts cuts the data of joint into two classes that share no state: those whose
// first token is 0, and others.
func parts(data []int32) (labels []int32, part [2][]int32) {
	for i := 0; i < len(data); i += sites {
		c := min(data[i], 1)
		labels = append(labels, c)
		part[c] = append(part[c], data[i:i+sites]...)
	}
	return labels, part
}

// A network with classes learns the distribution of each and, from rows whose class it
// does not see, that of all.
func TestClassesLearnsConditionals(t *testing.T) {
	exact.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("trains networks")
	}
	data, p, entropy := joint()
	labels, _ := parts(data)
	cfg := tiny
	cfg.Cond, cfg.Classes = 8, 2
	net := network(t, cfg, 1)
	tr, err := New(net, Classes{Objective: Masked{mask}, Labels: labels, Drop: 0.3}, data, Config{Steps: 600, Seed: 2, Rate: 5e-3, Average: 0.98})
	require.NoError(t, err)
	require.NoError(t, tr.Run(context.Background(), 600))
	assert.Less(t, bound(tr.Average(), p)-entropy, 0.1, "no class")
	for class := range 2 {
		q, total, h := make([]float64, len(p)), 0.0, 0.0
		x := make([]int32, sites)
		for k, w := range p {
			if exact.State(x, k, tokens); int(min(x[0], 1)) == class {
				q[k] = w
				total += w
			}
		}
		for k := range q {
			if q[k] /= total; q[k] > 0 {
				h -= q[k] * math.Log(q[k])
			}
		}
		assert.Less(t, bound(exact.Must(tr.Average().Given(class)), q)-h, 0.1, "class %d", class)
		assert.Greater(t, bound(exact.Must(tr.Average().Given(1-class)), q)-h, 0.5, "the other class")
	}
}

// A classifier learns p(y | masked state), and a score its conditional mean.
func TestPooledObjectivesLearnPosteriors(t *testing.T) {
	exact.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("trains networks")
	}
	data, p, _ := joint()
	labels := make([]int32, len(data)/sites) // noisy labels: no state is sure of its class
	targets := make([]float64, len(labels))
	one, mean := make([]float64, len(p)), make([]float64, len(p))
	r := rand.New(rand.NewPCG(4, 4))
	seen := make([]float64, len(p))
	for i := range labels {
		x := data[i*sites : (i+1)*sites]
		if r.Float64() < 0.2+0.3*float64(x[0]) {
			labels[i] = 1
		}
		targets[i] = float64(x[1]) - float64(x[2])*float64(x[0])
		k := exact.Index(x, tokens)
		seen[k]++
		one[k] += float64(labels[i])
		mean[k] += targets[i]
	}
	// given returns E[f | seen] for the masked state y.
	given := func(f []float64, y []int32) (mean, weight float64) {
		x, sum, total := make([]int32, sites), 0.0, 0.0
		for k := range p {
			exact.State(x, k, tokens)
			fits := true
			for i, l := range y {
				fits = fits && (l == mask || l == x[i])
			}
			if fits {
				sum += f[k]
				total += seen[k]
			}
		}
		return sum / total, total / float64(len(labels))
	}
	ctx := context.Background()
	run := func(outputs int, o Objective) *neural.Transformer {
		cfg := tiny
		cfg.Outputs = outputs
		tr, err := New(network(t, cfg, 1), o, data, Config{Steps: 600, Seed: 2, Rate: 5e-3, Average: 0.98})
		require.NoError(t, err)
		require.NoError(t, tr.Run(ctx, 600))
		return tr.Average()
	}
	c := exact.Must(neural.NewClassifier(run(2, Classify{Masked{mask}, labels}), 1, mask, neural.ClassifierConfig{}))
	score := run(1, Regress{Masked{mask}, targets})
	s := exact.Must(neural.NewScorer(score))
	y, got := make([]int32, sites), make([]float64, 1)
	base, _ := given(one, []int32{mask, mask, mask})
	miss, blind, off, states := 0.0, 0.0, 0.0, 0.0
	for k := range exact.Size(sites, tokens+1) {
		exact.State(y, k, tokens+1)
		p, weight := given(one, y)
		if weight == 0 {
			continue
		}
		states += weight
		require.NoError(t, c.LogProb(got, y, 0.5))
		miss += weight * math.Abs(math.Exp(got[0])-p)
		blind += weight * math.Abs(base-p)
		s.Scores(got, y)
		want, _ := given(mean, y)
		off += weight * math.Abs(got[0]-want)
	}
	assert.Less(t, miss/states, 0.05, "of a probability; who sees nothing misses by %v", blind/states)
	assert.Greater(t, blind/states, 0.1)
	assert.Less(t, off/states, 0.1, "of a range of 6")

	clean := Regress{Targets: targets}
	mse, se, err := Evaluate(ctx, score, clean, data, 1, 1, 2)
	require.NoError(t, err)
	assert.Less(t, mse, 0.05)
	assert.Less(t, se, mse)
}

func TestLabelledTrainingsResume(t *testing.T) {
	ctx := context.Background()
	data, _, _ := joint()
	labels, _ := parts(data)
	targets := make([]float64, len(labels))
	for i := range targets {
		targets[i] = float64(i % 3)
	}
	classed, judge, score := tiny, tiny, tiny
	classed.Cond, classed.Classes, judge.Outputs, score.Outputs = 4, 2, 2, 1
	other := append([]int32(nil), labels...)
	other[3] = 1 - other[3]
	for name, c := range map[string]struct {
		cfg        neural.Config
		o, changed Objective
	}{
		"classes":  {classed, Classes{Objective: Masked{mask}, Labels: labels}, Classes{Objective: Masked{mask}, Labels: other}},
		"classify": {judge, &Classify{Masked{mask}, labels}, &Classify{Masked{mask}, other}},
		"regress":  {score, Regress{nil, targets}, Regress{Masked{mask}, targets}},
	} {
		cfg := Config{Steps: 8, Batch: 5, Shards: 2, Seed: 3}
		start := func(workers int, o Objective) (*neural.Transformer, *Trainer) {
			cfg.Workers = workers
			net := network(t, c.cfg, 4)
			return net, exact.Must(New(net, o, data, cfg))
		}
		net, tr := start(1, c.o)
		require.NoError(t, tr.Run(ctx, 8), name)
		_, first := start(2, c.o)
		require.NoError(t, first.Run(ctx, 3))
		var file bytes.Buffer
		require.NoError(t, first.Save(&file))
		whole := file.Bytes()
		resumed, second := start(7, c.o)
		require.NoError(t, second.Load(context.Background(), bytes.NewReader(whole)))
		require.NoError(t, second.Run(ctx, 5))
		assert.Equal(t, net.Weights(), resumed.Weights(), name)
		assert.NotEqual(t, network(t, c.cfg, 4).Weights(), net.Weights())
		_, strange := start(1, c.changed)
		assert.ErrorContains(t, strange.Load(context.Background(), bytes.NewReader(whole)), "settings differ", name)
	}
}

func TestLabelledErrors(t *testing.T) {
	data, _, _ := joint()
	labels, _ := parts(data)
	good := Config{Steps: 1}
	classed, judge, score := tiny, tiny, tiny
	classed.Cond, classed.Classes, judge.Outputs, score.Outputs = 4, 2, 2, 1
	try := func(c neural.Config, o Objective) error {
		return exact.Error(New(network(t, c, 1), o, data, good))
	}
	strange := append([]int32{2}, labels[1:]...)
	targets := make([]float64, len(labels))
	nan := append([]float64{math.NaN()}, targets[1:]...)
	for want, err := range map[string]error{
		"train: Classes: Objective = nil":                                        try(classed, Classes{Labels: labels}),
		"train: Classes: the network has no Classes":                             try(tiny, Classes{Objective: Masked{mask}, Labels: labels}),
		"train: Classes: Drop = 2, want 0 … 1, or −1":                            try(classed, Classes{Masked{mask}, labels, 2}),
		"train: Classes: Labels[0] = 2, want -1 … 1":                             try(classed, Classes{Masked{mask}, strange, 0}),
		"train: Classes: Objective is a train.Classify, want one without labels": try(classed, Classes{Objective: Classify{Masked{mask}, labels}, Labels: labels}),
		"train: Masked: Mask = 9, want 0 … 3":                                    try(classed, Classes{Masked{9}, labels, 0}),
		"train: the objective is for 1 rows of data, want 1061":                  try(classed, Classes{Masked{mask}, labels[:1], 0}),
		"train: Classify: Objective = nil":                                       try(judge, Classify{nil, labels}),
		"train: Classify: Labels[0] = 2, want 0 … 1":                             try(judge, Classify{Masked{mask}, strange}),
		"train: the network has 4 levels and 2 outputs, want as many and ≥ 1":    try(judge, Masked{mask}),
		"train: Regress: the network has 2 outputs, want 1":                      try(judge, Regress{nil, targets}),
		"train: Regress: Targets[0] = NaN, want a finite number of 32 bits":      try(score, Regress{nil, nan}),
		"train: Regress: Objective is a train.Classify, want one without labels": try(score, Regress{Classify{Masked{mask}, labels}, targets}),
		"train: the network has no levels, want ≥ 1":                             try(neural.Config{Length: 3, Channels: 1, Width: 2, Heads: 1}, Regress{nil, targets}),
	} {
		assert.EqualError(t, err, want)
	}
}
