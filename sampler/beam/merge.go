package beam

import (
	"errors"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// mergeFn merges tallies; the empty accumulator is no tally.
type mergeFn struct{}

func (*mergeFn) MergeAccumulators(a, b []byte) ([]byte, error) {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...), nil
	}
	var x, y diagnose.Tally
	if err := errors.Join(x.UnmarshalBinary(a), y.UnmarshalBinary(b)); err != nil {
		return nil, err
	}
	if err := x.Merge(&y); err != nil {
		return nil, err
	}
	return x.MarshalBinary()
}

// ExtractOutput refuses what is not the whole run.
func (*mergeFn) ExtractOutput(a []byte) ([]byte, error) {
	var t diagnose.Tally
	if err := t.UnmarshalBinary(a); err != nil {
		return nil, err
	}
	return a, t.Missing()
}
