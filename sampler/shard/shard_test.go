package shard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

var ctx = context.Background()

// ring is a run of 3200 chains on a ring of spins, in 100 blocks.
func ring(change ...func(*shard.Chains)) shard.Chains {
	c := shard.Chains{
		Model: exact.Must(model.NewIsing(model.Lattice{8}, 0.4, 0.1)), Method: mcmc.Gibbs{},
		Config: sampler.Config{Chains: 100 * sampler.BlockSize, Seed: 12, Warmup: 5},
		Draws:  12, Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"m"},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func do(t testing.TB, dir string, run shard.Run, tasks ...shard.Task) {
	for _, task := range tasks {
		require.NoError(t, task.Do(ctx, dir, run, shard.Options{}))
	}
}

func all(n int) (tasks []shard.Task) {
	for i := range n {
		tasks = append(tasks, shard.Task{Index: i, Count: n})
	}
	return tasks
}

func merged(t testing.TB, dir string, run shard.Run) []byte {
	tally, err := shard.Merge(context.Background(), dir, run)
	require.NoError(t, err)
	b, err := tally.MarshalBinary()
	require.NoError(t, err)
	return b
}

// whole is the run in one piece.
func whole(t testing.TB) []byte {
	dir := t.TempDir()
	do(t, dir, ring(), shard.Task{Index: 0, Count: 1})
	return merged(t, dir, ring())
}

func TestTasksAreTheWhole(t *testing.T) {
	want := whole(t)
	for _, n := range []int{2, 7, 100} {
		dir := t.TempDir()
		do(t, dir, ring(func(c *shard.Chains) { c.Config.Workers = 1 + n%3 }), all(n)...)
		assert.Equal(t, want, merged(t, dir, ring()), n)
	}
	// The library's own tally of the whole run.
	c := ring()
	tally, fill, err := c.Part(context.Background(), 0, c.Config.Chains)
	require.NoError(t, err)
	require.NoError(t, fill(ctx, nil))
	b, err := tally.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, want, b)
	// Tasks that each begin with stream 0 are the twin: another digest.
	other, err := diagnose.NewTally(diagnose.TallyConfig{Chains: c.Config.Chains, Draws: c.Draws, Seed: 12}, energy.Magnetization)
	require.NoError(t, err)
	for first := 0; first < c.Config.Chains; first += 1600 {
		cfg := c.Config
		cfg.Chains = 1600
		cfg.Observe = func(chain, draw int, x []int32, info *sampler.Info) { other.Observe(first+chain, draw, x, info) }
		ch, err := sampler.NewChains(context.Background(), c.Model, c.Method, cfg)
		require.NoError(t, err)
		require.NoError(t, ch.Run(ctx, c.Draws))
	}
	assert.NotEqual(t, tally.Digest(), other.Digest())
}

// Tasks of which some are done twice, at once, and one with a file that is damaged.
func TestTasksDoneTwice(t *testing.T) {
	want, dir := whole(t), t.TempDir()
	tasks := all(5)
	var wg sync.WaitGroup
	for _, task := range append(tasks[:4:4], tasks[1], tasks[2]) {
		wg.Go(func() { do(t, dir, ring(), task) })
	}
	wg.Wait()
	_, err := shard.Merge(context.Background(), dir, ring())
	require.EqualError(t, err, "shard: Merge: 1 of 5 parts are missing, 0 damaged: do tasks 4 again")
	do(t, dir, ring(), tasks[4])

	path := filepath.Join(dir, "part-000003-of-000005.tally")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[len(b)/2] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "part-000001-of-000005.tally")))
	_, err = shard.Merge(context.Background(), dir, ring())
	var gap *shard.Incomplete
	require.ErrorAs(t, err, &gap)
	assert.Equal(t, []int{1}, gap.Missing)
	assert.Equal(t, []int{3}, gap.Damaged)
	assert.ErrorContains(t, err, "do tasks 1,3 again")
	assert.ErrorContains(t, errors.Unwrap(err), "damaged")

	started := 0
	for _, task := range tasks { // only those do any work
		require.NoError(t, task.Do(ctx, dir, ring(), shard.Options{Started: func(int, int) { started++ }}))
	}
	assert.Equal(t, 2, started)
	assert.Equal(t, want, merged(t, dir, ring()))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, left, 5)
}

