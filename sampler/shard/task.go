// Package shard divides a run into parts that can run anywhere, and merges their results. The
// merged result has the same bits as that of an undivided run. The parts can be tasks of an array
// job of Slurm or Kubernetes; they need only a shared folder.
//
// Every task builds the same [Run], computes its part and writes a file:
//
//	task, err := shard.Environment(0) // reads SLURM_ARRAY_TASK_ID, for instance
//	err = task.Do(ctx, dir, run, shard.Options{})
//
// When all tasks have ended, one process merges the files:
//
//	tally, err := shard.Merge(ctx, dir, run)
//	fmt.Println(tally.Summary())
//
// The result is a diagnose.Tally, which holds the statistics of chosen functions of the states. A
// file gets its name only when it is complete. A task that is killed leaves no file and can be
// repeated; a repeated task gives the same bits. Merge names the tasks that are missing. It rejects
// damaged parts, overlapping parts and parts of another run.
//
// There are three kinds of Run: [Chains], [Samples] (such as those of a diffusion) and [AIS].
//
// A [Job] identifies a run by the name of a registered builder and by arguments in JSON. It is
// meant for engines that send work to other machines, such as Apache Beam (package sampler/beam, a
// separate module).
package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Run is a computation over independent elements, such as chains or samples. It can be divided into
// parts, each of which computes some of the elements. Use [Chains], [Samples] or [AIS], or write
// your own Run. A Run must be safe for concurrent use.
type Run interface {
	// Kind returns the name of the elements, for instance "chains".
	Kind() string

	// Size returns the number n of elements of the whole run, and the number of consecutive
	// elements in a block. Blocks are never divided: every part consists of whole blocks. Only the
	// last block of the run may have fewer elements.
	Size() (n, block int)

	// Part prepares a part of the run: elements first … first+count−1. It returns an empty tally
	// and a function. The function runs these elements and records their statistics in the tally.
	// It also writes the states of the elements to its writer, unless that is nil. An element must
	// depend only on the run and on its own number.
	Part(ctx context.Context, first, count int) (t *diagnose.Tally, do func(ctx context.Context, states io.Writer) error, err error)
}

// Task is one of Count tasks that share a run. The task with a given Index, from 0 to Count − 1,
// computes the part with the same index.
type Task struct{ Index, Count int }

// Range returns the range of elements in the task's part, for a run of n elements in blocks of the
// given size. All tasks get the same number of blocks, except that the first tasks may get one
// more. Range returns an error if Index is out of range or there are more tasks than blocks.
func (t Task) Range(n, block int) (first, count int, err error) {
	blocks := (n-1)/max(block, 1) + 1
	if err := cmp.Or(
		check.If(n < 1 || block < 1, "shard: Range: n = %d and block = %d, want ≥ 1", n, block),
		check.If(t.Count < 1 || t.Count > blocks, "shard: Task.Count = %d, want 1 … %d (%d elements in blocks of %d)", t.Count, blocks, n, block),
		check.If(t.Index < 0 || t.Index >= t.Count, "shard: Task.Index = %d, want 0 … %d", t.Index, t.Count-1),
	); err != nil {
		return 0, 0, err
	}
	first = session.Share(n, block, t.Index, t.Count)
	return first, session.Share(n, block, t.Index+1, t.Count) - first, nil
}

// Environment returns the task of this process in an array job, read from environment variables:
//
//   - Slurm: SLURM_ARRAY_TASK_ID. The number of tasks is read from SLURM_ARRAY_TASK_COUNT, _MIN,
//     _MAX and _STEP, for arrays such as 0-99 or 1-199:2.
//   - Kubernetes, a Job with completionMode Indexed: JOB_COMPLETION_INDEX. The number of tasks is
//     not in the environment.
//
// The argument tasks is the number of tasks; 0 means the number that Slurm reports. If tasks is
// positive, the variable must hold the index of the task, counted from 0. This allows a few tasks
// to be repeated (sbatch --array=3,17). If no variable is set and tasks is at most 1, there is one
// task, which computes the whole run.
//
// Environment returns an error in these cases:
//
//   - the variables of both systems are set;
//   - a value is not a number or out of range, or a Slurm array has gaps;
//   - there is a Kubernetes index and tasks = 0;
//   - tasks > 1 and no variable is set.
func Environment(tasks int) (Task, error) {
	if tasks < 0 {
		return Task{}, fmt.Errorf("shard: Environment: tasks = %d, want ≥ 0", tasks)
	}
	_, slurm := os.LookupEnv("SLURM_ARRAY_TASK_ID")
	_, kubernetes := os.LookupEnv("JOB_COMPLETION_INDEX")
	t, err := Task{0, 1}, error(nil)
	switch {
	case slurm && kubernetes:
		err = errors.New("SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are both set, want one")
	case slurm && tasks == 0:
		t, err = array()
	case slurm:
		t, err = numbered("SLURM_ARRAY_TASK_ID", tasks)
	case kubernetes && tasks == 0:
		err = errors.New("JOB_COMPLETION_INDEX is set, which does not say how many tasks there are: tasks = 0, want ≥ 1")
	case kubernetes:
		t, err = numbered("JOB_COMPLETION_INDEX", tasks)
	case tasks > 1:
		err = fmt.Errorf("tasks = %d, but neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX says which this is", tasks)
	}
	if err != nil {
		return Task{}, fmt.Errorf("shard: Environment: %w", err)
	}
	return t, nil
}

func numbered(name string, tasks int) (Task, error) {
	i, err := number(name)
	if err == nil && i >= tasks {
		err = fmt.Errorf("%s = %d, want 0 … %d: %d tasks are counted from 0", name, i, tasks-1, tasks)
	}
	return Task{i, tasks}, err
}

// array returns the task of a Slurm array whose task numbers are evenly spaced.
func array() (t Task, err error) {
	var v [4]int // ID, COUNT, MIN and MAX of the array
	for i, name := range []string{"ID", "COUNT", "MIN", "MAX"} {
		if v[i], err = number("SLURM_ARRAY_TASK_" + name); err != nil {
			return t, err
		}
	}
	id, count, least, most := v[0], v[1], v[2], v[3]
	step := 1
	if _, ok := os.LookupEnv("SLURM_ARRAY_TASK_STEP"); ok {
		if step, err = number("SLURM_ARRAY_TASK_STEP"); err != nil {
			return t, err
		}
	}
	by := max(step, 1)
	return Task{(id - least) / by, count}, cmp.Or(
		check.If(count < 1, "SLURM_ARRAY_TASK_COUNT = %d, want ≥ 1", count),
		check.If(step < 1 || most < least || (most-least)/by != count-1, "SLURM_ARRAY_TASK_COUNT = %d, but %d … %d in steps of %d are %d: say how many tasks the whole run has",
			count, least, most, step, (most-least)/by+1),
		check.If(id < least || id > most || (id-least)%by != 0, "SLURM_ARRAY_TASK_ID = %d, want one of %d … %d in steps of %d", id, least, most, step),
	)
}

func number(name string) (int, error) {
	text, ok := os.LookupEnv(name)
	if !ok {
		return 0, fmt.Errorf("%s is not set", name)
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 || v > math.MaxInt32 {
		return 0, fmt.Errorf("%s = %q, want a number ≥ 0", name, text)
	}
	return v, nil
}
