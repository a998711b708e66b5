package picture

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks are four to ten labels at multiples of 1, 2 or 5 times a power of ten.
type ticks struct{}

// Ticks implements plot.Ticker.
func (ticks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return []plot.Tick{{Value: low, Label: strconv.FormatFloat(low, 'g', 6, 64)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, k := range []float64{5, 2} {
		if (high-low)/(k*step) >= 3.5 {
			step *= k
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	format := byte('f')
	if digits > 4 || high >= 1e6 {
		format, digits = 'g', -1
	}
	var all []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		v := k * step
		label := v
		if format == 'g' {
			label, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		}
		all = append(all, plot.Tick{Value: v, Label: strconv.FormatFloat(label+0, format, digits, 64)})
	}
	return all
}
