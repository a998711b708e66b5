package train

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Pairs are inputs of a network of reals and what it should make of them, row by row:
// data that are corrupted, or made, elsewhere. The loss is the squared error, averaged
// over the entries of a target.
type Pairs struct {
	X      []float32 // rows × Length × Channels
	Level  []float64 // of noise, one per row; nil: all 0
	Target []float32 // rows × Length × Outputs
}

// finite returns an error for the first number of a slice of pairs that is not finite.
func finite[T float32 | float64](name string, v []T) error {
	for i, x := range v {
		if !check.Finite(float64(x)) {
			return fmt.Errorf("train: NewPairs: %s[%d] = %v, want a finite number", name, i, x)
		}
	}
	return nil
}

// store copies the pair of a row and returns its level.
func (p *Pairs) store(x, target []float32, row int) float64 {
	copy(x, p.X[row*len(x):(row+1)*len(x)])
	copy(target, p.Target[row*len(target):(row+1)*len(target)])
	if p.Level == nil {
		return 0
	}
	return p.Level[row]
}
