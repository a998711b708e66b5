package train

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Pairs are inputs of a network of reals and what it should make of them, row by row:
// data that are corrupted, or made, elsewhere. The loss is the squared error, averaged
// over the entries of a target.
type Pairs struct {
	X      []float32 // rows × Length × Channels
	Level  []float64 // of noise, one per row; nil: all 0
	Target []float32 // rows × Length × Outputs
}

// NewPairs returns a trainer of a network of reals on pairs, which it keeps. Their
// entries may change between Runs (a replay buffer), so a checkpoint holds their number
// alone: who loads it restores them. The error says what of cfg is out of range, that
// net or pairs is nil, that the network is one of tokens, that a length does not fit,
// or which number is not finite.
func NewPairs(net *neural.Transformer, pairs *Pairs, cfg Config) (*Trainer, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	p, err := pairProblem(net, pairs)
	if err != nil {
		return nil, err
	}
	return newTrainer(net, p, cfg), nil
}

// pairProblem checks that pairs fit the network.
func pairProblem(net *neural.Transformer, pairs *Pairs) (*problem, error) {
	if net == nil || pairs == nil {
		return nil, fmt.Errorf("train: NewPairs: network set = %t and pairs set = %t, want both", net != nil, pairs != nil)
	}
	c := net.Config()
	if c.Channels == 0 {
		return nil, fmt.Errorf("train: NewPairs: the network has 0 channels, want ≥ 1")
	}
	in, out := c.Length*c.Channels, c.Length*c.Outputs
	rows := len(pairs.X) / in
	switch {
	case rows == 0 || len(pairs.X)%in != 0:
		return nil, fmt.Errorf("train: NewPairs: len(X) = %d, want a positive multiple of %d", len(pairs.X), in)
	case len(pairs.Target) != rows*out:
		return nil, fmt.Errorf("train: NewPairs: len(Target) = %d, want %d", len(pairs.Target), rows*out)
	case pairs.Level != nil && len(pairs.Level) != rows:
		return nil, fmt.Errorf("train: NewPairs: len(Level) = %d, want %d or none", len(pairs.Level), rows)
	}
	if err := finite("X", pairs.X); err != nil {
		return nil, err
	}
	if err := finite("Target", pairs.Target); err != nil {
		return nil, err
	}
	if err := finite("Level", pairs.Level); err != nil {
		return nil, err
	}
	return &problem{pairs: pairs, rows: rows}, nil
}

// finite returns an error for the first number of a slice of pairs that is not finite.
func finite[T float32 | float64](name string, v []T) error {
	for i, x := range v {
		if !check.Finite(float64(x)) {
			return fmt.Errorf("train: NewPairs: %s[%d] = %v, want a finite number", name, i, x)
		}
	}
	return nil
}

// store copies the pair of a row and returns its level.
func (p *Pairs) store(x, target []float32, row int) float64 {
	copy(x, p.X[row*len(x):(row+1)*len(x)])
	copy(target, p.Target[row*len(target):(row+1)*len(target)])
	if p.Level == nil {
		return 0
	}
	return p.Level[row]
}
