package neural

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// judged is a network of three classes over five tokens, the last of which is a mask.
var judged = Config{Length: 4, Levels: 5, Outputs: 3, Width: 8, Heads: 2, Blocks: 2, Hidden: 12, Cond: 6, Positions: true}

// logProb is log p(class | tokens) by the reference.
func (r *reference) logProb(rows []float64, level float64, class int) float64 {
	c := r.cfg
	r.rows = rows
	w := make([]float64, c.Outputs)
	for i, v := range r.state(nil, nil, level, -1) {
		w[i%c.Outputs] += v / float64(c.Length)
	}
	r.rows = nil
	sum := 0.0
	for _, v := range w {
		sum += math.Exp(v)
	}
	return w[class] - math.Log(sum)
}

func oneHot(x []int32, levels int) []float64 {
	rows := make([]float64, len(x)*levels)
	for i, l := range x {
		rows[i*levels+int(l)] = 1
	}
	return rows
}

func TestClassifierTables(t *testing.T) {
	net := randomNet(t, judged, 3)
	ref := newReference(net)
	const class, mask, time = 1, 4, 0.7
	level := -math.Log(1 - 0.999*time)
	x := []int32{2, mask, 0, mask}
	at := func(i, l int) float64 {
		y := append([]int32(nil), x...)
		y[i] = int32(l)
		return ref.logProb(oneHot(y, 5), level, class)
	}
	base := ref.logProb(oneHot(x, 5), level, class)
	dst := make([]float32, 4*5)
	for _, m := range []int32{mask, -1} {
		c := exact.Must(NewClassifier(net, class, m, ClassifierConfig{}))
		sites, levels := c.Shape()
		assert.Equal(t, []int{4, 5}, []int{sites, levels})
		require.NoError(t, c.Table(dst, x, time))
		for i := range x {
			for l := range 5 {
				want := at(i, l) - base
				if m >= 0 && x[i] != mask {
					want = 0
				}
				require.InDelta(t, want, dst[i*5+l], 2e-5, "%d %d", i, l)
			}
		}
		if !exact.Race {
			exact.Steady(t, "Table", func() { _ = c.Table(dst, x, time) })
		}
		runtime.KeepAlive(c)
	}
	// To first order it is the slope along the code of each token.
	c := exact.Must(NewClassifier(net, class, mask, ClassifierConfig{FirstOrder: true}))
	for range 2 { // gradients of calls do not add up
		require.NoError(t, c.Table(dst, x, time))
	}
	rows := oneHot(x, 5)
	far := 0.0
	for i := range x {
		for l := range 5 {
			want := 0.0
			if x[i] == mask {
				slope := func(l int) float64 {
					return difference(func() float64 { return ref.logProb(rows, level, class) }, &rows[i*5+l])
				}
				want = slope(l) - slope(mask)
				far = max(far, math.Abs(want-at(i, l)+base))
			}
			require.InDelta(t, want, dst[i*5+l], 2e-5, "%d %d", i, l)
		}
	}
	assert.Greater(t, far, 0.01, "the network is not linear: the two tables differ")
	require.NoError(t, c.Table(dst, []int32{0, 1, 2, 3}, time))
	assert.Equal(t, make([]float32, 20), dst, "nothing is masked")
	if !exact.Race {
		exact.Steady(t, "FirstOrder", func() { _ = c.Table(dst, x, time) })
	}
}

func TestClassifierLogProb(t *testing.T) {
	cfg := judged
	cfg.Length = 64 // 8 states a chunk
	net := randomNet(t, cfg, 3)
	ref := newReference(net)
	in := randomInput(net.Config(), 21, 5)
	want, got := make([]float64, 21), make([]float64, 21)
	for k := range want {
		want[k] = ref.logProb(oneHot(in.Tokens[k*64:(k+1)*64], 5), 0, 2)
	}
	for _, workers := range []int{1, 2, 7} {
		c := exact.Must(NewClassifier(net, 2, -1, ClassifierConfig{TimeFree: true, Workers: workers}))
		before := append([]float64(nil), got...)
		require.NoError(t, c.LogProb(got, in.Tokens, 0.3))
		require.InDeltaSlice(t, want, got, 1e-5)
		if workers > 1 {
			assert.Equal(t, before, got, "%d workers", workers)
		}
		if !exact.Race {
			exact.Steady(t, "LogProb", func() { _ = c.LogProb(got, in.Tokens, 0.3) })
		}
		runtime.KeepAlive(c)
	}
	c := exact.Must(NewClassifier(net, 2, -1, ClassifierConfig{Level: func(t float64) float64 { return t - 0.3 }}))
	require.NoError(t, c.LogProb(got, in.Tokens, 0.3))
	require.InDeltaSlice(t, want, got, 1e-5)
}

