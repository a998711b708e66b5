package conformance_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/exact/faulty"
)

// Every run is saved while its file system fails at a random call in a random way:
//
//	go test ./internal/conformance -run 'TestFaults$' -faults 10000 -v
var faults = flag.Int("faults", 58, "number of injected faults in TestFaults, over all runs")

// Whatever call fails in whatever way, the old or the new generation loads.
func TestFaults(t *testing.T) {
	exact.SkipUnderRace(t)
	all := resumables()
	names := sortedNames(all)
	src := rand.New(rand.NewPCG(3, 2))
	total, failed := 0, 0
	for _, name := range names {
		// Generations of a run: what each saves, and what it says.
		var saved []func(io.Writer) error
		var said []string
		run := all[name]("")
		for range 4 {
			require.NoError(t, run.goOn(context.Background()), name)
			var b bytes.Buffer
			require.NoError(t, run.Save(&b), name)
			saved = append(saved, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
			said = append(said, digestOf(b.Bytes()))
		}
		require.NotEqual(t, said[0], said[1], name)
		disk := faulty.New(src)
		require.NoError(t, durable.Save(disk, "dir/run", saved[0]))
		calls := disk.Calls
		last, since := 0, []int{0} // what loads; tried since the last save that succeeded, that one first
		for range (*faults + len(names) - 1) / len(names) {
			next := (last + 1) % len(saved)
			disk.Calls, disk.Fault, disk.How = 0, 1+src.IntN(calls), src.IntN(faulty.Ways)
			at, how := disk.Fault, disk.How
			err := durable.Save(disk, "dir/run", saved[next])
			disk.Power()
			fresh := all[name]("")
			require.NoError(t, durable.Load(disk, "dir/run", func(r io.Reader) error { return fresh.Load(context.Background(), r) }, durable.Foreign), "%s: call %d failed in way %d: %v", name, at, how, err)
			now := slices.Index(said, digestOfSaved(fresh))
			since = append(since, next)
			switch {
			case err == nil:
				require.Equal(t, next, now, "%s: call %d failed in way %d", name, at, how)
				since = []int{next}
			case how < faulty.Crash:
				require.Contains(t, []int{last, next}, now, "%s: call %d failed in way %d", name, at, how)
			default: // renames that were never synced may be undone
				require.Contains(t, since, now, "%s: call %d failed in way %d", name, at, how)
			}
			last = now
			if total++; err != nil {
				failed++
			}
		}
	}
	t.Logf("%d faults in saving %d runs, %d saves reported an error, the old or the new generation loaded each time", total, len(names), failed)
	require.Greater(t, failed, total/2)
}
