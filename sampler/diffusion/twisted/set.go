package twisted

import (
	"github.com/gibbsite-go/gibbsite/constraint"
)

// Set is a set of series given by linear rows: constraint.Linear,
// constraint.Slabs or a *series.System without curved inequalities.
type Set interface {
	Split() (linear constraint.Slabs, curved constraint.Curved)
}

// excess is by how much equations that follow from others may fail, relative to
// their size: the rounding of decimal data that were put together.
const excess = 1e-9
