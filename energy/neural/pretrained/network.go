package pretrained

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
)

// Network holds the weights of a pretrained model. Goroutines may share it.
type Network struct {
	cfg    Config
	file   *neural.File // nil if the caller of Load closes it
	embed  matrix
	last   matrix
	norm   []float32
	blocks []block
}

// block holds the weights of one block. Norms of queries or keys and biases that the network does
// not have are nil.
type block struct {
	norm1, norm2           []float32
	query, key, value, out matrix
	queryNorm, keyNorm     []float32
	gate, up, down         matrix
}

// matrix is the layer y = x·Wᵀ + b for rows x of in entries and y of out entries. W, out × in,
// stays in the file, at data.
type matrix struct {
	name    string
	out, in int
	dtype   neural.DType
	data    *io.SectionReader
	bias    []float32
}

// rows stores len(w)/in rows of W, starting at row from, in w. It overwrites raw, which must hold
// at least four bytes per number.
func (m matrix) rows(w []float32, raw []byte, from int) error {
	size := m.data.Size() / int64(m.out) / int64(m.in)
	raw = raw[:int64(len(w))*size]
	if n, err := m.data.ReadAt(raw, int64(from)*int64(m.in)*size); n < len(raw) {
		return fmt.Errorf("pretrained: tensor %q: %w", m.name, err)
	}
	m.dtype.Decode(w, raw)
	return nil
}

