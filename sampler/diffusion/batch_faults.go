package diffusion

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// appendFaults appends why samples were given up: the sample, the length of the
// text, 1 if the error wrapped constraint.ErrInfeasible, and the text.
func appendFaults(b []byte, faults []fault) []byte {
	for _, f := range faults {
		e, infeasible := record(f.why), 0
		if e.infeasible {
			infeasible = 1
		}
		b = wire.AppendInts(b, f.of, len(e.text), infeasible)
		b = append(b, e.text...)
	}
	return b
}

// readFaults reads why n of the samples of a checkpoint were given up.
func readFaults(dst *[]fault, n, samples int, b []byte) (rest []byte, err error) {
	for range n {
		var head [3]uint64
		if b, err = wire.ReadUint64s(b, head[:]); err != nil {
			return nil, err
		}
		least := uint64(0)
		if k := len(*dst); k > 0 {
			least = uint64((*dst)[k-1].of) + 1
		}
		if head[0] < least || head[0] >= uint64(samples) || head[1] > min(mostText, uint64(len(b))) || head[2] > 1 {
			return nil, fmt.Errorf("sample %d of %d was given up for %d bytes of reasons", head[0], samples, head[1])
		}
		*dst = append(*dst, fault{int(head[0]), &recorded{string(b[:head[1]]), head[2] == 1}})
		b = b[head[1]:]
	}
	return b, nil
}
