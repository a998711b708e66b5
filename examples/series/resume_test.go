package main

import (
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again ends with the figures of one that is
// not.
func TestResume(t *testing.T) {
	args := slices.Concat(little, []string{"-method", "cps,pdm"})
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parse, run, args, "-seed", "2")
	for i, f := range r.Methods {
		w := whole.Methods[i]
		if f.Ms = w.Ms; f != w {
			t.Errorf("%+v, in one piece %+v", f, w)
		}
	}
}
