package shard

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
)

// Environment returns the task that the variables of an array job name:
//
//   - Slurm: SLURM_ARRAY_TASK_ID, and the number of tasks from
//     SLURM_ARRAY_TASK_COUNT, _MIN, _MAX and _STEP, for arrays such as 0-99 or
//     1-199:2;
//   - Kubernetes, a Job with completionMode Indexed: JOB_COMPLETION_INDEX; it does
//     not say how many there are.
//
// tasks is the number of tasks, or 0 to take Slurm's. If it is given, the number
// that the variable has is the index, from 0: so a few tasks can be done again
// (sbatch --array=3,17). Without any of the variables there is one task, the whole
// run. Errors: both of them set, a value that is no number or out of range, an array
// with gaps or a Kubernetes index without tasks.
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

// array returns the task of a Slurm array whose numbers are evenly spaced.
func array() (t Task, err error) {
	var v [4]int // id, count, least, most
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
	switch {
	case count < 1:
		return t, fmt.Errorf("SLURM_ARRAY_TASK_COUNT = %d, want ≥ 1", count)
	case step < 1 || most < least || (most-least)/step != count-1:
		return t, fmt.Errorf("SLURM_ARRAY_TASK_COUNT = %d, but %d … %d in steps of %d are %d: say how many tasks the whole run has",
			count, least, most, step, (most-least)/max(step, 1)+1)
	case id < least || id > most || (id-least)%step != 0:
		return t, fmt.Errorf("SLURM_ARRAY_TASK_ID = %d, want one of %d … %d in steps of %d", id, least, most, step)
	}
	return Task{(id - least) / step, count}, nil
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
