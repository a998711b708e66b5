package train

import (
	"fmt"
	"hash/crc64"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// problem is a training task: tokens under an [Objective], reals under a [RealObjective], or
// [Pairs].
type problem struct {
	objective Objective // objective of tokens; nil for reals and pairs
	tokens    []int32

	real  RealObjective
	reals []float32

	pairs *Pairs // pairs to fit; nil for tokens and reals

	rows int
}

// given returns the shape of the network. It returns an error if the network or the objective is
// nil.
func given(net *neural.Transformer, objective any) (c neural.Config, err error) {
	if net == nil {
		return c, fmt.Errorf("train: network is nil")
	}
	if check.Nil(objective) {
		return c, fmt.Errorf("train: objective is nil")
	}
	return net.Config(), nil
}

// tokenProblem returns a problem of tokens. It returns an error unless network, objective and
// data match.
func tokenProblem(net *neural.Transformer, objective Objective, data []int32) (*problem, error) {
	c, err := given(net, objective)
	if err != nil {
		return nil, err
	}
	if _, pooled := objective.(Pooled); pooled && c.Levels == 0 {
		return nil, fmt.Errorf("train: the network has no levels, want ≥ 1")
	} else if !pooled && (c.Levels == 0 || c.Outputs != c.Levels) {
		return nil, fmt.Errorf("train: the network has %d levels and %d outputs, want as many and ≥ 1", c.Levels, c.Outputs)
	}
	if err := objective.Check(c); err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%c.Length != 0 {
		return nil, fmt.Errorf("train: len(data) = %d, want a positive multiple of %d", len(data), c.Length)
	}
	for i, l := range data {
		if l < 0 || int(l) >= c.Levels {
			return nil, fmt.Errorf("train: data[%d] = %d, want 0 … %d", i, l, c.Levels-1)
		}
	}
	if l, ok := objective.(Labelled); ok && l.Rows() != len(data)/c.Length {
		return nil, fmt.Errorf("train: the objective is for %d rows of data, want %d", l.Rows(), len(data)/c.Length)
	}
	return &problem{objective: objective, tokens: data, rows: len(data) / c.Length}, nil
}

// realProblem returns a problem of reals. It returns an error unless network, objective and data
// match.
func realProblem(net *neural.Transformer, objective RealObjective, data []float32) (*problem, error) {
	c, err := given(net, objective)
	if err != nil {
		return nil, err
	}
	if c.Channels == 0 || c.Outputs != c.Channels {
		return nil, fmt.Errorf("train: the network has %d channels and %d outputs, want as many and ≥ 1", c.Channels, c.Outputs)
	}
	if err := objective.Check(c); err != nil {
		return nil, err
	}
	n := c.Length * c.Channels
	if len(data) == 0 || len(data)%n != 0 {
		return nil, fmt.Errorf("train: len(data) = %d, want a positive multiple of %d", len(data), n)
	}
	for i, v := range data {
		if !check.Finite(float64(v)) {
			return nil, fmt.Errorf("train: data[%d] = %v, want a finite number", i, v)
		}
	}
	return &problem{real: objective, reals: data, rows: len(data) / n}, nil
}

// pairProblem returns a problem of pairs. It returns an error unless the pairs match the network.
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

// addObjective adds a description of the objective to the settings of a checkpoint.
func (p *problem) addObjective(l *fingerprint.List) {
	switch {
	case p.pairs != nil:
		l.Text("objective", "pairs")
	case p.objective == nil:
		l.Add("objective", p.real)
	default:
		l.Add("objective", p.objective)
	}
}

// addData adds the size and a checksum of the data to the settings of a checkpoint. For pairs,
// whose entries may change, it adds only their number.
func (p *problem) addData(l *fingerprint.List) {
	if p.pairs != nil {
		l.Add("pairs", p.rows)
		return
	}
	var b []byte
	if p.objective == nil {
		l.Add("numbers of data", len(p.reals))
		b = wire.AppendFloat32s(nil, p.reals)
	} else {
		l.Add("tokens of data", len(p.tokens))
		b = wire.AppendInt32s(nil, p.tokens)
	}
	l.Text("checksum of data", fmt.Sprintf("%016x", crc64.Checksum(b, crc64.MakeTable(crc64.ECMA))))
}
