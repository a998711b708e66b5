package diffusion

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// PredictionError says that a row of a prediction cannot be drawn from. An
// empty row wraps [constraint.ErrInfeasible].
type PredictionError struct {
	Site  int
	Empty bool // every level has weight zero; otherwise the row has a NaN or +Inf
}

func (e *PredictionError) Error() string {
	if e.Empty {
		return fmt.Sprintf("the prediction for site %d gives every level weight zero (a mask counts for nothing: is Mask the denoiser's?)", e.Site)
	}
	return fmt.Sprintf("the prediction for site %d has a weight that is NaN or +Inf", e.Site)
}

func (e *PredictionError) Unwrap() error {
	if e.Empty {
		return constraint.ErrInfeasible
	}
	return nil
}

// drawRow draws the level of one site from its row of log-weights, by inverse
// CDF with a 53-bit uniform.
func drawRow(v []float32, site, levels int, r *sampler.Stream) (int32, error) {
	var idx [1]int32
	u := [1]float64{r.Float64()}
	row := v[site*levels : (site+1)*levels]
	simd.Categorical(idx[:], row, levels, u[:])
	if idx[0] < 0 {
		return 0, badRow(row, site)
	}
	return idx[0], nil
}

// badRow says why a row cannot be drawn from.
func badRow(row []float32, site int) error {
	for _, w := range row {
		if w != w || math.IsInf(float64(w), 1) {
			return &PredictionError{Site: site}
		}
	}
	return &PredictionError{Site: site, Empty: true}
}

// oneHot gives all weight of a row to one level.
func oneHot(row []float32, level int32) {
	never := float32(math.Inf(-1))
	for l := range row {
		row[l] = never
	}
	row[level] = 0
}

// rowLen returns the number of levels of a table for x.
func rowLen(v []float32, sites int) int {
	if sites == 0 || len(v)%sites != 0 || len(v) == 0 {
		panic(fmt.Sprintf("diffusion: len(v) = %d, want a positive multiple of %d", len(v), sites))
	}
	return len(v) / sites
}
