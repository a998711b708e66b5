package diagnose_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// ones counts the sites at level 1.
func ones(x []int32) (n float64) {
	for _, v := range x {
		n += float64(v)
	}
	return n
}

func ExampleTrace() {
	tr := diagnose.NewTrace(ones).Name("ones")
	// A runner calls Observe; here two chains count up in binary.
	for draw := range 8 {
		x := []int32{int32(draw & 1), int32(draw >> 1 & 1), int32(draw >> 2)}
		tr.Observe(0, draw, x, &sampler.Info{Accept: 1, Moved: 1})
		tr.Observe(1, draw, x, &sampler.Info{Accept: 0.5})
	}
	fmt.Print(tr.Summary())
	// Output:
	// 2 chains × 8 draws, acceptance 0.75, 0.5 moves per step
	//
	//       Mean    MCSE  StdDev  5%  50%  95%  ESS_bulk  ESS_tail  R_hat
	// ones   1.5  0.3162  0.8944   0  1.5    3         8         8  1.118
	//
	// Warning: ones: R-hat = 1.118 > 1.01: the chains have not mixed
	// Warning: ones: bulk ESS = 8 < 400: estimates are unreliable
	// Warning: ones: tail ESS = 8 < 400: estimates are unreliable
}
