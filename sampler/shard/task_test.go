package shard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

func TestEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		variables string
		tasks     int
		want      shard.Task
		err       string
	}{
		"alone":                    {"", 0, shard.Task{Index: 0, Count: 1}, ""},
		"alone, one":               {"", 1, shard.Task{Index: 0, Count: 1}, ""},
		"nothing says which":       {"", 2, shard.Task{}, "tasks = 2, but neither"},
		"slurm 0-99":               {"ID=7 COUNT=100 MIN=0 MAX=99 STEP=1", 0, shard.Task{Index: 7, Count: 100}, ""},
		"slurm without STEP":       {"ID=7 COUNT=100 MIN=0 MAX=99", 0, shard.Task{Index: 7, Count: 100}, ""},
		"slurm 1-199:2":            {"ID=5 COUNT=100 MIN=1 MAX=199 STEP=2", 0, shard.Task{Index: 2, Count: 100}, ""},
		"slurm 1-200:2, max 199":   {"ID=199 COUNT=100 MIN=1 MAX=200 STEP=2", 0, shard.Task{Index: 99, Count: 100}, ""},
		"slurm 3,17":               {"ID=17 COUNT=2 MIN=3 MAX=17 STEP=1", 0, shard.Task{}, "say how many tasks"},
		"slurm 3,17 of 100":        {"ID=17 COUNT=2 MIN=3 MAX=17 STEP=1", 100, shard.Task{Index: 17, Count: 100}, ""},
		"slurm 1-100 of 100":       {"ID=100 COUNT=100 MIN=1 MAX=100 STEP=1", 100, shard.Task{}, "want 0 … 99: 100 tasks are counted from 0"},
		"slurm, no number":         {"ID=x", 3, shard.Task{}, `SLURM_ARRAY_TASK_ID = "x"`},
		"slurm, negative":          {"ID=-1", 3, shard.Task{}, `SLURM_ARRAY_TASK_ID = "-1"`},
		"slurm without COUNT":      {"ID=1", 0, shard.Task{}, "SLURM_ARRAY_TASK_COUNT is not set"},
		"slurm, COUNT of 0":        {"ID=1 COUNT=0 MIN=0 MAX=0", 0, shard.Task{}, "want ≥ 1"},
		"slurm, STEP of 0":         {"ID=1 COUNT=1 MIN=0 MAX=0 STEP=0", 0, shard.Task{}, "in steps of 0"},
		"slurm, no number STEP":    {"ID=1 COUNT=1 MIN=0 MAX=0 STEP=a", 0, shard.Task{}, "STEP"},
		"slurm, ID out of range":   {"ID=9 COUNT=3 MIN=1 MAX=3", 0, shard.Task{}, "want one of 1 … 3"},
		"slurm, ID between":        {"ID=2 COUNT=2 MIN=1 MAX=3 STEP=2", 0, shard.Task{}, "in steps of 2"},
		"negative":                 {"", -1, shard.Task{}, "tasks = -1"},
		"kubernetes":               {"JOB=4", 9, shard.Task{Index: 4, Count: 9}, ""},
		"kubernetes, how many":     {"JOB=4", 0, shard.Task{}, "does not say how many"},
		"kubernetes, out of range": {"JOB=9", 9, shard.Task{}, "want 0 … 8"},
		"both":                     {"JOB=4 ID=4", 9, shard.Task{}, "both set"},
	} {
		t.Run(name, func(t *testing.T) {
			for pair := range strings.FieldsSeq(c.variables) {
				key, value, _ := strings.Cut(pair, "=")
				if key == "JOB" {
					t.Setenv("JOB_COMPLETION_INDEX", value)
				} else {
					t.Setenv("SLURM_ARRAY_TASK_"+key, value)
				}
			}
			got, err := shard.Environment(c.tasks)
			assert.Equal(t, c.want, got)
			if c.err == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.err)
			}
		})
	}
}
