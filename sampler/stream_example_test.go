package sampler_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// A Stream is a rand.Source that a seed and a chain name, and that starts
// anywhere in constant time.
func ExampleStream() {
	a, b := sampler.NewStream(1, 0), sampler.NewStream(1, 0)
	for range 1000 {
		a.Uint32()
	}
	b.Skip(1000)
	fmt.Println(a.Uint64() == b.Uint64())

	dice := rand.New(sampler.NewStream(1, 7)) // chain 7 of the same seed
	fmt.Println(dice.IntN(6)+1, dice.IntN(6)+1, dice.IntN(6)+1)
	// Output:
	// true
	// 4 6 5
}
