package pretrained

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Network holds the weights of a pretrained model. Goroutines may share it.
type Network struct {
	cfg    Config
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

// matrix is the layer y = x·Wᵀ + b for rows x of in entries and y of out entries. data holds W,
// out × in, in the type of the file.
type matrix struct {
	out, in int
	dtype   neural.DType
	data    []byte
	bias    []float32
}

// rows stores len(w)/in rows of W, starting at row from, in w.
func (m matrix) rows(w []float32, from int) {
	size := len(m.data) / (m.out * m.in)
	m.dtype.Decode(w, m.data[from*m.in*size:from*m.in*size+len(w)*size])
}

// Open reads the network in the folder dir. The folder holds config.json, and model.safetensors or
// the files that model.safetensors.index.json lists. Weights keep their type in the files (F32, F16
// or BF16), so a network takes as much memory as its files. If config.json does not name the mask
// token, Open looks for it in tokenizer_config.json and tokenizer.json.
//
// Open returns an error if a key or tensor is missing, has the wrong shape or type, or does not
// belong to the network. The error names the file and the key or tensor.
func Open(dir string) (*Network, error) { return OpenFS(disk{}, filepath.ToSlash(dir)) }

// disk is the file system of the machine, with its paths as names.
type disk struct{}

func (disk) Open(path string) (fs.File, error) { return os.Open(path) }

// OpenFS is [Open] for a folder of a file system, such as one of package embed. The root folder is
// ".".
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
	defer f.Close()
	return Load(f, cfg)
}

// Config returns the shape of the network.
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

// Load reads a network from the open file f, with a configuration cfg from [ReadConfig]. Of the
// fields of cfg, only Mask, Shifted, Base and Epsilon may have been changed. f may be closed
// afterwards. [Open] reads both the configuration and the network.
func Load(f *neural.File, cfg Config) (*Network, error) {
	if f == nil {
		return nil, fmt.Errorf("pretrained: Load: f = nil")
	}
	if cfg.family == nil {
		return nil, fmt.Errorf("pretrained: Load: cfg has no type, want one from ReadConfig")
	}
	l := loader{f: f, known: map[string]bool{}}
	n := &Network{cfg: cfg}
	names, width, heads, groups := cfg.family.names, cfg.Width, cfg.Heads*cfg.HeadWidth, cfg.Groups*cfg.HeadWidth
	n.embed = l.matrix(names.embed, cfg.Vocabulary, width)
	n.norm = l.vector(names.norm, width)
	if l.has(names.last+".weight") || !cfg.Tied {
		n.last = l.matrix(names.last, cfg.Vocabulary, width)
	} else {
		n.last = n.embed
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
			gate: l.matrix(at(names.gate), cfg.Hidden, width), up: l.matrix(at(names.up), cfg.Hidden, width),
			down: l.matrix(at(names.down), width, cfg.Hidden),
		}
		if cfg.family.norms {
			b.queryNorm, b.keyNorm = l.vector(at(names.queryNorm), cfg.HeadWidth), l.vector(at(names.keyNorm), cfg.HeadWidth)
		}
		n.blocks = append(n.blocks, b)
	}
	if l.err != nil {
		return nil, l.err
	}
	for _, name := range f.Names() {
		if !l.known[name] && !strings.HasSuffix(name, "rotary_emb.inv_freq") {
			return nil, fmt.Errorf("pretrained: tensor %q has no place in a network of type %q", name, cfg.Type)
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

// matrix reads name.weight, and name.bias if there is one.
func (l *loader) matrix(name string, out, in int) matrix {
	m := matrix{out: out, in: in}
	m.dtype, m.data = l.take(name+".weight", out, in)
	if l.has(name + ".bias") {
		m.bias = l.numbers(name+".bias", out)
	}
	return m
}

func (l *loader) vector(name string, n int) []float32 { return l.numbers(name+".weight", n) }

func (l *loader) numbers(name string, n int) []float32 {
	dtype, b := l.take(name, n)
	if l.err != nil {
		return nil
	}
	v := make([]float32, n)
	dtype.Decode(v, b)
	return v
}

// take reads a tensor of the given shape.
func (l *loader) take(name string, shape ...int) (neural.DType, []byte) {
	l.known[name] = true
	if l.err != nil {
		return "", nil
	}
	if got, ok := l.f.Shape(name); ok && fmt.Sprint(got) != fmt.Sprint(shape) {
		l.err = fmt.Errorf("pretrained: tensor %q has shape %v, want %v, as config.json says", name, got, shape)
		return "", nil
	}
	dtype, b, err := l.f.Encoded(name)
	if err != nil {
		l.err = fmt.Errorf("pretrained: %w", err)
	}
	return dtype, b
}
