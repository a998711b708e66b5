package series_test

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/series"
)

// Limits are written in raw units, here degrees, while the model works on
// standardised values: raw = 15 + 10·standardised.
func ExampleShape() {
	b := series.NewBuilder(series.Shape{
		Length: 3, Channels: 1, Names: []string{"temperature"},
		Shift: []float64{15}, Scale: []float64{10},
	})
	b.Bounds(0, 5, 30)
	s, err := b.Build()
	if err != nil {
		panic(err)
	}
	worst, name := s.Violation([]float32{0, 2, -0.5}) // 15, 35 and 10 degrees
	fmt.Println(name)
	fmt.Println("exceeded by", worst, "standardised units")
	// Output:
	// 5 ≤ temperature at 1 ≤ 30
	// exceeded by 0.5 standardised units
}

// A system knows which of its inequalities are linear: a projection meets those
// exactly and linearises only the autocorrelation.
func ExampleSystem_Split() {
	b := series.NewBuilder(series.Shape{Length: 8, Channels: 1})
	b.At(0, 0, 1)
	b.Trend(0, 0, 4, false)
	b.Autocorrelation(0, 1, 0.5)
	s, err := b.Build()
	if err != nil {
		panic(err)
	}
	rows, curved := s.Split()
	fmt.Println(rows.Len(), "rows and", curved.Len(), "curved inequalities")
	for _, j := range []int{0, 1, s.Len() - 1} {
		fmt.Println(s.RowName(j))
	}
	// Output:
	// 4 rows and 2 curved inequalities
	// channel 0 at 0 = 1
	// channel 0 at 0 ≤ channel 0 at 1
	// autocorrelation of channel 0 at lag 1 = 0.5
}

// What a diffusion has drawn in float32 goes back to prices in cents that are in
// order to the last bit.
func ExamplePrices() {
	shape := series.Shape{Length: 2, Channels: 4, Shift: []float64{100, 101, 99, 100}, Scale: []float64{2, 2, 2, 2}}
	x := []float32{0.3, 0.1, 0.5, 0.8, 0.8, 0.30000001, 1.2, 0.7}
	raw := shape.Raw(x)
	moved, err := series.Prices{Open: 0, High: 1, Low: 2, Close: 3, Tick: 0.01}.Finish(raw, 4, 0.5)
	fmt.Println(raw, moved < 0.41, err)
	// Output: [100.6 101.6 100 101.6 101.6 101.6 101.4 101.4] true <nil>
}

// Two limits on a day of trade: what is traded in the morning, and how far the last
// price may be above the first.
func ExampleBuilder_Row() {
	b := series.NewBuilder(series.Shape{Length: 4, Channels: 2, Names: []string{"price", "volume"}, Tolerance: -1})
	b.Sum(1, 0, 2, 30)
	rise := constraint.Row{Index: []int32{0, 6}, Value: []float64{-1, 1}} // x[3, price] − x[0, price]
	b.Row("rise", rise, 0, 5)
	s, err := b.Build()
	if err != nil {
		panic(err)
	}
	for _, day := range [][]float32{
		{100, 10, 101, 20, 99, 5, 107, 5},
		{100, 10, 101, 26, 99, 5, 104, 5},
	} {
		worst, name := s.Violation(day)
		fmt.Println(name, "by", worst)
	}
	// Output:
	// rise by 2
	// sum of volume, t = 0…1 = 30 by 6
}