// equals reports whether two matrices of the same shape have the same type and bytes.
func (m matrix) equals(o matrix) (bool, error) {
	if m.dtype != o.dtype {
		return false, nil
	}
	var a, b [1 << 13]byte
	for at := int64(0); at < m.data.Size(); at += int64(len(a)) {
		n := int(min(int64(len(a)), m.data.Size()-at))
		for _, part := range []struct {
			of  matrix
			dst []byte
		}{{m, a[:n]}, {o, b[:n]}} {
			if k, err := part.of.data.ReadAt(part.dst, at); k < n {
				return false, fmt.Errorf("pretrained: tensor %q: %w", part.of.name, err)
			}
		}
		if !bytes.Equal(a[:n], b[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// Open reads the network in the folder dir. The folder holds config.json, and model.safetensors or
// the files that model.safetensors.index.json lists. Weights keep their type in the files (F32, F16
// or BF16). The files must not change while the network is in use: see [neural.OpenFile]. If
// config.json does not name the mask token, Open looks for it in tokenizer_config.json and
// tokenizer.json.
//
// Open returns an error if a key or tensor is missing or does not belong to the network. It also
// returns an error if one has the wrong shape or type. The error names the file and the key or
// tensor.
func Open(dir string) (*Network, error) { return OpenFS(durable.Disk{}, filepath.ToSlash(dir)) }

// OpenFS does the same as [Open] for a folder of a file system, such as one of package embed. The
// root folder is ".".
func OpenFS(fsys fs.FS, dir string) (*Network, error) {
	if check.Nil(fsys) {
		return nil, fmt.Errorf("pretrained: Open: fsys = nil, want a file system")
	}
	name := path.Join(dir, "config.json")
	r, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("pretrained: Open: %w", err)
	}
	defer r.Close()
	cfg, err := readConfig(name, r)
	if err != nil {
		return nil, err
	}
	if cfg.Mask < 0 {
		if cfg.Mask, err = tokenizerMask(fsys, dir, cfg.Vocabulary); err != nil {
			return nil, err
		}
	}
	weights := path.Join(dir, "model.safetensors.index.json")
	if _, err := fs.Stat(fsys, weights); errors.Is(err, fs.ErrNotExist) {
		weights = path.Join(dir, "model.safetensors")
	}
	f, err := neural.OpenFS(fsys, weights)
	if err != nil {
		return nil, fmt.Errorf("pretrained: Open: %w", err)
	}
	n, err := Load(f, cfg)
	if err != nil {
		f.Close()
		return nil, err
	}
	n.file = f
	return n, nil
}

// Close closes the files that [Open] or [OpenFS] opened. Denoisers of the network must not be used
// after that. If Close is not called, the files are closed when nothing refers to the network.
func (n *Network) Close() error {
	if n.file == nil {
		return nil
	}
	return n.file.Close()
}

// Config returns the sizes and settings of the network.
func (n *Network) Config() Config { return n.cfg }

// tokenizerMask returns the mask token that a tokenizer file in the folder names, or −1 if none
// does.
func tokenizerMask(fsys fs.FS, dir string, tokens int) (int32, error) {
	read := func(file string, v any) (name string, err error) {
		name = path.Join(dir, file)
		b, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err == nil {
			err = json.Unmarshal(b, v)
		}
		if err != nil {
			return name, fmt.Errorf("pretrained: %s: %w", name, err)
		}
		return name, nil
	}
	var settings struct {
		Mask json.RawMessage `json:"mask_token"`
	}
	var tokenizer struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
	}
	if _, err := read("tokenizer_config.json", &settings); err != nil {
		return -1, err
	}
	var name string // mask_token is a string, or an object that contains one
	if json.Unmarshal(settings.Mask, &name) != nil {
		var object struct{ Content string }
		if json.Unmarshal(settings.Mask, &object) == nil {
			name = object.Content
		}
	}
	if name == "" {
		return -1, nil
	}
	file, err := read("tokenizer.json", &tokenizer)
	if err != nil {
		return -1, err
	}
	for _, t := range tokenizer.Added {
		if t.Content != name {
			continue
		}
		if t.ID < 0 || int(t.ID) >= tokens {
			return -1, fmt.Errorf("pretrained: %s: mask token %s has the number %d, want 0 … %d", file, check.Quote(name), t.ID, tokens-1)
		}
		return t.ID, nil
	}
	return -1, nil
}

// Load reads a network from the open file f, with a configuration cfg from [ReadConfig]. You may
// change the fields Mask, Shifted, Base and Epsilon of cfg, but no others. The file f must stay
// open while the network is in use. [Open] reads both the configuration and the network.
func Load(f *neural.File, cfg Config) (*Network, error) {
	if f == nil {
		return nil, fmt.Errorf("pretrained: Load: f = nil")
	}
	if cfg.family == nil {
		return nil, fmt.Errorf("pretrained: Load: cfg has no type, want one from ReadConfig")
	}
	l := loader{f: f, known: map[string]bool{}}
	n := &Network{cfg: cfg}
	names, k := cfg.family.names, cfg.family.keys
	vocabulary, width, hidden := dim{cfg.Vocabulary, k.vocabulary}, dim{cfg.Width, k.width}, dim{cfg.Hidden, k.hidden}
	head := dim{cfg.HeadWidth, "head_dim"}
	heads := dim{cfg.Heads * cfg.HeadWidth, k.heads + "·head_dim"}
	groups := dim{cfg.Groups * cfg.HeadWidth, k.groups + "·head_dim"}
	n.embed = l.matrix(names.embed, vocabulary, width)
	n.norm = l.vector(names.norm, width)
	n.last = n.embed
	if last := names.last + ".weight"; !cfg.Tied {
		if !l.has(last) && l.err == nil {
			return nil, fmt.Errorf("pretrained: %s: no tensor %q, and %s in config.json is not true", f.Source(last), last, k.tied)
		}
		n.last = l.matrix(names.last, vocabulary, width)
	} else if l.has(last) {
		// The public code ignores this tensor.
		if other := l.matrix(names.last, vocabulary, width); l.err == nil {
			same, err := n.embed.equals(other)
			if err != nil {
				return nil, err
			}
			if !same {
				return nil, fmt.Errorf("pretrained: %s: tensor %q differs from %q, want the same type and numbers because %s is true in config.json", f.Source(last), last, n.embed.name, k.tied)
			}
		}
	}
	for i := range cfg.Blocks {
		if l.err != nil {
			break
		}
		at := func(name string) string { return strings.Replace(name, "%d", fmt.Sprint(i), 1) }
		b := block{
			norm1: l.vector(at(names.norm1), width), norm2: l.vector(at(names.norm2), width),
			query: l.matrix(at(names.query), heads, width), key: l.matrix(at(names.key), groups, width),
			value: l.matrix(at(names.value), groups, width), out: l.matrix(at(names.out), width, heads),
			gate: l.matrix(at(names.gate), hidden, width), up: l.matrix(at(names.up), hidden, width),
			down: l.matrix(at(names.down), width, hidden),
		}
		if cfg.family.norms {
			b.queryNorm, b.keyNorm = l.vector(at(names.queryNorm), head), l.vector(at(names.keyNorm), head)
		}
		n.blocks = append(n.blocks, b)
	}
	if l.err != nil {
		return nil, l.err
	}
	for _, name := range f.Names() {
		if !l.known[name] && !strings.HasSuffix(name, "rotary_emb.inv_freq") {
			return nil, fmt.Errorf("pretrained: %s: tensor %q has no place in a network of model_type %q with %s = %d", f.Source(name), name, cfg.Type, k.blocks, cfg.Blocks)
		}
	}
	return n, nil
}

// loader reads tensors from a file until the first error.
type loader struct {
	f     *neural.File
	known map[string]bool
	err   error
}

func (l *loader) has(name string) bool {
	_, ok := l.f.Shape(name)
	return ok
}

// dim is an axis of a tensor: its size, and the keys of config.json that give the size.
type dim struct {
	n   int
	key string
}

// matrix finds name.weight, and reads name.bias if there is one.
func (l *loader) matrix(name string, out, in dim) matrix {
	m := matrix{name: name + ".weight", out: out.n, in: in.n}
	m.dtype, m.data = l.take(m.name, out, in)
	if l.has(name + ".bias") {
		m.bias = l.numbers(name+".bias", out)
	}
	return m
}

func (l *loader) vector(name string, n dim) []float32 { return l.numbers(name+".weight", n) }

// numbers reads a tensor of the given shape.
func (l *loader) numbers(name string, shape ...dim) []float32 {
	l.take(name, shape...)
	if l.err != nil {
		return nil
	}
	size := 1
	for _, d := range shape {
		size *= d.n
	}
	v := make([]float32, size)
	l.err = l.f.Read(v, name)
	return v
}

// take finds a tensor of the given shape.
func (l *loader) take(name string, shape ...dim) (neural.DType, *io.SectionReader) {
	l.known[name] = true
	if l.err != nil {
		return "", nil
	}
	var sizes []int
	var keys []string
	for _, d := range shape {
		sizes, keys = append(sizes, d.n), append(keys, d.key)
	}
	got, ok := l.f.Shape(name)
	switch {
	case !ok:
		l.err = fmt.Errorf("pretrained: %s: no tensor %q, want one of shape %v, which is [%s] in config.json", l.f.Source(name), name, sizes, strings.Join(keys, " "))
		return "", nil
	case !slices.Equal(got, sizes):
		l.err = fmt.Errorf("pretrained: %s: tensor %q has shape %v, want %v, which is [%s] in config.json", l.f.Source(name), name, got, sizes, strings.Join(keys, " "))
		return "", nil
	}
	dtype, b, err := l.f.Section(name)
	if err != nil {
		l.err = fmt.Errorf("pretrained: %w", err)
	}
	return dtype, b
}
