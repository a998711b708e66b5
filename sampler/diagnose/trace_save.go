package diagnose

import (
	"fmt"
	"io"
)

// SaveNPY writes the file path with [Trace.WriteNPY]. The file appears only
// when it is complete: it grows as path.partial, and an error removes that and
// leaves what path was before.
func (t *Trace) SaveNPY(path string) error { return saveFile(path, t.WriteNPY) }

// SaveStatesNPY writes the file path with [Trace.WriteStatesNPY], as SaveNPY.
func (t *Trace) SaveStatesNPY(path string) error { return saveFile(path, t.WriteStatesNPY) }

// SaveCSV writes the files prefix_1.csv, prefix_2.csv, …, one per chain, with
// [Trace.WriteCSV], and returns their names. Each appears only when it is
// complete; after an error those of the chains before are there.
func (t *Trace) SaveCSV(prefix string) (paths []string, err error) {
	if err := t.checkCSV(); err != nil {
		return nil, fmt.Errorf("diagnose: SaveCSV: %w", err)
	}
	for c := range t.Chains() {
		path := fmt.Sprintf("%s_%d.csv", prefix, c+1)
		if err := saveFile(path, func(w io.Writer) error { return t.WriteCSV(w, c) }); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
