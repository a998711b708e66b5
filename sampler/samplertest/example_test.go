package samplertest_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/samplertest"
)

// A method of one's own, here one that forgets where it is when it is saved, is held
// against every law.
func ExampleTestMethod() {
	var method sampler.Method = barker{Bug: "lost position"}
	if err := samplertest.TestMethod(context.Background(), method, samplertest.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// samplertest: samplertest_test.barker: resume: model 0 (Ising ring, 5 sites of 2 levels): saved after 1 of 20 draws and loaded: chain 0 differs from draw 1 on (40 chains, warm-up 20)
}

func ExampleOptions() {
	// A method that is confined to the states whose levels sum to 3 or less states it.
	opt := samplertest.Options{Support: func(x []int32) bool {
		sum := int32(0)
		for _, l := range x {
			sum += l
		}
		return sum <= 3
	}}
	fmt.Println(opt.Support([]int32{1, 1, 1}), opt.Support([]int32{2, 2, 0}))
	// Output:
	// true false
}

// A method that is known not to mix states it, and is held to the other laws.
func ExampleOptions_skip() {
	var method sampler.Method = barker{Bug: "skipped site"} // invariant, but the last site stays
	opt := samplertest.Options{Draws: 4096, Seed: 1}
	fmt.Println(samplertest.TestMethod(context.Background(), method, opt))
	opt.Skip = []string{"mixing"}
	fmt.Println(samplertest.TestMethod(context.Background(), method, opt))
	opt.Skip = []string{"speed"}
	fmt.Println(samplertest.TestMethod(context.Background(), method, opt))
	// Output:
	// samplertest: samplertest_test.barker: mixing: model 0 (Ising ring, 5 sites of 2 levels): after 256 steps from [1 0 1 0 0], half of them after one more: 0 of 512 chains are at [1 1 1 1 1], want about 152 (p-value 1.4e-222, seed 1)
	// <nil>
	// samplertest: Options: Skip names "speed", which is not a law
}
