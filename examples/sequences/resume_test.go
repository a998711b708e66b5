package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again ends with the samples of one that is
// not, also where samples must differ from each other.
func TestResume(t *testing.T) {
	args := []string{"-atoms", "4", "-n", "40", "-order", "2", "-run", "syntax,novel"}
	whole := do(t, args...)
	args = append(args, "-checkpoint", filepath.Join(t.TempDir(), "run"))
	var r *report
	once := func(ctx context.Context, more ...string) error {
		o, err := parseFlags(append(args[:len(args):len(args)], more...))
		if err != nil {
			t.Fatal(err)
		}
		r, err = run(ctx, o)
		return err
	}
	times := checkpointtest.Interrupted(t, func(ctx context.Context, resume bool) error {
		if resume {
			return once(ctx, "-resume")
		}
		return once(ctx)
	})
	if times < 2 {
		t.Errorf("interrupted %d times: the test shows nothing", times)
	}
	for i, f := range r.Runs {
		if !slices.Equal(f.samples, whole.Runs[i].samples) {
			t.Errorf("%s: other samples than in one piece", f.Name)
		}
	}
	if err := once(context.Background()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error(err)
	}
	if err := once(context.Background(), "-resume", "-steps", "9"); err == nil {
		t.Error("another number of steps is not seen")
	}
}
