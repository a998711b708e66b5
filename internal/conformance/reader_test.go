package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/dual/unlearn/finetune"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// reader is a line of the registry of what reads untrusted bytes: an example of the
// format, and what reads it. sealed says that the bytes are under a checksum, so that
// nothing but the example itself may pass. The value that is read, if there is one, is
// compared with that of the example read byte by byte.
type reader struct {
	name   string
	valid  []byte
	read   func(r io.Reader) (any, error)
	sealed bool
}

// The readers of the module.
func readers(t *testing.T) []reader { return append(formats(t), checkpoints(t)...) }

// formats are all but checkpoints. A new one adds a line.
func formats(t *testing.T) []reader {
	quadratic := func(f func(io.Reader) (*model.Quadratic, []string, error)) func(io.Reader) (any, error) {
		return func(r io.Reader) (any, error) {
			m, names, err := f(r)
			if err != nil {
				return nil, err
			}
			return []any{exact.Energies(m), names}, nil
		}
	}
	notation := func(name, example string, parse func(context.Context, string, constraint.Limits) (*grammar.Grammar, error)) reader {
		return reader{name, []byte(example), func(r io.Reader) (any, error) {
			b, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			_, err = parse(context.Background(), string(b), constraint.Limits{States: 1 << 12})
			return nil, err
		}, false}
	}
	return []reader{
		{"read.Rudy", []byte("3 2\n1 2 0.5\n2 3 -1\n"), func(r io.Reader) (any, error) { return given(read.Rudy(r)) }, false},
		{"read.DIMACS", []byte("c a graph\np edge 3 2\ne 1 2\ne 2 3\n"), func(r io.Reader) (any, error) { return given(read.DIMACS(r)) }, false},
		{"read.COO", []byte("spins 3\n0 1 0.5\n1 1 -2\n"), func(r io.Reader) (any, error) { return listedOf(read.COO(r, read.COOConfig{})) }, false},
		{"read.QBSolv", []byte("p qubo 0 3 1 2\n1 1 2\n0 1 -1\n1 2 0.5\n"), func(r io.Reader) (any, error) { return listedOf(read.QBSolv(r)) }, false},
		{"read.CSV", []byte("a,b\n1,0.5\n0.5,-2\n"), quadratic(func(r io.Reader) (*model.Quadratic, []string, error) { return read.CSV(r, read.CSVConfig{}) }), false},
		{"read.BQM", []byte(`{"type": "BinaryQuadraticModel", "version": {"bqm_schema": "3.0.0"}, "use_bytes": false, "variable_type": "BINARY", "num_variables": 2, "num_interactions": 1, "variable_labels": ["a", "b"], "offset": 0.5, "linear_biases": [1, 2], "quadratic_biases": [3], "quadratic_head": [1], "quadratic_tail": [0]}`), quadratic(read.BQM), false},
		{"read.BQPJSON", []byte(`{"version": "1.0.0", "id": 0, "metadata": {}, "variable_ids": [5, 8], "variable_domain": "boolean", "scale": 4, "offset": 1, "linear_terms": [{"id": 5, "coeff": 1}], "quadratic_terms": [{"id_head": 8, "id_tail": 5, "coeff": 2}]}`), quadratic(read.BQPJSON), false},
		{"read.UAI", []byte("MARKOV\n2\n2 3\n1\n2 0 1\n6 1 2 0.5 1 1 4\n"), func(r io.Reader) (any, error) { return listedOf(read.UAI(r)) }, false},
		{"pretrained.ReadConfig", []byte(`{"model_type": "llada", "embedding_size": 3, "d_model": 4, "mlp_hidden_size": 4, "n_layers": 1, "n_heads": 2, "max_sequence_length": 3}`), func(r io.Reader) (any, error) {
			return given(pretrained.ReadConfig(r))
		}, false},
		{"seriesdata.Read", []byte("day,price\n2024-01-01,1.5\n2024-01-02,2\n2024-01-03,2.5\n"), func(r io.Reader) (any, error) {
			f, err := seriesdata.Read(r, seriesdata.Options{})
			if err != nil {
				return nil, err
			}
			return f.String(), nil
		}, false},
		{"read.WCSP", []byte("two 2 3 1 10\n2 3\n2 0 1 0 2\n0 1 3\n1 2 10\n"), func(r io.Reader) (any, error) { return listedOf(read.WCSP(r)) }, false},
		{"read.BIF", []byte("variable a { type discrete [ 2 ] { y, n }; }\nvariable b { type discrete [ 2 ] { y, n }; }\nprobability ( a ) { table 0.25, 0.75; }\nprobability ( b | a ) { (y) 0.5, 0.5; default 0.125, 0.875; }\n"), func(r io.Reader) (any, error) {
			m, _, err := read.BIF(r)
			return listedOf(m, err)
		}, false},
		program("lp", "Minimize\n o: x + 2 y\nSubject To\n c: x + [ x * y ] >= 1\nBounds\n y <= 3\nGeneral\n y\nBinary\n x\nEnd\n"),
		program("mps", "ROWS\n N o\n G c\nCOLUMNS\n m 'MARKER' 'INTORG'\n x o 1 c 1\n y o 2\nRHS\n r c 1\nQUADOBJ\n x y 1\nENDATA\n"),
		program("qplib", "a\nQBN\nminimize\n2\n1\n2 1 1\n0\n1\n1 2\n0\n1e30\n0\n0\n0\n0\n0\n0\n"),
		program("mqlib", "2 2\n1 1 5\n1 2 -6\n"),
		program("cnf", "p cnf 2 2\n1 -2 0\n2 0\n"),
		program("wcnf", "h 1 2 0\n0.5 -1 0\n"),
		program("bqm", written(t, "bqm")),
		program("cqm", written(t, "cqm")),
		{"read.RBM", npyOf(t), readRBM, false},
		{"neural.ReadFile", safetensors(), readTensors, false},
		{"read.Evidence", []byte("2 0 1\n2 0\n"), func(r io.Reader) (any, error) { return given(read.Evidence(r)) }, false},
		{"text.ReadVocabulary", tokenizer(map[string]int{"a": 0, "b": 1, "ab": 256}), func(r io.Reader) (any, error) { return given(text.ReadVocabulary(r)) }, false},
		{"text.ReadTokenizer", tokenizer(pairVocabulary()), func(r io.Reader) (any, error) { return given(text.ReadTokenizer(r)) }, false},
		{"text.ReadBPE", bpe(), func(r io.Reader) (any, error) {
			vocab, merges := halved(r)
			return given(text.ReadBPE(vocab, merges))
		}, false},
		notation("grammar.Parse", `s ::= "a" s "b" | [c-e]{2,3}`, grammar.Parse),
		notation("grammar.ParseGBNF", "root ::= \"a\" root \"b\" | x{2,3}\nx ::= [c-e]", grammar.ParseGBNF),
		notation("grammar.ParseLark", "start: \"a\" start \"b\" | X~2..3\nX: /[c-e]/i", grammar.ParseLark),
		{"grammar.JSONSchema", []byte(`{"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"enum": ["x", null]}}, "required": ["a"]}`), func(r io.Reader) (any, error) {
			b, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			_, err = grammar.JSONSchema(context.Background(), b, grammar.SchemaConfig{Limits: constraint.Limits{States: 1 << 12}})
			return nil, err
		}, false},
		{"constraint.DFA", exact.Must(someDFA().MarshalBinary()), func(r io.Reader) (any, error) {
			var d constraint.DFA
			return unmarshal(r, d.UnmarshalBinary, func() any { n, k := d.Table(); return []any{n, k} })
		}, false},
		{"constraint.DFA", exact.Must(json.Marshal(someDFA())), func(r io.Reader) (any, error) {
			var d constraint.DFA
			return unmarshal(r, d.UnmarshalJSON, func() any { n, k := d.Table(); return []any{n, k} })
		}, false},
		{"sampler.Stream", exact.Must(sampler.NewStream(1, 2).AppendBinary(nil)), func(r io.Reader) (any, error) {
			s := sampler.NewStream(3, 4)
			return unmarshal(r, s.UnmarshalBinary, func() any { return s.Uint64() })
		}, false},
		{"diagnose.Tally", exact.Must(observed(someTally()).MarshalBinary()), func(r io.Reader) (any, error) {
			return unmarshal(r, someTally().UnmarshalBinary, func() any { return nil })
		}, false},
		{"diagnose.Trace", exact.Must(diagnose.NewTrace(energy.Magnetization).AppendBinary(nil)), func(r io.Reader) (any, error) {
			return unmarshal(r, diagnose.NewTrace(energy.Magnetization).UnmarshalBinary, func() any { return nil })
		}, false},
		{"sorted.Open", sortedBytes(t), func(r io.Reader) (any, error) {
			b, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(t.TempDir(), "lexicon")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				return nil, err
			}
			l, err := sorted.Open(path)
			if err != nil {
				return nil, err
			}
			defer func() { _ = l.Close() }()
			return nil, l.Verify()
		}, true},
	}
}

