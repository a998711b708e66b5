package denoise

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Tempered makes the predictions of a denoiser of tokens sharper: likely tokens become more likely.
// Tempered can be used with any process, projection and guidance of a diffusion. Every site has a
// row v of log-weights, where level l has the weight exp(v_l). Each row is changed in this order:
//
//	remove the levels in Without,
//	divide v by Temperature,
//	keep only the TopK levels with the largest weights,
//	remove the smallest weights while at least the fraction TopP of the total weight remains.
//
// The total weight is that of the TopK levels. Among equal weights, lower levels are kept first.
// The samples no longer have the denoiser's distribution. A struct literal is ready for use. A
// Tempered is safe for concurrent use if Denoiser is.
type Tempered struct {
	Denoiser energy.Denoiser[int32]

	Temperature float64 // divisor of the log-weights, > 0; values below 1 sharpen; 0 means 1
	TopK        int     // number of levels that are kept, ≥ 1; 0 means all
	TopP        float64 // fraction of the weight that is kept, in (0, 1]; 0 means 1
	// levels to remove because they are not tokens, such as the mask
	Without []int32
}

// inside is a denoiser that reports whether it may be wrapped by another one.
// diffusion.ClassifierFree is an example.
type inside interface{ CheckInside() error }

// Check returns an error that names an invalid field, or the error of the wrapped denoiser's Check.
func (d Tempered) Check() error {
	if err := check.Given("denoise: Tempered", "Denoiser", d.Denoiser); err != nil {
		return err
	}
	if c, ok := energy.As[inside](d.Denoiser); ok {
		if err := c.CheckInside(); err != nil {
			return fmt.Errorf("denoise: Tempered: %w", err)
		}
	}
	_, levels := d.Denoiser.Shape()
	switch {
	case !(d.Temperature >= 0) || math.IsInf(d.Temperature, 1):
		return fmt.Errorf("denoise: Tempered: Temperature = %v, want finite and ≥ 0", d.Temperature)
	case d.TopK < 0:
		return fmt.Errorf("denoise: Tempered: TopK = %d, want ≥ 0", d.TopK)
	case !(d.TopP >= 0 && d.TopP <= 1):
		return fmt.Errorf("denoise: Tempered: TopP = %v, want 0 … 1", d.TopP)
	}
	for i, l := range d.Without {
		if l < 0 || int(l) >= levels {
			return fmt.Errorf("denoise: Tempered: Without[%d] = %d, want 0 … %d", i, l, levels-1)
		}
	}
	return nil
}

// Shape returns the shape of the wrapped denoiser, the field Denoiser, which must not be nil.
func (d Tempered) Shape() (sites, levels int) {
	check.Must("denoise: Tempered", "Denoiser", d.Denoiser)
	return d.Denoiser.Shape()
}

// TimeFree reports whether the predictions of the wrapped denoiser are independent of time.
func (d Tempered) TimeFree() bool { return energy.TimeFree(d.Denoiser) }

// LeaveOneOut reports whether the wrapped denoiser predicts each site from the other sites only.
func (d Tempered) LeaveOneOut() bool { return energy.LeaveOneOut(d.Denoiser) }

// As implements [energy.Capable]: a Tempered is [energy.Masking] if the wrapped denoiser is.
func (d Tempered) As(target any) bool {
	m, ok := energy.As[energy.Masking](d.Denoiser)
	return ok && energy.Give(target, m)
}

// Denoise stores in v the sharpened predictions; it implements [energy.Denoiser]. It leaves a
// row unchanged if the row contains a NaN or +Inf, or if all its entries are −Inf.
func (d Tempered) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if err := d.Check(); err != nil {
		return err
	}
	if err := d.Denoiser.Denoise(ctx, v, q); err != nil {
		return err
	}
	_, levels := d.Denoiser.Shape()
	b := scratch.Float32s.Get(2 * levels)
	defer scratch.Float32s.Put(b)
	for ; len(v) > 0; v = v[levels:] {
		d.temper(v[:levels], (*b)[:levels], (*b)[levels:2*levels])
	}
	return nil
}

// temper sharpens one row; w and p are scratch of the same length.
func (d Tempered) temper(row, w, p []float32) {
	for _, l := range d.Without {
		row[l] = never
	}
	var top [1]int32
	if simd.ArgMax(top[:], row, len(row)); top[0] < 0 || math.IsInf(float64(row[top[0]]), 1) {
		return
	}
	if d.Temperature > 0 && d.Temperature != 1 {
		shift := row[top[0]] // largest weight; subtracting it prevents overflow
		for i, x := range row {
			row[i] = float32((float64(x) - float64(shift)) / d.Temperature)
		}
	}
	if d.TopK > 0 && d.TopK < len(row) {
		copy(w, row)
		keep(row, row, quantile(w, float64(d.TopK), one), float64(d.TopK), one)
	}
	if d.TopP > 0 && d.TopP < 1 {
		var total [1]float64
		simd.Weights(w, total[:], row, len(row), 0)
		copy(p, w)
		goal := float64(d.TopP * total[0])
		keep(row, p, quantile(w, goal, itself), goal, itself)
	}
}

func one(float32) float64      { return 1 }
func itself(x float32) float64 { return float64(x) }

// quantile returns the largest entry t of w for which the entries ≥ t have a total measure of at
// least goal. If the total of all entries is less, it returns the smallest entry. It reorders w.
func quantile(w []float32, goal float64, measure func(x float32) float64) float32 {
	least := slices.Min(w)
	for len(w) > 0 {
		pivot := w[len(w)/2]
		above, equal := 0, 0 // w[:above] > pivot, followed by the entries equal to pivot
		more, same := 0.0, 0.0
		for i, x := range w {
			switch {
			case x > pivot:
				more += measure(x)
				w[i] = w[above+equal]
				w[above+equal] = w[above]
				w[above] = x
				above++
			case x == pivot:
				same += measure(x)
				w[i] = w[above+equal]
				w[above+equal] = x
				equal++
			}
		}
		switch {
		case more >= goal:
			w = w[:above]
		case more+same >= goal:
			return pivot
		default:
			goal -= more + same
			w = w[above+equal:]
		}
	}
	return least
}

// keep sets a level of row to −Inf if its entry in w is below least. Of the levels whose entry
// equals least, it keeps the first ones, as many as goal requires.
func keep(row, w []float32, least float32, goal float64, measure func(x float32) float64) {
	for _, x := range w {
		if x > least {
			goal -= measure(x)
		}
	}
	for i, x := range w {
		if x < least || x == least && goal <= 0 {
			row[i] = never
		} else if x == least {
			goal -= measure(x)
		}
	}
}
