package diffusion

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// ExactClassifier is the classifier log p(y | x) = −E(x), evaluated for every
// level of every site. The model's levels include the mask, if there is one.
type ExactClassifier struct{ Model energy.Model }

// Table implements [Classifier].
func (c ExactClassifier) Table(dst []float32, x []int32, _ float64) error {
	if err := check.Given("diffusion: ExactClassifier", "Model", c.Model); err != nil {
		return err
	}
	sites, levels := c.Model.Shape()
	check.Len("diffusion", "x", len(x), sites)
	check.Len("diffusion", "dst", len(dst), sites*levels)
	conditional := energy.Conditionals(c.Model)
	d := make([]float64, levels)
	for i := range sites {
		conditional.Conditional(d, i, x)
		for l, e := range d {
			dst[i*levels+l] = float32(0 - e) // no negative zero
		}
	}
	return nil
}

// FirstOrderClassifier is [ExactClassifier] with the table of an
// [energy.Differentiable] model: for those whose table is a gradient, the
// first-order Taylor expansion of log p(y | x) at x, for the price of one
// evaluation.
type FirstOrderClassifier struct{ Model energy.Model }

// Table implements [Classifier]. The error says that the model has no table.
func (c FirstOrderClassifier) Table(dst []float32, x []int32, _ float64) error {
	if err := check.Given("diffusion: FirstOrderClassifier", "Model", c.Model); err != nil {
		return err
	}
	m, ok := energy.As[energy.Differentiable](c.Model)
	if !ok {
		return fmt.Errorf("diffusion: FirstOrderClassifier: %T is not energy.Differentiable", c.Model)
	}
	var e [1]float64
	m.Gradient(e[:], dst, x)
	for i, g := range dst {
		dst[i] = 0 - g // no negative zero
	}
	return nil
}
