package neural

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// openFile opens a .safetensors file; done closes it.
func openFile(path string) (f *File, done func(), err error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("neural: Open: %w", err)
	}
	info, err := r.Stat()
	if err == nil {
		f, err = ReadFile(path, r, info.Size())
	}
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return f, func() { r.Close() }, nil
}

// openIndex opens the files that an index lists, as big models are published: a JSON
// object whose weight_map gives the file of every tensor, in the folder of the index.
func openIndex(path string) (f *File, done func(), err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("neural: Open: %w", err)
	}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(b, &index); err != nil {
		return nil, nil, fmt.Errorf("neural: %s: %w", path, err)
	}
	if len(index.Files) == 0 {
		return nil, nil, fmt.Errorf("neural: %s: no weight_map, want the file of every tensor", path)
	}
	f = &File{name: path, entries: map[string]entry{}, meta: map[string]string{}}
	var open []func()
	done = func() {
		for _, c := range open {
			c()
		}
	}
	defer func() {
		if err != nil {
			done()
			f, done = nil, nil
		}
	}()
	parts := map[string]*File{}
	for _, name := range slices.Sorted(maps.Keys(index.Files)) {
		shard := index.Files[name]
		if !filepath.IsLocal(shard) {
			return f, done, fmt.Errorf("neural: %s: tensor %q is in %q, want a file within the folder", path, name, shard)
		}
		if parts[shard] == nil {
			p, c, err := openFile(filepath.Join(filepath.Dir(path), shard))
			if err != nil {
				return f, done, err
			}
			open, parts[shard] = append(open, c), p
			maps.Copy(f.meta, p.meta)
		}
		e, ok := parts[shard].entries[name]
		if !ok {
			return f, done, parts[shard].missing(name)
		}
		f.entries[name] = e
	}
	f.alias()
	return f, done, nil
}
