package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

var ctx = context.Background()

func try(t *testing.T, args string) (report, error) {
	t.Helper()
	o, err := parse(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	return run(ctx, o)
}

// The same digest from one process and from three tasks of an array, and a task that
// is missing.
func TestArray(t *testing.T) {
	const job = "-side 4 -chains 160 -draws 20 -warmup 10"
	one, err := try(t, job)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "3")
	t.Setenv("SLURM_ARRAY_TASK_MIN", "0")
	t.Setenv("SLURM_ARRAY_TASK_MAX", "2")
	for _, id := range []string{"0", "2"} {
		t.Setenv("SLURM_ARRAY_TASK_ID", id)
		if r, err := try(t, job+" -states -dir "+dir); err != nil || r.String() != "task "+id+" of 3 is done\n" {
			t.Fatal(r, err)
		}
	}
	if _, err := try(t, job+" -merge -dir "+dir); err == nil || !strings.Contains(err.Error(), "do tasks 1 again") {
		t.Fatal(err)
	}
	t.Setenv("SLURM_ARRAY_TASK_ID", "1")
	if _, err := try(t, job+" -tasks 3 -dir "+dir); err != nil {
		t.Fatal(err)
	}
	all, err := try(t, job+" -merge -dir "+dir)
	if err != nil {
		t.Fatal(err)
	}
	if all.Digest != one.Digest || all.String() != one.String() || !strings.Contains(all.String(), "energy per site") {
		t.Errorf("%v\n%v", all, one)
	}
	if _, err := try(t, job+" -seed 2 -merge -dir "+dir); err == nil || !strings.Contains(err.Error(), "Seed") {
		t.Error(err)
	}
}

// Populations are annealed to the same digest in one process and in two.
func TestPopulations(t *testing.T) {
	const job = "-side 3 -a 0.3 -b 0 -chains 120 -population 30 -stages 10"
	one, err := try(t, job)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(one.String(), "log Z = ") || one.ESS < 1 || one.ESS > 4 {
		t.Error(one)
	}
	dir := t.TempDir()
	for _, id := range []string{"1", "0"} {
		t.Setenv("SLURM_ARRAY_TASK_ID", id)
		if _, err := try(t, job+" -tasks 2 -dir "+dir); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := try(t, job+" -merge -dir "+dir); err != nil || all.String() != one.String() {
		t.Error(all, one, err)
	}
}

func TestBadOptions(t *testing.T) {
	for _, args := range []string{"-merge", "-states", "-tasks 3", "x", "-none", "-population -1", "-stages 0"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Error(args)
		}
	}
	for _, args := range []string{"-side 0", "-draws 0", "-chains -1"} {
		if _, err := try(t, args); err == nil {
			t.Error(args)
		}
	}
}

// The files for the schedulers name options that there are.
func TestScripts(t *testing.T) {
	for _, name := range []string{"array.sbatch", "job.yaml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"-dir", "-chains", "-tasks", "100", "1000000", "-merge"} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s: no %s", name, want)
			}
		}
	}
}
