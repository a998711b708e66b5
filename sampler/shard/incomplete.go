package shard

import (
	"fmt"
	"slices"
	"strings"
)

// Incomplete says which tasks Merge found no whole file of.
type Incomplete struct {
	Missing, Damaged []int // indices
	Count            int   // of all tasks
	Err              error // of the first damaged file
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