func TestClassifierErrors(t *testing.T) {
	exact.SkipUnderRace(t)
	net := randomNet(t, judged, 3)
	for want, err := range map[string]error{
		"neural: NewClassifier: net is nil":                                       exact.Error(NewClassifier(nil, 0, 0, ClassifierConfig{})),
		"neural: NewClassifier: class = 3, want 0 … 2":                            exact.Error(NewClassifier(net, 3, 0, ClassifierConfig{})),
		"neural: NewClassifier: mask = 5, want −1 … 4":                            exact.Error(NewClassifier(net, 0, 5, ClassifierConfig{})),
		"neural: NewClassifier: net has 0 levels and 2 outputs, want ≥ 1 and ≥ 2": exact.Error(NewClassifier(randomNet(t, shapes["reals"], 1), 0, -1, ClassifierConfig{})),
	} {
		assert.EqualError(t, err, want)
	}
	many := exact.Must(NewClassifier(net, 0, 4, ClassifierConfig{Workers: math.MaxInt}))
	assert.Len(t, many.judge.passes, mostWorkers, "as of the denoisers")
	dst, one := make([]float32, 20), make([]float64, 1)
	c := exact.Must(NewClassifier(net, 0, 4, ClassifierConfig{Level: func(float64) float64 { return math.Inf(1) }}))
	assert.EqualError(t, c.Table(dst, []int32{4, 4, 4, 4}, 1), "neural: Classifier: Level(1) = +Inf, want a finite number")
	assert.PanicsWithValue(t, "neural: len(dst) = 19, want 20", func() { _ = c.Table(dst[:19], []int32{4, 4, 4, 4}, 1) })
	assert.PanicsWithValue(t, "neural: len(x) = 5, want 4", func() { _ = c.LogProb(one, make([]int32, 5), 1) })
	bad := net.Clone()
	bad.Weights()[len(bad.Weights())-1] = float32(math.NaN())
	for _, first := range []bool{false, true} {
		c = exact.Must(NewClassifier(bad, 0, 4, ClassifierConfig{FirstOrder: first}))
		assert.ErrorContains(t, c.Table(dst, []int32{4, 4, 4, 4}, 1), "NaN, want a finite number")
	}
}

func TestScorer(t *testing.T) {
	exact.SkipUnderRace(t)
	cfg := judged
	cfg.Outputs, cfg.Length = 1, 100 // 5 states a chunk
	net := randomNet(t, cfg, 4)
	ref := newReference(net)
	s := exact.Must(NewScorer(net))
	in := randomInput(net.Config(), 7, 6)
	got := make([]float64, 7)
	mean := func(rows []float64) float64 {
		ref.rows = rows
		sum := 0.0
		for _, v := range ref.state(nil, nil, 0, -1) {
			sum += v / 100
		}
		return sum
	}
	s.Scores(got, in.Tokens)
	for k, v := range got {
		require.InDelta(t, mean(oneHot(in.Tokens[k*100:(k+1)*100], 5)), v, 1e-5)
	}

	// Of rows of probabilities, and the slope there.
	v := make([]float32, 100*5)
	for i := range v {
		v[i] = float32((i*7)%11) / 30
	}
	rows := wide(v)
	assert.InDelta(t, mean(rows), s.Value(v), 1e-5)
	dst := make([]float32, len(v))
	s.Gradient(dst, v, 1)
	s.Gradient(dst, v, -3)
	for i := 0; i < len(v); i += 97 {
		want := -2 * difference(func() float64 { return mean(rows) }, &rows[i])
		require.InDelta(t, want, dst[i], 1e-5*max(1, math.Abs(want)), "%d", i)
	}
	hot := make([]float32, 500)
	for i, l := range in.Tokens[:100] {
		hot[i*5+int(l)] = 1
	}
	assert.InDelta(t, got[0], s.Value(hot), 1e-6)
	if !exact.Race {
		exact.Steady(t, "Scores", func() { s.Scores(got, in.Tokens) })
		exact.Steady(t, "Gradient", func() { s.Gradient(dst, v, 1) })
	}
	assert.EqualError(t, exact.Error(NewScorer(nil)), "neural: NewScorer: net is nil")
	assert.EqualError(t, exact.Error(NewScorer(randomNet(t, judged, 1))), "neural: NewScorer: net has 5 levels and 3 outputs, want ≥ 1 and 1")
	assert.PanicsWithValue(t, "neural: len(v) = 4, want 500", func() { s.Value(make([]float32, 4)) })
}

