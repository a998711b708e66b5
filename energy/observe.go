package energy

import "fmt"

// Magnetization returns the mean spin (1/n) Σ (2x_i − 1) of one two-level
// state, in [−1, 1]. It panics if the state is empty or has a level other than 0
// and 1; for more levels see model.OrderParameter.
func Magnetization(x []int32) float64 {
	if len(x) == 0 {
		panic("energy: Magnetization: len(x) = 0, want ≥ 1")
	}
	up, all := 0, int32(0)
	for _, v := range x {
		up += int(v)
		all |= v
	}
	if all&^1 != 0 {
		for i, v := range x {
			if v&^1 != 0 {
				panic(fmt.Sprintf("energy: Magnetization: x[%d] = %d, want 0 or 1: it is for models of two levels; see model.OrderParameter", i, v))
			}
		}
	}
	return float64(2*up-len(x)) / float64(len(x))
}
