package corpus

import (
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// The automaton of the syntax accepts exactly the balanced strings, among all up
// to six letters.
func TestSyntaxAgreesWithTheJudge(t *testing.T) {
	c := &Corpus{Train: []string{"((([1]2)))"}}
	c.tokenise(c.Train)
	language, err := Syntax(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int32, 6)
	for n := range pow(c.Levels, len(x)) {
		for i := range x {
			x[i] = int32(n % c.Levels)
			n /= c.Levels
		}
		text := c.Text(x)
		if want := Balanced(text) && !strings.HasSuffix(text, " "); constraint.Accepts(language, x) != want {
			t.Fatalf("%q: the judge says %v", text, want)
		}
	}
}