// Mixed embeddings have the gradients of their weights and of the embeddings.
func TestRowsOfTokens(t *testing.T) {
	cfg := shapes["classes"]
	net := randomNet(t, cfg, 1)
	cfg = net.Config()
	in := randomInput(cfg, 2, 2)
	x := in.Tokens
	p := net.NewTraining(2)
	y, z := make([]float32, 2*cfg.Length*cfg.Outputs), make([]float32, 2*cfg.Length*cfg.Outputs)
	p.Forward(in)
	p.Output(y, nil)
	d := append([]float32(nil), y...)
	p.Backward(append([]float32(nil), d...))
	grad := append([]float32(nil), p.Gradient()...)
	slope := make([]float32, len(x)*cfg.Levels)
	p.InputGradient(slope)

	in.Tokens, in.Rows = nil, make([]float32, len(x)*cfg.Levels)
	for i, v := range oneHot(x, cfg.Levels) {
		in.Rows[i] = float32(v)
	}
	p.Forward(in)
	p.Output(z, nil)
	assert.Equal(t, y, z)
	clear(p.Gradient())
	p.Backward(append([]float32(nil), d...))
	assert.Equal(t, grad, p.Gradient())
	again := make([]float32, len(slope))
	p.InputGradient(again)
	assert.Equal(t, slope, again)

	ref := newReference(net)
	one := cfg.Length * cfg.Outputs
	rows := oneHot(x[:cfg.Length], cfg.Levels)
	for i := range rows {
		want := difference(func() float64 {
			ref.rows = rows
			sum := 0.0
			for k, v := range ref.state(nil, nil, in.Level[0], int(in.Class[0])) {
				sum += v * float64(d[:one][k])
			}
			return sum
		}, &rows[i])
		require.InDelta(t, want, slope[i], 2e-5*max(1, math.Abs(want)))
	}
	assert.PanicsWithValue(t, "neural: InputGradient of a pass from NewPass, want NewTraining", func() { net.NewPass(1).InputGradient(nil) })
	assert.PanicsWithValue(t, "neural: len(Tokens) = 3, want 0", func() { p.Forward(Input{Tokens: x[:3], Rows: in.Rows, Level: in.Level}) })
}

// A network that is given a class predicts as one whose input has that class, and
// shares its weights.
func TestGiven(t *testing.T) {
	net := randomNet(t, shapes["classes"], 1)
	cfg := net.Config()
	in := randomInput(cfg, 3, 2)
	want, got := make([]float32, 3*cfg.Length*cfg.Outputs), make([]float32, 3*cfg.Length*cfg.Outputs)
	run := func(net *Transformer, class []int32, y []float32) {
		p := net.NewPass(3)
		in.Class = class
		p.Forward(in)
		p.Output(y, nil)
	}
	run(net, []int32{-1, -1, -1}, want)
	run(net, nil, got)
	assert.Equal(t, want, got, "none")
	given := exact.Must(net.Given(1))
	run(net, []int32{1, 1, 1}, want)
	assert.NotEqual(t, want, got)
	run(given.Clone(), nil, got)
	assert.Equal(t, want, got)
	run(exact.Must(given.Given(-1)), nil, got)
	assert.NotEqual(t, want, got)
	net.Weights()[0] = 17
	assert.Equal(t, float32(17), given.Weights()[0])
	assert.EqualError(t, exact.Error(net.Given(2)), "neural: Given: class = 2, want −1 … 1")
	assert.EqualError(t, exact.Error(randomNet(t, shapes["plain"], 1).Given(0)), "neural: Given: the network has no Classes")
	p := net.NewPass(1)
	assert.PanicsWithValue(t, "neural: Class[0] = 2, want −1 … 1", func() { p.Forward(Input{Tokens: in.Tokens[:3], Level: []float64{0}, Class: []int32{2}}) })
}