// program is the line of a format of read.NewProgram.
func program(format, valid string) reader {
	return reader{"read.NewProgram", []byte(valid), func(r io.Reader) (any, error) {
		return given(read.NewProgram(r, format))
	}, false}
}

// written is a small program in a binary format.
func written(t *testing.T, format string) string {
	var b strings.Builder
	p := read.Program{Variables: []read.Variable{{Name: "a", Upper: 1}, {Name: "b", Upper: 1}}, Objective: []read.Monomial{{W: 1, Of: []int{0, 1}}}}
	if format == "cqm" {
		p.Constraints = []read.Constraint{{Name: "c", Sum: []read.Monomial{{W: 1, Of: []int{0}}}, Lower: 1, Upper: 1}}
	}
	if err := p.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// given returns a value and its error as reader.read does.
func given[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// listedOf lists the energies of a model that was read, if they are few.
func listedOf[M energy.Model](m M, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if sites, levels := m.Shape(); sites > 8 || levels > 8 {
		return nil, nil
	}
	return exact.Energies(m), nil
}

// unmarshal hands all bytes to a method.
func unmarshal(r io.Reader, f func([]byte) error, value func() any) (any, error) {
	b, err := io.ReadAll(r)
	if err == nil {
		err = f(b)
	}
	if err != nil {
		return nil, err
	}
	return value(), nil
}

func someDFA() *constraint.DFA {
	return exact.Must(constraint.Compile(context.Background(), counted(1, 1, 2), 3, constraint.Limits{}))
}

func someTally() *diagnose.Tally {
	return exact.Must(diagnose.NewTally(diagnose.TallyConfig{Chains: 1, Draws: 2}, energy.Magnetization))
}

// observed is the tally of one chain.
func observed(t *diagnose.Tally) *diagnose.Tally {
	for draw := range 2 {
		t.Observe(0, draw, []int32{0, 1, 1, int32(draw)}, nil)
	}
	return t
}

// halved splits an example of two files at a byte 1.
func halved(r io.Reader) (first, second io.Reader) {
	b, err := io.ReadAll(r)
	if err != nil {
		return iotest.ErrReader(err), iotest.ErrReader(err)
	}
	x, y, _ := bytes.Cut(b, []byte{1})
	return bytes.NewReader(x), bytes.NewReader(y)
}

// npyOf is the three arrays of a machine, one after the other.
func npyOf(t *testing.T) []byte {
	var b bytes.Buffer
	for _, shape := range [][]int{{2, 3}, {2}, {3}} {
		n := 1
		for _, k := range shape {
			n *= k
		}
		if err := npy.Write(&b, make([]float32, n), shape...); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func readRBM(r io.Reader) (any, error) {
	m, err := read.RBM(r, r, r) // reads no further than each array
	if err != nil {
		return nil, err
	}
	_, rest := io.ReadAll(r)
	sites, _ := m.Shape()
	return sites, rest
}

// safetensors is a file of two small tensors.
func safetensors() []byte {
	head := `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[1,2],"data_offsets":[8,12]}}`
	b := []byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0}
	return append(append(b, head...), make([]byte, 12)...)
}

func readTensors(r io.Reader) (any, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	f, err := neural.ReadFile("w.safetensors", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	v := make([]float32, 2)
	return v, f.Read(v, "a")
}

// byteLevel names the 256 bytes as byte-level tokenizers do, by a list of its own: the
// 68 bytes that are not printable in Latin 1, in order, are U+0100 … U+0143.
func byteLevel() []string {
	var names []string
	hidden := rune(0x100)
	for b := range rune(256) {
		if b <= 32 || b >= 127 && b <= 160 || b == 173 {
			names = append(names, string(hidden))
			hidden++
			continue
		}
		names = append(names, string(b))
	}
	return names
}

// pairVocabulary numbers the bytes, and the pair "ab".
func pairVocabulary() map[string]int {
	v := map[string]int{"ab": 256}
	for b, name := range byteLevel() {
		v[name] = b
	}
	return v
}

// tokenizer is a byte-level tokenizer.json.
func tokenizer(vocab map[string]int) []byte {
	type object = map[string]any
	return exact.Must(json.Marshal(object{
		"version": "1.0", "normalizer": nil, "decoder": object{"type": "ByteLevel"},
		"added_tokens":  []object{{"id": 257, "content": "<e>", "special": true, "normalized": false}},
		"pre_tokenizer": object{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"model":         object{"type": "BPE", "vocab": vocab, "merges": []string{"a b"}},
	}))
}

// bpe is vocab.json and merges.txt.
func bpe() []byte {
	return slices.Concat(exact.Must(json.Marshal(pairVocabulary())), []byte("\x01#version: 0.2\na b\n"))
}

func sortedBytes(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "lexicon")
	exact.Must(sorted.Build(context.Background(), path, 3, slices.Values([][]int32{{0, 1}, {2, 2, 0}})))
	return exact.Must(os.ReadFile(path))
}

// checkpointed is a run that is saved and loaded.
type checkpointed interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

// saved is a line for a run: begin returns a new one, go on takes it some way.
func saved[T checkpointed](t *testing.T, name string, begin func() T, goOn func(T) error) reader {
	run := begin()
	if err := goOn(run); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var b bytes.Buffer
	if err := run.Save(&b); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return reader{name, b.Bytes(), func(r io.Reader) (any, error) { return nil, begin().Load(context.Background(), r) }, true}
}

func checkpoints(t *testing.T) []reader {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{4}, 0.2, 0.1))
	chain := exact.Must(denoise.NewMarkov(exact.Must(model.NewMarkov(4, 2, 1, []float64{.5, .5}, []float64{.9, .1, .2, .8})), denoise.Absorbing))
	cfg := diffusion.Config{Steps: 2}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	inside := cfg
	inside.Projector = projection.Path{Language: counted(1, 1, 3)}
	net := func() *neural.Transformer {
		return exact.Must(neural.New(neural.Config{Length: 4, Levels: 3, Width: 2, Heads: 1, Blocks: 1, Hidden: 2}, rand.NewPCG(1, 1)))
	}
	rows := []int32{0, 1, 0, 1, 1, 1, 0, 0}
	return []reader{
		saved(t, "sampler.Runner", func() *sampler.Chains {
			return exact.Must(sampler.NewChains(ctx, ising, mcmc.Gibbs{}, sampler.Config{Chains: 2}))
		}, func(c *sampler.Chains) error { return c.Run(ctx, 3) }),
		saved(t, "ground.Search", func() *ground.Search { return exact.Must(ground.New(ising, ground.Config{})) },
			func(s *ground.Search) error { return s.Run(ctx, 2) }),
		saved(t, "diffusion.Runner", func() *diffusion.Runner[int32] {
			return exact.Must(diffusion.New(ctx, chain, diffusion.Masked{Mask: 2}, cfg))
		}, func(d *diffusion.Runner[int32]) error { return d.Sample(ctx, make([]int32, 8)) }),
		saved(t, "diffusion.Particles", func() *diffusion.Particles {
			return exact.Must(diffusion.NewParticles(ctx, chain, diffusion.Masked{Mask: 2}, diffusion.ParticlesConfig{Particles: 2, Config: inside}))
		}, func(p *diffusion.Particles) error { return p.Sample(ctx, make([]int32, 8)) }),
		saved(t, "anneal.Runner", func() *anneal.Runner {
			return exact.Must(anneal.New(ctx, ising, mcmc.Metropolis{}, anneal.Config{Stages: 3, Chains: 2}))
		}, func(r *anneal.Runner) error { return r.Run(ctx, 3) }),
		saved(t, "anneal.AISRunner", func() *anneal.AISRunner {
			return exact.Must(anneal.NewAIS(ising, mcmc.Gibbs{}, anneal.AISConfig{Stages: 3, Chains: 2}))
		}, func(r *anneal.AISRunner) error { return exact.Error(r.Run(ctx)) }),
		saved(t, "anneal.SteppingStoneRunner", func() *anneal.SteppingStoneRunner {
			return exact.Must(anneal.NewSteppingStone(ising, mcmc.Gibbs{}, anneal.SteppingStoneConfig{Stages: 3, Chains: 2, Draws: 6}))
		}, func(r *anneal.SteppingStoneRunner) error { return exact.Error(r.Run(ctx)) }),
		saved(t, "dual.Inference", func() *dual.Inference[int32] {
			l := exact.Must(dual.NewLagrangian(ising, counted(1, 1, 2)))
			c := exact.Must(sampler.NewChains(ctx, l, mcmc.Gibbs{}, sampler.Config{Chains: 2}))
			return exact.Must(dual.NewInference(ctx, l, dual.Primal[int32](c), dual.Config{}))
		}, func(i *dual.Inference[int32]) error { return i.Run(ctx, 2) }),
		saved(t, "fit.Fit", func() *fit.Fit {
			return exact.Must(fit.New(ctx, exact.Must(ising.Learn()), rows, fit.Config{Objective: fit.Pseudo{}}))
		}, func(f *fit.Fit) error { return f.Run(ctx, 2) }),
		saved(t, "train.Trainer", func() *train.Trainer {
			return exact.Must(train.New(net(), train.Masked{Mask: 2}, rows, train.Config{Steps: 3, Batch: 2}))
		}, func(r *train.Trainer) error { return r.Run(ctx, 1) }),
		saved(t, "finetune.Tuner", func() *finetune.Tuner[int32] {
			f, _ := forgetting(1, func() {}, func(*finetune.Config[int32]) {})
			return f
		}, func(f *finetune.Tuner[int32]) error { return f.Run(ctx) }),
		saved(t, "network.Trainer", func() *network.Trainer {
			base := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0, 1}, []float64{1, 1}))
			l := exact.Must(dual.NewRealLagrangian(base, 1, dual.AtMost(exact.Must(continuous.NewLinear([]float64{-1, 0}, 0.5)), 0)))
			by := exact.Must(pdi.NewGibbsScore(l, pdi.GibbsOptions{Candidates: 4, Center: []float64{0}, Spread: []float64{1.5}, Score: true}))
			return exact.Must(network.New(context.Background(), by, network.Config{Rounds: 2, PerRound: 2, Width: 4, Blocks: 1, Cond: 4, Chains: 2, Path: 2, Bounds: [][]float64{{0.1}}, Train: train.Config{Batch: 2}}))
		}, func(r *network.Trainer) error { return r.Run(ctx, 1) }),
	}
}

