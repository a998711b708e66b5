package text_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// byteLevel writes bytes as byte-level tokenizers do, by a list of its own: the
// 68 bytes that are not printable in Latin 1, in order, are U+0100 … U+0143.
func byteLevel(s string) string {
	hidden := map[byte]rune{}
	for b := range 33 {
		hidden[byte(b)] = 0x100 + rune(b)
	}
	for b := range 34 {
		hidden[byte(127+b)] = 0x121 + rune(b)
	}
	hidden[173] = 0x143
	var out strings.Builder
	for _, b := range []byte(s) {
		if r, ok := hidden[b]; ok {
			out.WriteRune(r)
		} else {
			out.WriteRune(rune(b))
		}
	}
	return out.String()
}

// file writes a tokenizer.json.
func file(model, decoder any, rest ...any) string {
	doc := map[string]any{"version": "1.0", "model": model, "decoder": decoder}
	for k := 0; k < len(rest); k += 2 {
		doc[rest[k].(string)] = rest[k+1]
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

type object = map[string]any

func added(id int, content string, special bool) object {
	return object{"id": id, "content": content, "special": special, "normalized": false}
}

func TestTokenizersRoundTrip(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(14, 8))
	for range 50 {
		vocab, want := object{}, []string(nil)
		for b := range 256 { // every byte, and some pairs and triples
			want = append(want, string([]byte{byte(b)}))
		}
		for range 40 {
			s := want[r.IntN(256)] + want[r.IntN(len(want))]
			if _, twice := vocab[byteLevel(s)]; !twice {
				want = append(want, s)
			}
			for id, s := range want {
				vocab[byteLevel(s)] = id
			}
		}
		v, err := text.ReadVocabulary(strings.NewReader(file(object{"type": "BPE", "vocab": vocab, "merges": []string{}}, object{"type": "ByteLevel"})))
		require.NoError(t, err)
		require.Equal(t, text.Vocabulary{Tokens: want}, v)
	}
}

// One small file of each kind, with the texts that its decoder gives tokens in the
// middle of a text, worked out by hand.
func TestTokenizersByHand(t *testing.T) {
	llama := object{"type": "Sequence", "decoders": []any{
		object{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "},
		object{"type": "ByteFallback"}, object{"type": "Fuse"},
		object{"type": "Strip", "content": " ", "start": 1, "stop": 0}}}
	for name, c := range map[string]struct {
		file string
		want text.Vocabulary
	}{
		"byte level": {
			file(object{"type": "BPE", "vocab": object{"a": 0, "Ġthe": 1, "Ċ": 2, "Ã©": 3, "Ã": 4}}, object{"type": "ByteLevel"},
				"added_tokens", []any{added(5, "<|endoftext|>", true), added(6, " two blanks ", false), added(8, "<|pad|>", true)},
				"padding", object{"pad_id": 8, "pad_token": "<|pad|>"}),
			text.Vocabulary{Tokens: []string{"a", " the", "\n", "é", "\xc3", "<|endoftext|>", " two blanks ", "", "<|pad|>"}, Forbidden: []int32{5, 7}, Padding: []int32{8}},
		},
		"byte fallback": {
			file(object{"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "vocab": object{"<unk>": 0, "<s>": 1, "<0x0A>": 2, "<0xff>": 3, "▁▁": 4, "▁of": 5, "<0xZZ>": 6}}, llama,
				"added_tokens", []any{added(1, "<s>", true)}),
			text.Vocabulary{Tokens: []string{"<unk>", "<s>", "\n", "\xff", "  ", " of", "<0xZZ>"}, Forbidden: []int32{0, 1}},
		},
		"unigram": {
			file(object{"type": "Unigram", "unk_id": 1, "vocab": []any{[]any{"<pad>", 0}, []any{"<unk>", 0}, []any{"▁", -2.5}, []any{"▁un", -3}}}, object{"type": "Metaspace", "replacement": "▁"},
				"added_tokens", nil, "padding", object{"pad_id": 0}),
			text.Vocabulary{Tokens: []string{"<pad>", "<unk>", " ", " un"}, Forbidden: []int32{1}, Padding: []int32{0}},
		},
		"word piece": {
			file(object{"type": "WordPiece", "unk_token": "[UNK]", "vocab": object{"[UNK]": 0, "run": 1, "##ning": 2}}, object{"type": "WordPiece", "prefix": "##", "cleanup": true}),
			text.Vocabulary{Tokens: []string{" [UNK]", " run", "ning"}, Forbidden: []int32{0}},
		},
		"word piece without a decoder": {
			file(object{"type": "WordPiece", "continuing_subword_prefix": "@", "vocab": object{"run": 0, "@ning": 1}}, nil),
			text.Vocabulary{Tokens: []string{" run", "ning"}},
		},
		"words": {
			file(object{"type": "WordLevel", "vocab": object{"run": 0, "##": 1}}, nil),
			text.Vocabulary{Tokens: []string{" run", " ##"}},
		},
		"suffix": {
			file(object{"type": "BPE", "end_of_word_suffix": "</w>", "vocab": object{"run": 0, "run</w>": 1}}, object{"type": "BPEDecoder", "suffix": "</w>"}),
			text.Vocabulary{Tokens: []string{"run", "run "}},
		},
	} {
		v, err := text.ReadVocabulary(strings.NewReader(c.file))
		require.NoError(t, err, name)
		assert.Equal(t, c.want, v, name)
		_, err = text.Regexp(context.Background(), "(?s).*", v, constraint.Limits{})
		assert.NoError(t, err, "%s: the vocabulary is in order", name)
	}
}

func TestReadVocabularyRefuses(t *testing.T) {
	bpe := object{"type": "BPE", "vocab": object{"a": 0}}
	sequence := func(d ...any) object { return object{"type": "Sequence", "decoders": d} }
	strip, fuse := object{"type": "Strip"}, object{"type": "Fuse"}
	for want, in := range map[string]string{
		"line 1: column 1: an array, want an object":                     "[]",
		"line 1: column 2: the JSON value ends too early":                "{",
		"line 1: column 1: model = missing, want an object":              "{}",
		"line 2: column 11: vocab = missing, want an object or an array": "{\n \"model\": {}}",
		"line 1: column 21: no tokens, want ≥ 1":                         `{"model": {"vocab": {}}}`,
		"no tokens": `{"model": {"vocab": []}}`,
		`line 1: column 27: the id of "a" = -1, want an integer in 0 … 1048577`: `{"model": {"vocab": {"a": -1}}}`,
		`the id of "a" = 2000000000, want`:                                      `{"model": {"vocab": {"a": 2000000000}}}`,
		`line 1: column 35: the id 0 of "b" is that of "a", too`:                `{"model": {"vocab": {"a": 0, "b": 0}}}`,
		`the key "a" a second time`:                                             `{"model": {"vocab": {"a": 0, "a": 0}}}`,
		"line 1: column 22: vocab[0] = an array, want a pair":                   `{"model": {"vocab": [["a"]]}}`,
		"unk_id = 1, want an integer in 0 … 0":                                  `{"model": {"vocab": [["a", 0]], "unk_id": 1}}`,
		"added_tokens = an object, want an array":                               file(bpe, object{"type": "ByteLevel"}, "added_tokens", object{}),
		"content = missing, id = 3, want a string and an integer":               file(bpe, object{"type": "ByteLevel"}, "added_tokens", []any{object{"id": 3}}),
		`the id of "x" = "3", want`:                                             file(bpe, object{"type": "ByteLevel"}, "added_tokens", []any{object{"id": "3", "content": "x"}}),
		"pad_id = 1, want an integer in 0 … 0":                                  file(bpe, object{"type": "ByteLevel"}, "padding", object{"pad_id": 1}),
		`a model of type "BPE" without a decoder`:                               file(bpe, nil),
		"decoder = missing, want one":                                           `{"model": {"vocab": {"a": 0}}}`,
		`a decoder of type "CTC", want ByteLevel`:                               file(bpe, object{"type": "CTC"}),
		"the type of a decoder = missing, want a string":                        file(bpe, object{}),
		"replacement is empty":                                                  file(bpe, object{"type": "Metaspace", "replacement": ""}),
		"Replace of missing by \"x\", want two strings":                         file(bpe, object{"type": "Replace", "pattern": object{"Regex": "a"}, "content": "x"}),
		"decoders = missing, want an array":                                     file(bpe, object{"type": "Sequence"}),
		"Strip before Fuse, want it after":                                      file(bpe, sequence(strip, fuse)),
		`"ByteFallback" after Fuse, want Strip or nothing`:                      file(bpe, sequence(fuse, object{"type": "ByteFallback"})),
		`a decoder of type "X", want`:                                           file(bpe, sequence(object{"type": "X"})),
	} {
		_, err := text.ReadVocabulary(strings.NewReader(in))
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "text: ReadVocabulary: line ")
	}
	_, err := text.ReadVocabulary(iotest.ErrReader(io.ErrClosedPipe))
	assert.ErrorIs(t, err, io.ErrClosedPipe)
}

func FuzzReadVocabulary(f *testing.F) {
	f.Add(file(object{"type": "BPE", "vocab": object{"a": 0, "Ġthe": 1}}, object{"type": "ByteLevel"}, "added_tokens", []any{added(3, "<s>", true)}, "padding", object{"pad_id": 3}))
	f.Add(file(object{"type": "Unigram", "unk_id": 0, "vocab": []any{[]any{"▁", -2.5}}}, object{"type": "Metaspace"}))
	f.Add(file(object{"type": "WordPiece", "unk_token": "a", "vocab": object{"a": 0, "##b": 1}}, nil))
	f.Add(file(object{"type": "BPE", "vocab": object{"<0x0A>": 0}}, object{"type": "Sequence", "decoders": []any{object{"type": "ByteFallback"}, object{"type": "Fuse"}, object{"type": "Strip"}}}))
	f.Fuzz(func(t *testing.T, in string) {
		v, err := text.ReadVocabulary(strings.NewReader(in))
		if err != nil {
			require.ErrorContains(t, err, "text: ReadVocabulary: line ")
			return
		}
		require.LessOrEqual(t, len(v.Tokens), 2*len(in)+1<<20)
		special := map[int32]bool{}
		for _, id := range append(v.Forbidden, v.Padding...) {
			require.False(t, special[id])
			special[id] = true
		}
		for id, token := range v.Tokens {
			require.True(t, token != "" || special[int32(id)])
		}
	})
}

// The vocabulary of a model off the shelf, here a small one, and the token
// sequences that spell a date.
func ExampleReadVocabulary() {
	v, err := text.ReadVocabulary(strings.NewReader(`{
		"model": {"type": "BPE", "vocab": {"2": 0, "0": 1, "20": 2, "Ġ20": 3, "26": 4, "Ċ": 5}, "merges": []},
		"decoder": {"type": "ByteLevel"},
		"added_tokens": [{"id": 6, "content": "<|endoftext|>", "special": true}],
		"padding": {"pad_id": 6}}`))
	if err != nil {
		panic(err)
	}
	year, err := text.Regexp(context.Background(), ` 20\d\d`, v, constraint.Limits{})
	if err != nil {
		panic(err)
	}
	for _, x := range [][]int32{{3, 4}, {3, 2, 6}, {2, 4}} {
		fmt.Printf("%q %v\n", v.Text(x), constraint.Accepts(year, x))
	}
	// Output:
	// " 2026" true
	// " 2020" true
	// "2026" false
}
