package conformance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// TestKill starts a process for every kind of run, kills it at random moments and
// starts it again, until it has been killed often enough and ends; then its bits
// are those of a run that was not killed.
//
//	go test ./internal/conformance -run 'TestKill$' -kills 1000 -timeout 2h -v
var kills = flag.Int("kills", 0, "number of kills in TestKill, over all runs; 0: a few, so that the code stays in use")

// killed names, in the environment of a child, the run and its checkpoint file.
const killEnvironment = "GIBBSITE_TEST_KILL"

func TestKill(t *testing.T) {
	exact.SkipUnderRace(t)
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes")
	}
	names := sortedNames(resumables())
	quota := (*kills + len(names) - 1) / len(names)
	if *kills == 0 {
		names, quota = []string{"annealing", "first hitting", "particles"}, 1
	}
	src := rand.New(rand.NewPCG(uint64(*kills), 9))
	total, runs := 0, 0
	for _, name := range names {
		k, r := killOften(t, name, quota, src)
		t.Logf("%-16s %4d kills in %d runs", name, k, r)
		total, runs = total+k, runs+r
	}
	t.Logf("%d kills, %d runs to their end, all with the bits of a run that was not killed", total, runs)
}

// killOften kills a run quota times, in as many runs to the end as that takes.
func killOften(t *testing.T, name string, quota int, src *rand.Rand) (kills, runs int) {
	t.Helper()
	folder := t.TempDir()
	start := time.Now()
	want, done := killedChild(t, name, filepath.Join(folder, "whole"), time.Hour)
	took := time.Since(start)
	if !done {
		t.Fatalf("%s: the run that was not killed did not end", name)
	}
	for kills < quota || runs == 0 {
		path := filepath.Join(folder, fmt.Sprint("run", runs))
		for {
			after := time.Hour
			if kills < quota {
				after = time.Duration(src.Int64N(int64(took)))
			}
			got, done := killedChild(t, name, path, after)
			if !done {
				kills++
				continue
			}
			if got != want {
				t.Fatalf("%s: after %d kills the run ends with %s, want %s", name, kills, got, want)
			}
			break
		}
		runs++
	}
	return kills, runs
}

// killedChild runs a run in a process of its own, which it kills after a time, and
// returns what it says at its end.
func killedChild(t *testing.T, name, path string, after time.Duration) (said string, done bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestKilledChild$", "-test.v")
	cmd.Env = append(os.Environ(), killEnvironment+"="+name+"\n"+path)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() != nil && !exit.Exited() {
		return "", false
	}
	_, said, found := strings.Cut(string(out), "digest ")
	if err != nil || !found {
		if ctx.Err() != nil { // killed before it began
			return "", false
		}
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	said, _, _ = strings.Cut(said, "\n")
	return said, true
}

// TestKilledChild is the child of TestKill.
func TestKilledChild(t *testing.T) {
	name, path, found := strings.Cut(os.Getenv(killEnvironment), "\n")
	if !found {
		t.Skip("for children of TestKill")
	}
	r, err := beginOrResume(resumables()[name], path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	fmt.Println("digest", r.digest())
}
