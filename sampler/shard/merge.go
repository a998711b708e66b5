package shard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Merge returns the tally of the whole run, which holds the statistics of all its draws. It reads
// the files that the tasks saved in the folder dir. If files are missing or damaged, the error is
// an *[Incomplete]. It is also an error if files belong to another run or were saved with different
// numbers of tasks, or if two files hold the same element. On an error the tally is nil.
func Merge(ctx context.Context, dir string, run Run) (*diagnose.Tally, error) {
	t, err := merge(ctx, dir, run)
	var gap *Incomplete
	if err != nil && !errors.As(err, &gap) {
		err = fmt.Errorf("shard: Merge: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func merge(ctx context.Context, dir string, run Run) (*diagnose.Tally, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if ok, _ := filepath.Match("part-*-of-*.tally", e.Name()); ok {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file part-….tally", dir)
	}
	found := map[int]string{}
	count := 0
	for _, path := range files {
		var t Task
		if _, err := fmt.Sscanf(filepath.Base(path), "part-%d-of-%d.tally", &t.Index, &t.Count); err != nil || t.Index < 0 || t.Index >= t.Count || t.file() != filepath.Base(path) {
			return nil, fmt.Errorf("%s: not the name of a part", path)
		}
		if count != 0 && t.Count != count {
			return nil, fmt.Errorf("%s: parts of %d and of %d tasks in one folder", path, count, t.Count)
		}
		count, found[t.Index] = t.Count, path
	}
	n, block := run.Size()
	empty, _, err := run.Part(ctx, 0, min(n, block))
	if err != nil {
		return nil, err
	}
	all, part, gap := &diagnose.Tally{}, &diagnose.Tally{}, &Incomplete{Count: count}
	for i := range count {
		path, ok := found[i]
		if !ok {
			gap.Missing = append(gap.Missing, i)
			continue
		}
		b, err := os.ReadFile(path)
		if err == nil {
			err = part.UnmarshalBinary(b)
		}
		if err != nil {
			gap.Damaged = append(gap.Damaged, i)
			if gap.Err == nil {
				gap.Err = fmt.Errorf("%s: %w", path, err)
			}
			continue
		}
		if err := empty.SameRun(part); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := all.Merge(part); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(gap.Missing)+len(gap.Damaged) > 0 {
		return nil, gap
	}
	return all, all.Missing()
}

// Incomplete is the error of [Merge] if some tasks have not saved a complete file. Run these tasks
// again.
type Incomplete struct {
	// Missing holds the indices of the tasks that have no file. Damaged holds the indices of the
	// tasks with a damaged file.
	Missing, Damaged []int
	Count            int   // number of all tasks
	Err              error // error of the first damaged file; nil if none is damaged
}

func (e *Incomplete) Error() string {
	all := slices.Concat(e.Missing, e.Damaged)
	slices.Sort(all)
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ","), "[]")
	text = fmt.Sprintf("shard: Merge: %d of %d parts are missing, %d damaged: do tasks %s again", len(e.Missing), e.Count, len(e.Damaged), text)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the error of the first damaged file.
func (e *Incomplete) Unwrap() error { return e.Err }
