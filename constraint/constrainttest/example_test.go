package constrainttest_test

import (
	"fmt"
	"log"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/constrainttest"
)

// pairwise accepts sequences in which every token stands an even number of times; a bit of its
// state is 1 if its token has stood an odd number of times.
type pairwise struct{ tokens int }

func (p pairwise) States() int              { return 1 << p.tokens }
func (p pairwise) Start() int               { return 0 }
func (p pairwise) Accepting(state int) bool { return state == 0 }

func (p pairwise) Next(state int, t int32) int {
	if t < 0 || int(t) >= p.tokens {
		return -1
	}
	return state ^ 1<<t
}

// Three lines check a language of your own. In a test, the middle one is t.Fatal(err).
func Example() {
	if err := constrainttest.TestAutomaton(ctx, pairwise{tokens: 3}, constrainttest.Options{Sites: 6, Levels: 3}); err != nil {
		log.Fatal(err)
	}

	fmt.Println("the language obeys every law")
	// Output:
	// the language obeys every law
}

// noRepeat accepts sequences whose neighbours differ; its state is the last token,
// counted from 1.
type noRepeat struct{}

func (noRepeat) States() int        { return 3 }
func (noRepeat) Start() int         { return 0 }
func (noRepeat) Accepting(int) bool { return true }

func (noRepeat) Next(s int, t int32) int {
	if int(t)+1 == s {
		return -1
	}
	return int(t) + 1
}

// A language of one's own, and what is wrong with it: with three tokens there is one
// more state than it says.
func ExampleTestAutomaton() {
	var a constraint.Automaton = noRepeat{}
	err := constrainttest.TestAutomaton(ctx, a, constrainttest.Options{Sites: 5, Levels: 3})
	fmt.Println(err)
	// Output:
	// constrainttest: constrainttest_test.noRepeat: range: Next(0, 2) = 3 after [], want −1 or 0…2
}

// Options hold what is known of the part besides its interface.
func ExampleOptions() {
	few := constraint.Count{Levels: []int32{1}, Min: 1, Max: 2}
	o := constrainttest.Options{Sites: 4, Levels: 2, Accepts: func(x []int32) bool {
		n := onesOf(x)
		return n >= 1 && n <= 2
	}}
	fmt.Println(constrainttest.TestAutomaton(ctx, few, o), constrainttest.TestSet(ctx, few, o))
	// Output:
	// <nil> <nil>
}

// onesOf counts the ones.
func onesOf(x []int32) (n int) {
	for _, l := range x {
		n += int(l)
	}
	return n
}

// half32 is Σ v_i²/2 − 1000 ≤ 0 in float32, as a network computes.
type half32 struct{}

func (half32) Len() int { return 1 }

func (half32) Value(g []float64, v []float32) {
	if len(g) != 1 {
		panic("half32: want one value")
	}
	sum := float32(-1000)
	for _, y := range v {
		sum += y * y / 2
	}
	g[0] = float64(sum)
}

func (half32) Pull(dst, v []float32, w []float64) {
	if len(w) != 1 || len(dst) != len(v) {
		panic("half32: want one weight and as many entries as of v")
	}
	for i, y := range v {
		dst[i] += y * float32(w[0])
	}
}

// Values in float32 have a rounding that differences of them show, which Options say.
func ExampleTestSmooth() {
	for _, rounding := range []float64{0, 0x1p-20} {
		err := constrainttest.TestSmooth(ctx, half32{}, constrainttest.Options{Sites: 2, Levels: 3, Rounding: rounding})
		fmt.Println(err == nil)
	}
	// Output:
	// false
	// true
}
