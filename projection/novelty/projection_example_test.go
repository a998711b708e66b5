package novelty_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/projection/novelty"
)

// Two sequences are the same if they are permutations of each other, as Key
// says. A sample that is known already becomes the nearest one that is not.
func ExampleProjection() {
	sorted := func(x []int32) string { return fmt.Sprint(slices.Sorted(slices.Values(x))) }
	bound, err := novelty.Projector{Key: sorted}.Bind(context.Background(), 2, 3, 1)
	if err != nil {
		panic(err)
	}
	p := bound.(*novelty.Projection)
	v := []float32{
		0, 4, 2,
		5, 1, 2,
	}
	for _, x := range [][]int32{{1, 0}, {0, 1}, {1, 0}} {
		if err := p.Commit(context.Background(), x, v, nil); err != nil {
			panic(err)
		}
		fmt.Println(x)
	}
	// Output:
	// [1 0]
	// [2 0]
	// [1 2]
}
