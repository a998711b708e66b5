package model

import "fmt"

// OrderParameter returns the order parameter of a Potts model with the given
// number of levels, a function of one state of n sites,
//
//	(q·max_l n_l/n − 1) / (q − 1),
//
// n_l the number of sites of level l: 0 if all levels are as frequent, 1 if all
// sites have the same one. It panics unless 2 ≤ levels; the function panics on an
// empty state and on a level out of range, and is safe for concurrent use.
func OrderParameter(levels int) func(x []int32) float64 {
	if levels < 2 {
		panic(fmt.Sprintf("model: OrderParameter: levels = %d, want ≥ 2", levels))
	}
	return func(x []int32) float64 {
		if len(x) == 0 {
			panic("model: OrderParameter: len(x) = 0, want ≥ 1")
		}
		var room [64]int
		counts := room[:]
		if levels > len(room) {
			counts = make([]int, levels)
		}
		most := 0
		for i, l := range x {
			if l < 0 || int(l) >= levels {
				panic(fmt.Sprintf("model: OrderParameter: x[%d] = %d, want 0 … %d", i, l, levels-1))
			}
			counts[l]++
			most = max(most, counts[l])
		}
		return (float64(levels)*float64(most)/float64(len(x)) - 1) / float64(levels-1)
	}
}
