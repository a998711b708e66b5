package network

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// encode appends frame i of the state.
func (b *buffer) encode(i int, data []byte) ([]byte, error) {
	if i == 0 {
		data = wire.AppendInts(data, b.filled)
		for _, v := range [][]float64{b.frame.scale, b.most, b.paths} {
			data = wire.AppendFloat64s(data, v)
		}
		if b.tied != nil {
			return b.tied.encode(data)
		}
		return data, nil
	}
	data = wire.AppendFloat64s(data, b.pairs.Level)
	data = wire.AppendFloat32s(data, b.pairs.X)
	return wire.AppendFloat32s(data, b.pairs.Target), nil
}

// decode reads what encode appended.
func (b *buffer) decode(i int, data []byte) (_ []byte, err error) {
	if i == 1 {
		if data, err = wire.ReadFloat64s(data, b.pairs.Level); err != nil {
			return nil, err
		}
		if data, err = wire.ReadFloat32s(data, b.pairs.X); err != nil {
			return nil, err
		}
		return wire.ReadFloat32s(data, b.pairs.Target)
	}
	var filled [1]uint64
	if data, err = wire.ReadUint64s(data, filled[:]); err != nil {
		return nil, err
	}
	if filled[0] > math.MaxInt32/uint64(b.cfg.PerRound) {
		return nil, fmt.Errorf("%d rounds, want ≤ %d", filled[0], math.MaxInt32/b.cfg.PerRound)
	}
	b.filled = int(filled[0])
	for _, v := range [][]float64{b.frame.scale, b.most, b.paths} {
		if data, err = wire.ReadFloat64s(data, v); err != nil {
			return nil, err
		}
		for j, x := range v {
			if !(x >= 0) || !check.Finite(x) {
				return nil, fmt.Errorf("number %d of the state = %v, want a finite number ≥ 0", j, x)
			}
		}
	}
	if b.tied != nil {
		return b.tied.decode(data)
	}
	return data, nil
}