const (
	// mostRead bounds what reading a few hundred bytes may allocate: networks and
	// languages that the bytes describe fit by far, a table whose size comes from a
	// count in a header does not.
	mostRead = 64 << 20

	// mostEdits bounds how many places of an example are changed, evenly spread;
	// fewer under a checksum, which finds them all in one way.
	mostEdits, mostSealed = 120, 30
)

// try reads bytes and returns what is wrong with how that ended.
func (r reader) try(in []byte) (value any, wrong string, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	func() {
		defer func() {
			if v := recover(); v != nil {
				wrong = fmt.Sprintf("panics: %v", v)
			}
		}()
		value, err = r.read(bytes.NewReader(in))
	}()
	runtime.ReadMemStats(&after)
	switch n := after.TotalAlloc - before.TotalAlloc; {
	case wrong != "":
	case n > mostRead:
		wrong = fmt.Sprintf("allocates %d bytes", n)
	case err != nil && (len(err.Error()) < 10 || strings.Contains(err.Error(), "runtime error")):
		wrong = fmt.Sprintf("says no more than %q", err)
	}
	return value, wrong, err
}

// counts are numbers in a text that may be counts.
var counts = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)

// damaged calls f with changed copies of the example and what was done to them.
func (r reader) damaged(f func(in []byte, what string)) {
	edits := mostEdits
	if r.sealed {
		edits = mostSealed
	}
	every := max(1, len(r.valid)/edits)
	for at := 0; at < len(r.valid); at += every {
		f(slices.Clone(r.valid[:at]), fmt.Sprintf("cut at byte %d", at))
		for _, mask := range []byte{1, 0x80, 0xff} {
			b := slices.Clone(r.valid)
			b[at] ^= mask
			f(b, fmt.Sprintf("byte %d ^ %#x", at, mask))
		}
		f(slices.Concat(r.valid[:at], []byte{0}, r.valid[at:]), fmt.Sprintf("NUL at byte %d", at))
		if at+8 <= len(r.valid) {
			for _, huge := range [][]byte{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, {0, 0, 0, 0, 1, 0, 0, 0}, {0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0}} {
				b := slices.Clone(r.valid)
				copy(b[at:], huge)
				f(b, fmt.Sprintf("bytes %d … %d = %x", at, at+8, huge))
			}
		}
	}
	for _, span := range counts.FindAllIndex(r.valid, edits) {
		for _, huge := range []string{"99999999999999999999", "9223372036854775807", "4294967296", "2147483647", "1048577", "-1", "1e309", "NaN", ""} {
			f(slices.Concat(r.valid[:span[0]], []byte(huge), r.valid[span[1]:]), fmt.Sprintf("%q at byte %d", huge, span[0]))
		}
	}
	f(slices.Concat([]byte("\xef\xbb\xbf"), r.valid), "a byte order mark")
	f(slices.Concat(r.valid, []byte{0}), "NUL at the end")
	f(slices.Concat(r.valid, r.valid), "twice")
}

