package neural

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/exp/mmap"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
)

// Open reads a network from a .safetensors file, or from the files that an index (.json) lists. The
// file may come from [Transformer.Write] or be a public checkpoint of MDLM, UDLM or SEDD. The names
// of the tensors may have a common prefix such as "backbone."; tensors without it are then ignored.
//
// Fields of cfg that are 0 are read from the tensors and the metadata. Set Heads if the checkpoint
// has neither the number of heads nor rotary_emb.inv_freq. Set Length if the checkpoint does not
// contain it.
//
// Open returns an error if a tensor is missing, does not belong to the network, or has the wrong
// shape. It also returns an error if a tensor has a type other than F32, F16 and BF16, or contains
// numbers that are not finite. The error names the file and the tensor.
func Open(path string, cfg Config) (*Transformer, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Load(f, cfg)
}

// OpenFile opens a .safetensors file, or the files that an index (.json) lists. Large models are
// published with an index: a JSON object whose weight_map gives the file of every tensor, in the
// folder of the index. The caller must close the File.
//
// The files are mapped into memory if the system can do so. They must not change until the File is
// closed.
func OpenFile(path string) (*File, error) { return OpenFS(durable.Disk{}, filepath.ToSlash(path)) }

// OpenFS does the same as [OpenFile] for the files of a file system, such as one of package embed.
// Files that do not implement io.ReaderAt are read into memory.
func OpenFS(fsys fs.FS, name string) (*File, error) {
	if check.Nil(fsys) {
		return nil, fmt.Errorf("neural: Open: fsys = nil, want a file system")
	}
	if !strings.HasSuffix(name, ".json") {
		return openFile(fsys, name)
	}
	f := &File{name: name, entries: map[string]entry{}, meta: map[string]string{}}
	if err := f.openParts(fsys, name); err != nil {
		f.Close()
		return nil, err
	}
	f.alias()
	return f, nil
}

// Write writes the network to w as a .safetensors file. The argument dtype is the type of the
// tensors; "" means F32.
func (t *Transformer) Write(w io.Writer, dtype DType) error {
	return WriteFile(w, dtype, t.tensors, map[string]string{
		"length": strconv.Itoa(t.cfg.Length), "heads": strconv.Itoa(t.cfg.Heads), "block": strconv.Itoa(t.cfg.Block),
	})
}

