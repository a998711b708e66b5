package distance_test

import (
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// Warping forgives a delay, which the distance time by time does not. A window
// limits how much of it.
func ExampleDTW() {
	pulse := []float32{0, 0, 1, 3, 1, 0, 0, 0}
	late := []float32{0, 0, 0, 0, 1, 3, 1, 0} // two times later
	higher := []float32{0, 0, 1, 5, 1, 0, 0, 0}
	for _, d := range []distance.DTW{{Channels: 1}, {Channels: 1, Window: new(1)}} {
		fmt.Printf("late %.0f, higher %.0f\n", d.Distance(pulse, late), d.Distance(pulse, higher))
	}
	// Output:
	// late 0, higher 2
	// late 6, higher 2
}

// Samples with the right means but only half the spread.
func ExampleFrechet() {
	data := []float32{-2, -1, 2, 1, -2, 1, 2, -1} // four series of two entries
	samples := []float32{-1, -0.5, 1, 0.5, -1, 0.5, 1, -0.5}
	for _, x := range [][]float32{data, samples} {
		d, err := distance.Frechet(x, data, 2)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", d) // (2 − 1)² + (1 − ½)² for the samples
	}
	// Output:
	// 0.00
	// 1.25
}

// How far each sample is from the nearest series of the data.
func ExampleDTW_Nearest() {
	d := distance.DTW{Channels: 1}
	data := []float32{0, 0, 1, 0, 1, 0}
	fmt.Println(d.Nearest([]float32{0, 1, 0, 2, 2, 2}, data, 3))
	// Output:
	// 2.5
}