func TestOtherPartsAreRefused(t *testing.T) {
	dir := t.TempDir()
	do(t, dir, ring(), all(2)...)
	for want, run := range map[string]shard.Chains{
		"Seed is ":                  ring(func(c *shard.Chains) { c.Config.Seed = 13 }),
		"Warmup is ":                ring(func(c *shard.Chains) { c.Config.Warmup = 6 }),
		"method":                    ring(func(c *shard.Chains) { c.Method = mcmc.DMALA{} }),
		"energies of test states":   ring(func(c *shard.Chains) { c.Model = exact.Must(model.NewIsing(model.Lattice{8}, 0.5, 0.1)) }),
		"Init":                      ring(func(c *shard.Chains) { c.Config.Init = make([]int32, 8) }),
		"TallyConfig.Nested is ":    ring(func(c *shard.Chains) { c.Nested = 2 }),
		"the functions' names is [": ring(func(c *shard.Chains) { c.Names = nil }),
	} {
		require.ErrorContains(t, shard.Task{Index: 0, Count: 2}.Do(ctx, dir, run, shard.Options{}), want)
		_, err := shard.Merge(context.Background(), dir, run)
		require.ErrorContains(t, err, want)
	}
	// A file under the name of another part.
	a, b := filepath.Join(dir, "part-000000-of-000002.tally"), filepath.Join(dir, "part-000001-of-000002.tally")
	saved, err := os.ReadFile(b)
	require.NoError(t, err)
	first, err := os.ReadFile(a)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b, first, 0o600))
	_, err = shard.Merge(context.Background(), dir, ring())
	require.ErrorContains(t, err, "chain 0 is in both")
	require.ErrorContains(t, shard.Task{Index: 1, Count: 2}.Do(ctx, dir, ring(), shard.Options{}), "does not hold elements 1600 … 3199")
	require.NoError(t, os.WriteFile(b, saved, 0o600))
	merged(t, dir, ring())

	do(t, dir, ring(), shard.Task{Index: 2, Count: 3})
	_, err = shard.Merge(context.Background(), dir, ring())
	require.ErrorContains(t, err, "parts of 2 and of 3 tasks in one folder")
	odd := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(odd, "part-1-of-2.tally"), nil, 0o600))
	_, err = shard.Merge(context.Background(), odd, ring())
	require.ErrorContains(t, err, "not the name of a part")
	_, err = shard.Merge(context.Background(), t.TempDir(), ring())
	require.ErrorContains(t, err, "no file")
}

var errInjected = errors.New("injected")

// Errors and panics of user code leave no file; the task, done again, gives the bits.
func TestFailedTasks(t *testing.T) {
	want, dir := whole(t), t.TempDir()
	do(t, dir, ring(), shard.Task{Index: 1, Count: 2})
	fail := func(how func()) shard.Chains {
		return ring(func(c *shard.Chains) {
			c.Config.Observe = func(chain, draw int, _ []int32, _ *sampler.Info) {
				if chain == 700 && draw == 3 {
					how()
				}
			}
		})
	}
	task := shard.Task{Index: 0, Count: 2}
	func() {
		defer func() { assert.ErrorIs(t, recover().(error), errInjected) }()
		_ = task.Do(ctx, dir, fail(func() { panic(errInjected) }), shard.Options{})
	}()
	stopped, cancel := context.WithCancel(ctx)
	require.ErrorIs(t, task.Do(stopped, dir, fail(cancel), shard.Options{States: true}), context.Canceled)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, left, 1)
	do(t, dir, ring(), task)
	assert.Equal(t, want, merged(t, dir, ring()))

	require.Error(t, task.Do(ctx, filepath.Join(dir, "none"), ring(), shard.Options{}))
}

// A process that is killed in the middle of its part, in a folder of its own.
func TestKilledProcess(t *testing.T) {
	const variable = "SHARD_TEST_DIR"
	slow := ring(func(c *shard.Chains) {
		c.Config.Observe = func(int, int, []int32, *sampler.Info) { time.Sleep(time.Millisecond) }
	})
	if dir := os.Getenv(variable); dir != "" {
		task, err := shard.Environment(7)
		require.NoError(t, err)
		require.NoError(t, task.Do(ctx, dir, slow, shard.Options{States: true, Started: func(int, int) { fmt.Println("started") }}))
		return
	}
	if runtime.GOOS == "js" {
		t.Skip("no processes")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), variable+"="+dir, "JOB_COMPLETION_INDEX=3")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, len("started"))
	_, err = io.ReadFull(out, line)
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	_, err = os.Stat(filepath.Join(dir, "part-000003-of-000007.tally"))
	require.ErrorIs(t, err, os.ErrNotExist)
	do(t, dir, ring(), all(7)...)
	assert.Equal(t, whole(t), merged(t, dir, ring()))
}

func TestStates(t *testing.T) {
	dir := t.TempDir()
	task := shard.Task{Index: 1, Count: 2}
	do(t, dir, ring(), task) // first without
	require.NoError(t, task.Do(ctx, dir, ring(), shard.Options{States: true}))
	b, err := os.ReadFile(filepath.Join(dir, "states-000000001600.npy"))
	require.NoError(t, err)
	assert.Contains(t, string(b[:128]), "(1600, 8)")
	cfg := ring().Config
	ch, err := sampler.NewChains(context.Background(), ring().Model, ring().Method, cfg)
	require.NoError(t, err)
	require.NoError(t, ch.Run(ctx, ring().Draws))
	states := ch.States()[1600*8:]
	for i := range states {
		require.Equal(t, byte(states[i]), b[len(b)-4*len(states)+4*i])
	}
}

