package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again ends with the figures of one that is
// not.
func TestResume(t *testing.T) {
	for _, args := range [][]string{
		{"-lattice", "3,3", "-chains", "4", "-steps", "400", "-warmup", "20", "-method", "dmala,gibbs"},
		{"-lattice", "4,4", "-chains", "2", "-steps", "300", "-anneal"},
	} {
		whole := do(t, args...)
		r := checkpointtest.Interrupted(t, parse, run, args, "-seed", "2", "-b", "0.7")
		for i, f := range r.Methods {
			if w := whole.Methods[i]; *f.Mean != *w.Mean || *f.MCSE != *w.MCSE || *f.Accept != *w.Accept {
				t.Errorf("%q: %+v, in one piece %+v", args, f, w)
			}
		}
		if whole.BestEnergy != nil && *r.BestEnergy != *whole.BestEnergy {
			t.Errorf("%q: %v, in one piece %v", args, *r.BestEnergy, *whole.BestEnergy)
		}
	}
}

// A run that has ended does nothing when it is resumed.
func TestResumeAfterTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"-lattice", "4,4", "-chains", "2", "-steps", "50", "-anneal", "-method", "gibbs", "-checkpoint", dir}
	first := do(t, args...)
	file := dir + ".anneal"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if second := do(t, append(args, "-resume")...); *second.BestEnergy != *first.BestEnergy {
		t.Errorf("energy %v, before %v", *second.BestEnergy, *first.BestEnergy)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the checkpoint has changed (%v)", err)
	}
}
