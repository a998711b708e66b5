// Package checkpointtest tests that programs survive interruptions.
package checkpointtest

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
)

// Interrupted runs a program with args and -checkpoint, and cancels the context after a certain
// number of calls of its Err method. It repeats this with -resume and larger numbers until the
// program ends normally, and returns the program's report. During the test, programs save at every
// opportunity. Finally, Interrupted checks that a run without -resume rejects the existing files,
// and that a run with -resume and the arguments in extra rejects them too.
func Interrupted[R, O any](t testing.TB, parse func(args []string) (O, error), run func(ctx context.Context, o O) (R, error), args []string, extra ...string) R {
	t.Helper()
	every := checkpoint.Every
	checkpoint.Every = 0
	defer func() { checkpoint.Every = every }()
	args = append(slices.Clip(args), "-checkpoint", filepath.Join(t.TempDir(), "run"))
	once := func(ctx context.Context, more ...string) (r R, err error) {
		o, err := parse(append(slices.Clip(args), more...))
		if err != nil {
			t.Fatal(err)
		}
		return run(ctx, o)
	}
	var r R
	times, again := 0, []string(nil)
	for looks := int64(8); ; looks += looks / 2 {
		ctx := &impatient{Context: context.Background()}
		ctx.left.Store(looks)
		var err error
		if r, err = once(ctx, again...); err == nil {
			break
		}
		if ctx.left.Load() > 0 {
			t.Fatal(err) // not of the interruption
		}
		times, again = times+1, []string{"-resume"}
	}
	if times < 2 {
		t.Errorf("%q was interrupted %d times: the test shows nothing", args, times)
	}
	if _, err := once(context.Background()); err == nil || !strings.Contains(err.Error(), "exists: resume from it with -resume") {
		t.Errorf("%q without -resume: %v", args, err)
	}
	if _, err := once(context.Background(), append([]string{"-resume"}, extra...)...); err == nil {
		t.Errorf("%q goes on with %q", args, extra)
	}
	if _, err := parse([]string{"-resume"}); err == nil || !strings.Contains(err.Error(), "-checkpoint") {
		t.Error(err)
	}
	return r
}

// impatient is a context that is cancelled after a number of calls to Err.
type impatient struct {
	context.Context
	left atomic.Int64
}

func (c *impatient) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