// Initial states of all chains are dealt to the parts; groups that begin alike stay
// together.
func TestInitAndNested(t *testing.T) {
	dir := t.TempDir()
	c := ring(func(c *shard.Chains) {
		c.Nested, c.Config.Warmup = 20, -1 // with blocks of 32: 160 chains go together
		c.Config.Init = make([]int32, c.Config.Chains*8)
		for i := range c.Config.Init {
			c.Config.Init[i] = int32(i / 8 / 20 % 2)
		}
	})
	n, block := c.Size()
	assert.Equal(t, [2]int{3200, 160}, [2]int{n, block})
	do(t, dir, c, all(3)...)
	one := t.TempDir()
	do(t, one, c, all(1)...)
	want := merged(t, one, c)
	assert.Equal(t, want, merged(t, dir, c))
	tally, err := shard.Merge(context.Background(), dir, c)
	require.NoError(t, err)
	s, err := tally.Summary()
	require.NoError(t, err)
	assert.True(t, s.Rows[0].RHatNested.Defined())
}

func TestRange(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 3200, 3201} {
		for count := 1; count <= (n-1)/32+1; count++ {
			next := 0
			for _, task := range all(count) {
				first, elements, err := task.Range(n, 32)
				require.NoError(t, err)
				require.Equal(t, next, first)
				require.Positive(t, elements)
				next += elements
				require.True(t, next%32 == 0 || next == n)
			}
			require.Equal(t, n, next)
		}
	}
	for want, task := range map[string]shard.Task{
		"Task.Count = 3, want 1 … 2 (33 elements in blocks of 32)": {Index: 0, Count: 3},
		"Task.Count = 0, want 1":                                   {},
		"Task.Index = 2, want 0 … 1":                               {Index: 2, Count: 2},
		"Task.Index = -1, want 0 … 1":                              {Index: -1, Count: 2},
	} {
		_, _, err := task.Range(33, 32)
		require.ErrorContains(t, err, want)
	}
	_, _, err := shard.Task{Count: 1}.Range(0, 1)
	require.ErrorContains(t, err, "n = 0 and block = 1, want ≥ 1")
	require.Error(t, shard.Task{}.Do(ctx, "", ring(), shard.Options{}))
}

func TestBadChains(t *testing.T) {
	for want, f := range map[string]func(*shard.Chains){
		"Chains.Model":                           func(c *shard.Chains) { c.Model = nil },
		"Chains.Method":                          func(c *shard.Chains) { c.Method = (*mcmc.Gibbs)(nil) },
		"Chains.Config.First, Count":             func(c *shard.Chains) { c.Config.Count = 32 },
		"Chains.Config.DrawsFile = x, want none": func(c *shard.Chains) { c.Config.DrawsFile = "x" },
		"Chains.Config.Checkpoint.Path":          func(c *shard.Chains) { c.Config.Checkpoint.Path = "x" },
		"Chains.Names":                           func(c *shard.Chains) { c.Names = []string{"a", "b"} },
		"TallyConfig.Draws = 0":                  func(c *shard.Chains) { c.Draws = 0 },
		"Config.Thin = -1":                       func(c *shard.Chains) { c.Config.Thin = -1 },
	} {
		err := shard.Task{Index: 0, Count: 1}.Do(ctx, t.TempDir(), ring(f), shard.Options{})
		require.ErrorContains(t, err, want)
		_, err = shard.Merge(context.Background(), t.TempDir(), ring(f))
		require.Error(t, err)
	}
	c := ring(func(c *shard.Chains) { c.Config.Init = make([]int32, 3200*8) })
	_, _, err := c.Part(context.Background(), 3200, 32)
	require.ErrorContains(t, err, "chains 3200 … 3231, want 0 … 3199")
	n, block := shard.Chains{}.Size()
	assert.Equal(t, [2]int{4, sampler.Config{}.Block()}, [2]int{n, block})
}

func TestJobs(t *testing.T) {
	type args struct {
		Sites int
		Seed  uint64
	}
	shard.Register("test ring", func(a args) (shard.Run, error) {
		if a.Sites < 2 {
			return nil, fmt.Errorf("Sites = %d, want ≥ 2", a.Sites)
		}
		if a.Sites == 3 {
			return nil, nil
		}
		return ring(func(c *shard.Chains) { c.Config.Seed = a.Seed }), nil
	})
	run, err := shard.Job{Target: "test ring", Args: json.RawMessage(`{"Sites": 8, "Seed": 5}`)}.Build()
	require.NoError(t, err)
	assert.Equal(t, "chains", run.Kind())
	assert.Equal(t, uint64(5), run.(shard.Chains).Config.Seed)
	for want, job := range map[string]shard.Job{
		`Job.Target = "none", want one that this program registers: `: {Target: "none"},
		"Sites = 0, want ≥ 2": {Target: "test ring"},
		"unknown field":       {Target: "test ring", Args: json.RawMessage(`{"Site": 8}`)},
		"more than one value": {Target: "test ring", Args: json.RawMessage(`{} {}`)},
		"returned nil":        {Target: "test ring", Args: json.RawMessage(`{"Sites": 3}`)},
	} {
		_, err := job.Build()
		require.ErrorContains(t, err, want)
	}
	again := func() { shard.Register("test ring", func(args) (shard.Run, error) { return nil, nil }) }
	assert.Panics(t, again)
	assert.Panics(t, func() { shard.Register[args]("x", nil) })
}
