package dual

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// belongs returns an error if the primal knows the energies it draws by and they
// do not change with the target's multipliers where λᵀg does. Multipliers are
// those at the start afterwards.
func belongs[S energy.Site](t Target[S], p Primal[S], start []float64) error {
	chains, ok := p.(Energetic[S])
	if !ok {
		return nil
	}
	x, n := p.States(), t.Len()
	states := len(x) / t.Sites()
	g, before, after := make([]float64, states*n), make([]float64, states), make([]float64, states)
	if err := t.SetLambda(start); err != nil {
		return err
	}
	chains.Energy(before, x)
	t.Violation(g, x)
	probe := make([]float64, n)
	for j, l := range start {
		probe[j] = l + float64(j+1)/float64(2*n*(n+1)) // adds a quarter in all
	}
	if err := t.SetLambda(probe); err != nil {
		return nil // out of the target's range: no way to tell
	}
	chains.Energy(after, x)
	if err := t.SetLambda(start); err != nil {
		return err
	}
	for j, l := range start {
		probe[j] -= l
	}
	said := false
	for s, e := range before {
		if after[s] != e {
			return nil
		}
		d := weighted.Dot(probe, g[s*n:(s+1)*n]) / t.Beta()
		// Beyond what rounding may hide.
		said = said || check.Finite(e) && math.Abs(d) > float64(1e-9*(1+math.Abs(e)))
	}
	if said {
		return fmt.Errorf("dual: NewInference: the energies that the primal draws by do not change with the target's multipliers: it runs on another model")
	}
	return nil
}