// Load reads a network from an open file f. As in [Open], fields of cfg that are 0 are read from
// the file, and the errors are the same.
func Load(f *File, cfg Config) (*Transformer, error) {
	if f == nil {
		return nil, fmt.Errorf("neural: Load: f = nil")
	}
	prefix, err := f.prefix()
	if err != nil {
		return nil, err
	}
	if cfg, err = f.shape(prefix, cfg); err != nil {
		return nil, err
	}
	if cfg, err = cfg.resolve(f.name); err != nil {
		return nil, err
	}
	// Check that all tensors are present with the right shapes before allocating the network,
	// so that a small file cannot cause a large allocation.
	known := map[string]bool{}
	cfg.lay(func(name string, shape ...int) []float32 {
		name = prefix + name
		known[name] = true
		if err == nil {
			err = f.fits(name, shape)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := build(cfg)
	for _, p := range t.tensors {
		name := prefix + p.Name
		if err := f.Read(p.Data, name); err != nil {
			return nil, err
		}
		for i, v := range p.Data {
			if v-v != 0 {
				return nil, fmt.Errorf("neural: %s: tensor %q: entry %d = %v, want a finite number", f.name, name, i, v)
			}
		}
	}
	for _, name := range f.Names() {
		if !known[name] && strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, "rotary_emb.inv_freq") {
			return nil, fmt.Errorf("neural: %s: tensor %q has no place in the network", f.name, name)
		}
	}
	return t, nil
}

// landmark is the name of a tensor that every network has.
const landmark = "output_layer.linear.weight"

// prefix returns the common prefix of the names of the network's tensors. It returns "" if there
// is a network without a prefix. Otherwise there must be exactly one network.
func (f *File) prefix() (string, error) {
	var all []string
	for _, name := range f.Names() {
		if name == landmark {
			return "", nil
		}
		if before, ok := strings.CutSuffix(name, "."+landmark); ok {
			all = append(all, before+".")
		}
	}
	switch len(all) {
	case 0:
		return "", fmt.Errorf("neural: %s: no tensor %q, with a prefix or without", f.name, landmark)
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("neural: %s: several networks, %q, want one", f.name, all)
}

// fits returns an error unless the file has a tensor of this name, the wanted shape and a known
// type.
func (f *File) fits(name string, want []int) error {
	e, ok := f.entries[name]
	switch {
	case !ok:
		return f.missing(name)
	case !slices.Equal(e.Shape, want):
		return fmt.Errorf("neural: %s: tensor %q has shape %v, want %v", e.from.name, name, e.Shape, want)
	}
	return f.readable(name, e.DType)
}

// shape returns cfg with fields that are 0 read from the file.
func (f *File) shape(prefix string, cfg Config) (Config, error) {
	at := func(name string, axis int) int {
		if s, ok := f.Shape(prefix + name); ok && len(s) == 2 {
			return s[axis]
		}
		return 0
	}
	// A size by which others are divided, or on which many tensors depend, must not become 0
	// because a tensor is missing. The error should name that tensor.
	set := func(v *int, n int) {
		if *v == 0 {
			*v = n
		}
	}
	set(&cfg.Width, at(landmark, 1))
	if cfg.Width == 0 {
		return cfg, fmt.Errorf("neural: %s: no tensor %q of two dimensions", f.name, prefix+landmark)
	}
	set(&cfg.Outputs, at(landmark, 0))
	set(&cfg.Levels, at("vocab_embed.embedding", 0))
	if cfg.Levels == 0 {
		set(&cfg.Channels, at("input.weight", 1))
	}
	set(&cfg.Cond, at("sigma_map.mlp.0.weight", 0))
	set(&cfg.Classes, max(0, at("cond_map.embedding_table.weight", 0)-1))
	set(&cfg.Hidden, at("blocks.0.mlp.0.weight", 0))
	cfg.Positions = cfg.Positions || at("position_embed.embedding", 0) > 0
	if cfg.Blocks == 0 {
		for at(fmt.Sprintf("blocks.%d.attn_qkv.weight", cfg.Blocks), 0) > 0 {
			cfg.Blocks++
		}
	}
	for key, v := range map[string]*int{"length": &cfg.Length, "heads": &cfg.Heads, "block": &cfg.Block} {
		if text := f.Metadata(key); text != "" && *v == 0 {
			n, err := strconv.Atoi(text)
			if err != nil {
				return cfg, fmt.Errorf("neural: %s: metadata %s = %q, want a number", f.name, key, text)
			}
			*v = n
		}
	}
	set(&cfg.Length, at("position_embed.embedding", 0))
	if s, ok := f.Shape(prefix + "rotary_emb.inv_freq"); ok && len(s) == 1 && s[0] > 0 {
		set(&cfg.Heads, cfg.Width/(2*s[0]))
	}
	return cfg, nil
}

func openFile(fsys fs.FS, name string) (*File, error) {
	if _, ok := fsys.(durable.Disk); ok {
		if m, err := mmap.Open(name); err == nil { // otherwise read the file without a mapping
			f, err := ReadFile(name, mapped{m, name}, int64(m.Len()))
			if err != nil {
				m.Close()
				return nil, err
			}
			f.open = []io.Closer{m}
			return f, nil
		}
	}
	r, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("neural: Open: %w", err)
	}
	info, err := r.Stat()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("neural: Open: %w", err)
	}
	at, ok := r.(io.ReaderAt)
	size := info.Size()
	if !ok {
		b, err := io.ReadAll(r)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("neural: Open: %w", err)
		}
		at, size = bytes.NewReader(b), int64(len(b))
	}
	f, err := ReadFile(name, at, size)
	if err != nil {
		r.Close()
		return nil, err
	}
	f.open = []io.Closer{r}
	return f, nil
}

// mapped is a file that is mapped into memory.
type mapped struct {
	*mmap.ReaderAt
	name string
}

// ReadAt copies the bytes at the given offset to p. It returns an error if the file was truncated
// after it was opened. It implements io.ReaderAt.
func (m mapped) ReadAt(p []byte, at int64) (n int, err error) {
	if durable.Guard(func() { n, err = m.ReaderAt.ReadAt(p, at) }) != nil {
		return 0, fmt.Errorf("%s became shorter while it was in use", m.name)
	}
	return n, err
}

// openParts opens the files that an index lists and adds their tensors to f.
func (f *File) openParts(fsys fs.FS, name string) error {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("neural: Open: %w", err)
	}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(b, &index); err != nil {
		return fmt.Errorf("neural: %s: %w", name, err)
	}
	if len(index.Files) == 0 {
		return fmt.Errorf("neural: %s: no weight_map, want the file of every tensor", name)
	}
	parts := map[string]*File{}
	for _, key := range slices.Sorted(maps.Keys(index.Files)) {
		shard := index.Files[key]
		if !filepath.IsLocal(shard) {
			return fmt.Errorf("neural: %s: tensor %q is in %q, want a file within the folder", name, key, shard)
		}
		if parts[shard] == nil {
			p, err := openFile(fsys, path.Join(path.Dir(name), filepath.ToSlash(shard)))
			if err != nil {
				return err
			}
			f.open, parts[shard] = append(f.open, p), p
			maps.Copy(f.meta, p.meta)
		}
		e, ok := parts[shard].entries[key]
		if !ok {
			return parts[shard].missing(key)
		}
		f.entries[key] = e
	}
	// Which of two tensors with the same name counts depends on the reader.
	for _, shard := range slices.Sorted(maps.Keys(parts)) {
		for _, key := range parts[shard].Names() {
			if listed, ok := index.Files[key]; ok && listed != shard {
				return fmt.Errorf("neural: %s: tensor %q is in %q and in %q, want it in one file", name, key, listed, shard)
			}
		}
	}
	return nil
}
