package check

import "fmt"

// States is deferred by what looks levels up in a table, where Go checks the index
// anyway: a panic becomes one that names the level, if x has one outside
// 0 … levels−1, and goes on as it was otherwise.
func States(who string, x []int32, levels int) {
	p := recover()
	if p == nil {
		return
	}
	for i, l := range x {
		if l < 0 || int(l) >= levels {
			panic(fmt.Sprintf("%s: x[%d] = %d, want 0 … %d", who, i, l, levels-1))
		}
	}
	panic(p)
}
