package lead

import "github.com/gibbsite-go/gibbsite/internal/simd"

// Rule defines which row is nearest, and the cost of making a token lead. The zero value
// is the forward divergence without a margin.
type Rule struct {
	Reverse bool    // min KL(y‖x) instead of min KL(x‖y)
	Margin  float64 // κ ≥ 1, 0 for 1
	Gap     bool    // the cost is max_u x_u − x_v instead
	Revive  bool    // forward: a token of weight zero may become the greatest
}

// rule is a Rule with what follows from it.
type rule struct {
	Rule
	logKappa float64
	plain    bool // forward, without margin or gap
}

// compile puts the default in and takes the logarithm of the margin.
func (r Rule) compile() rule {
	if r.Margin == 0 {
		r.Margin = 1
	}
	return rule{r, simd.Log(r.Margin), !r.Reverse && r.Margin == 1 && !r.Gap}
}
