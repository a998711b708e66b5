package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// A run that is interrupted again and again ends with the figures of one that is
// not.
func TestResume(t *testing.T) {
	args := slices.Concat(little, []string{"-method", "cps,pdm"})
	whole := do(t, args...)
	args = append(args, "-checkpoint", filepath.Join(t.TempDir(), "run"))
	var r *report
	times := checkpointtest.Interrupted(t, func(ctx context.Context, resume bool) error {
		all := args
		if resume {
			all = append(all[:len(all):len(all)], "-resume")
		}
		o, err := parse(all)
		if err != nil {
			t.Fatal(err)
		}
		r, err = run(ctx, o)
		return err
	})
	if times < 2 {
		t.Errorf("interrupted %d times: the test shows nothing", times)
	}
	for i, f := range r.Methods {
		w := whole.Methods[i]
		if f.Ms = w.Ms; f != w {
			t.Errorf("%+v, in one piece %+v", f, w)
		}
	}
	if _, err := try(args...); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error(err)
	}
	if _, err := try(append(args, "-resume", "-seed", "2")...); err == nil || !strings.Contains(err.Error(), "of the run") {
		t.Error(err)
	}
}
