package read

import (
	"io"
	"math"
)

// Evidence reads the observed values of variables in the format of the UAI inference competitions.
// The file holds the number k of observations, and for each of them a variable i, numbered from 0,
// and its value v:
//
//	k i_1 v_1 … i_k v_k
//
// The older form, which begins with the number of samples, is accepted if that number is 1. Pass
// the result to [energy.Clamp], which checks it against a model. Errors name the line, the column
// and what was expected.
func Evidence(r io.Reader) (map[int]int32, error) {
	w := newWords("Evidence", r)
	var v []int
	for {
		if _, err := w.next(""); err != nil {
			if w.failed {
				return nil, err
			}
			break // end of the file
		}
		n, err := w.lines.integer(w.at-1, "a number", 0, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		v = append(v, n)
	}
	// An even length: the number of samples precedes the count and the pairs.
	if len(v) > 0 && len(v)%2 == 0 {
		if v[0] != 1 {
			return nil, w.failf("%d samples of evidence, want 1", v[0])
		}
		v = v[1:]
	}
	if len(v) == 0 {
		return nil, w.failf("no numbers, want how many variables are observed")
	}
	if len(v) != 1+2*v[0] {
		return nil, w.failf("%d numbers after %d, want a variable and a value for each of as many", len(v)-1, v[0])
	}
	fixed := map[int]int32{}
	for k := 1; k < len(v); k += 2 {
		if l, ok := fixed[v[k]]; ok && l != int32(v[k+1]) {
			return nil, w.failf("variable %d has the values %d and %d, want one", v[k], l, v[k+1])
		}
		fixed[v[k]] = int32(v[k+1])
	}
	return fixed, nil
}
