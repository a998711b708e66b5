package neural

import (
	"fmt"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Scorer is a network that computes a number, the score, for every clean state of tokens. The score
// is learned with train.Regress and is not the gradient of a log-density. The network has one
// output f_i at each position i, and the score is the mean over the L positions:
//
//	s(x) = 1/L·Σ_i f_i(x).
//
// If positions hold distributions over tokens, a Scorer uses the mean of the tokens' embeddings. It
// also computes the gradient with respect to the probabilities. Its methods serve as the fields of
// a constraint.Score: Value as F, Gradient as Gradient, and Scores as DecideAll. train.Evaluate
// measures the error on other data.
//
// A Scorer is safe for concurrent use, and concurrent calls do not wait for each other.
type Scorer struct {
	net  *Transformer
	one  sync.Pool // pool of *scoring for one state and its gradient
	many sync.Pool // pool of *scoring for chunks of states
}

// scoring is the scratch of one call.
type scoring struct {
	pass  *Pass
	level []float64
	y     []float32
	slope []float32
}

// NewScorer returns the [Scorer] of a network of tokens with one output per position. It returns an
// error if net is nil, is a network of reals, or has more than one output.
func NewScorer(net *Transformer) (*Scorer, error) {
	switch {
	case net == nil:
		return nil, fmt.Errorf("neural: NewScorer: net is nil")
	case net.cfg.Levels == 0 || net.cfg.Outputs != 1:
		return nil, fmt.Errorf("neural: NewScorer: net has %d levels and %d outputs, want ≥ 1 and 1", net.cfg.Levels, net.cfg.Outputs)
	}
	s := &Scorer{net: net}
	rows := net.cfg.Length
	chunk := max(1, chunkRows/rows)
	s.one.New = func() any {
		return &scoring{net.NewTraining(1), make([]float64, 1), make([]float32, rows), make([]float32, rows*net.cfg.Levels)}
	}
	s.many.New = func() any {
		return &scoring{net.NewPass(chunk), make([]float64, chunk), make([]float32, chunk*rows), nil}
	}
	return s, nil
}

// Scores stores in dst the score of each of the states x (states × sites). NaN means that the
// network failed. Scores panics if the lengths do not match or a token is out of range.
func (s *Scorer) Scores(dst []float64, x []int32) {
	sites := s.net.cfg.Length
	check.Len("neural", "x", len(x), len(dst)*sites)
	w := s.many.Get().(*scoring)
	defer s.many.Put(w)
	for len(dst) > 0 {
		n := min(len(dst), len(w.level))
		w.pass.Forward(Input{Tokens: x[:n*sites], Level: w.level[:n]})
		w.pass.Output(w.y[:n*sites], nil)
		for k := range n {
			means(dst[k:k+1], w.y[k*sites:(k+1)*sites])
		}
		dst, x = dst[n:], x[n*sites:]
	}
}

// Value returns the score of one state in which every position holds a distribution over tokens.
// The state is a row-major array of sites × levels probabilities.
func (s *Scorer) Value(v []float32) float64 {
	w := s.one.Get().(*scoring)
	defer s.one.Put(w)
	return s.value(w, v)
}

func (s *Scorer) value(w *scoring, v []float32) float64 {
	check.Len("neural", "v", len(v), len(w.slope))
	w.pass.Forward(Input{Rows: v, Level: w.level})
	w.pass.Output(w.y, nil)
	var mean [1]float64
	means(mean[:], w.y)
	return mean[0]
}

// Gradient adds weight·∂s/∂v to dst, where s is the score of one state. Each position of the state
// holds a distribution over tokens, and v holds these probabilities. Both dst and v are row-major
// arrays of sites × levels.
func (s *Scorer) Gradient(dst, v []float32, weight float64) {
	check.Len("neural", "dst", len(dst), len(v))
	w := s.one.Get().(*scoring)
	defer s.one.Put(w)
	s.value(w, v)
	for i := range w.y {
		w.y[i] = float32(weight / float64(len(w.y)))
	}
	clear(w.pass.grad)
	w.pass.Backward(w.y)
	w.pass.InputGradient(w.slope)
	simd.Axpy(1, w.slope, dst)
}
