package main

import (
	"encoding/json"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again, in every phase, ends with the report of
// one that is not.
func TestResume(t *testing.T) {
	args := []string{"-csv", write(t, uneven), "-chains", "16", "-steps", "60", "-draws", "40", "-rounds", "2", "-tol", "0.001", "-slack", "0.5"}
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parse, run, args, "-seed", "2")
	want, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s\nin one piece\n%s", got, want)
	}
	if whole.Rounds != 2 {
		t.Errorf("%d rounds, want 2: the test shows less", whole.Rounds)
	}
}
