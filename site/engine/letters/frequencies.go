package letters

import (
	"math"
)

// Frequencies returns log-weights for sites × (len(alphabet) + 1) symbols, the same at every site.
// The weight of a character is its smoothed frequency in the lines times 1 − 1/average, the
// probability that the text continues. The last symbol ends and pads the text; its log-weight is 0.
func Frequencies(lines []string, alphabet []rune, sites int, average float64) []float32 {
	n, sum := map[rune]float64{}, 0.0
	for _, line := range lines {
		for _, r := range line {
			n[r]++
			sum++
		}
	}
	k := len(alphabet) + 1
	w := make([]float32, sites*k)
	for i := range sites {
		for t, r := range alphabet {
			w[i*k+t] = float32(math.Log((n[r]+0.5)/(sum+0.5*float64(k))) + math.Log1p(-1/average))
		}
	}
	return w
}