func TestReaders(t *testing.T) {
	registered := map[string]bool{}
	for i, r := range readers(t) {
		registered[r.name] = true
		t.Run(fmt.Sprintf("%s/%d", r.name, i), func(t *testing.T) {
			want, wrong, err := r.try(r.valid)
			if err != nil || wrong != "" {
				t.Fatalf("the example is refused: %v %s", err, wrong)
			}
			if got, err := r.read(iotest.OneByteReader(bytes.NewReader(r.valid))); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("read byte by byte it is %v (%v), want %v", got, err, want)
			}
			if _, wrong, err := r.try(nil); err == nil || wrong != "" {
				t.Fatalf("nothing at all: %v %s, want an error", err, wrong)
			}
			failing := errors.New("the disk is gone")
			for _, at := range []int{0, 1, len(r.valid) / 2, len(r.valid) - 1} {
				in := io.MultiReader(bytes.NewReader(r.valid[:at]), iotest.ErrReader(failing))
				if _, err := r.read(in); !errors.Is(err, failing) {
					t.Errorf("a reader that fails after %d bytes: %v, want its error", at, err)
				}
			}
			r.damaged(func(in []byte, what string) {
				if bytes.Equal(in, r.valid) {
					return
				}
				_, wrong, err := r.try(in)
				if wrong != "" {
					t.Errorf("%s: %s", what, wrong)
				}
				// Loads read no further than what Save wrote.
				if r.sealed && err == nil && !bytes.HasPrefix(in, r.valid) {
					t.Errorf("%s: passes", what)
				}
			})
		})
	}
	m, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	found, err := m.Reading()
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, "grammar.Parse", "grammar.ParseGBNF", "grammar.ParseLark", "grammar.JSONSchema", "sorted.Open") // of text, bytes and a path
	for _, method := range []string{"Load", "UnmarshalBinary", "UnmarshalJSON"} {
		found = append(found, m.Having(method)...)
	}
	none := map[string]string{"sampler.Base": "its kernels keep no bytes"}
	complete(t, "a reader of bytes", "reader_test.go", registered, none, found)
}
