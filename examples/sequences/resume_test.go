package main

import (
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again ends with the samples of one that is
// not, also where samples must differ from each other.
func TestResume(t *testing.T) {
	args := []string{"-atoms", "4", "-n", "40", "-order", "2", "-run", "syntax,novel"}
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parseFlags, run, args, "-steps", "9")
	for i, f := range r.Runs {
		if !slices.Equal(f.samples, whole.Runs[i].samples) {
			t.Errorf("%s: other samples than in one piece", f.Name)
		}
	}
}
