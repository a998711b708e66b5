package text

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

var (
	peer  = flag.String("tokenizers", "", "a `folder` with node_modules/tokenizers, to compare 100,000 texts with")
	renew = flag.Bool("tokenizers.update", false, "write testdata/encodings.json with -tokenizers")
)

// The patterns of published tokenizers.
const (
	qwenPattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	llamaPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

type object = map[string]any

// published are small tokenizers with the settings of published ones.
func published() map[string]object {
	l := learn(sayings+" naïve Éé  1234 don't  \n\n x=[(1)]; ", 120)
	end := len(l.vocab) - 1
	splitAt := func(pattern any) object {
		return object{"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": false}
	}
	bytesOnly := object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}
	sequence := func(parts ...object) object {
		return object{"type": "Sequence", "pretokenizers": append(parts, bytesOnly)}
	}
	file := func(normalizer any, pre object, whole bool) object {
		mark := func(i int, s string, left, right bool) object {
			return object{"id": end + i, "content": s, "single_word": false, "lstrip": left, "rstrip": right, "normalized": false, "special": true}
		}
		return object{
			"version": "1.0", "truncation": nil, "padding": nil, "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": nil,
			"decoder": object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
			"added_tokens": []object{
				mark(0, "<|endoftext|>", false, false), mark(1, "<|im_start|>", false, false), mark(2, "<|im|>", true, false), mark(3, "<|im|>!", false, true),
			},
			"model": object{
				"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": false,
				"byte_fallback": false, "ignore_merges": whole, "vocab": l.vocab, "merges": l.merges,
			},
		}
	}
	regex := func(s string) object { return object{"Regex": s} }
	return map[string]object{
		"gpt2":   file(nil, object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, false),
		"qwen":   file(object{"type": "NFC"}, sequence(splitAt(regex(qwenPattern))), false),
		"llama":  file(nil, sequence(splitAt(regex(llamaPattern))), true),
		"digits": file(nil, sequence(object{"type": "Digits", "individual_digits": true}, splitAt(regex(gpt2))), false),
		"parts":  file(object{"type": "Sequence", "normalizers": []object{{"type": "NFC"}}}, sequence(splitAt(regex(`\p{N}{1,3}`)), splitAt(object{"String": "th"}), splitAt(regex(`[\p{P}\p{S}]|\s+|\S+`))), false),
		"whole":  file(nil, bytesOnly, false),
	}
}

// tricky returns texts of pieces that patterns and forms treat in different ways.
func tricky(n int) []string {
	pieces := []string{
		" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u0085", "\u2003", "\u3000", "\u200b", "\u1680", "a", "the", " the", "The", "É", "e\u0301", "\u0301", "ﬁ", "Å", "\u212b",
		"'s", "'S", "'ll", "'LL", "'ſ", "don't", "'", "’s", "1", "12", "1234", "²", "½", "٣", "Ⅷ", "東京", "ไทย", "😀", "👩\u200d👩", "=", "[(", "\"", "...", "_", "a_b", "\x00", "\ufeff", "\ufffd",
		"<|endoftext|>", "<|im_start|>", "<|im|>", "<|im|>!", "<|im", "|>", "sat on", "x=1;\n\n  y", "ǅ", "\u093f", "한글", "한",
	}
	src := rand.New(rand.NewPCG(1, 47))
	all := make([]string, n)
	for i := range all {
		var b strings.Builder
		for range 1 + src.IntN(9) {
			b.WriteString(pieces[src.IntN(len(pieces))])
		}
		all[i] = b.String()
	}
	return all
}

func (o file) read(t *testing.T) *BPE {
	j, err := json.Marshal(o)
	require.NoError(t, err)
	b, err := ReadTokenizer(bytes.NewReader(j))
	require.NoError(t, err)
	return b
}

type file object

// Encodings are those of Hugging Face's tokenizers: of 300 texts as they were written
// down, or of 100,000 by a copy that is at hand.
func TestEncodingsOfTokenizers(t *testing.T) {
	const path = "testdata/encodings.json"
	n, want := 300, map[string][][]int32{}
	if *peer == "" {
		j, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(j, &want))
	} else {
		if !*renew {
			n = 100_000
		}
		in, err := json.Marshal(object{"tokenizers": published(), "texts": tricky(n)})
		require.NoError(t, err)
		c := exec.Command("node", "testdata/encode.js", *peer)
		c.Stdin, c.Stderr = bytes.NewReader(in), os.Stderr
		out, err := c.Output()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out, &want))
		if *renew {
			require.NoError(t, os.WriteFile(path, append(out, '\n'), 0o644))
		}
	}
	texts := tricky(n)
	for name, f := range published() {
		b := file(f).read(t)
		require.Len(t, want[name], n)
		for i, s := range texts {
			require.Equal(t, want[name][i], b.EncodeMarked(nil, s), "%s: %q", name, s)
		}
	}
}

// Decoding gives the text back, or its normal form.
func TestEncodingsDecode(t *testing.T) {
	for name, f := range published() {
		b := file(f).read(t)
		for _, s := range tricky(500) {
			want := s
			if b.normal {
				want = norm.NFC.String(s)
			}
			require.Equal(t, want, b.Decode(b.Encode(nil, s)), name)
		}
	}
}

func TestMarks(t *testing.T) {
	b := file(published()["qwen"]).read(t)
	start, ok := b.Mark("<|im_start|>")
	assert.True(t, ok)
	_, ok = b.Mark("<|nothing|>")
	assert.False(t, ok)
	assert.Equal(t, append(append([]int32{start}, b.Encode(nil, "the cat")...), start), b.EncodeMarked(nil, "<|im_start|>the cat<|im_start|>"))
	assert.NotContains(t, b.Encode(nil, "<|im_start|>"), start)
}

// A setting that would change tokens and that ReadTokenizer does not support is refused.
func TestTokenizersThatAreRefused(t *testing.T) {
	change := func(at func(f object)) error {
		f := published()["qwen"]
		at(f)
		j, err := json.Marshal(f)
		require.NoError(t, err)
		_, err = ReadTokenizer(bytes.NewReader(j))
		return err
	}
	pre := func(v object) func(f object) { return func(f object) { f["pre_tokenizer"] = v } }
	model := func(key string, v any) func(f object) { return func(f object) { f["model"].(object)[key] = v } }
	splitAt := func(pattern string) object {
		return object{"type": "Split", "pattern": object{"Regex": pattern}, "behavior": "Isolated"}
	}
	for want, at := range map[string]func(f object){
		"model.dropout = 0.1":                    model("dropout", 0.1),
		"model.continuing_subword_prefix":        model("continuing_subword_prefix", "##"),
		"model.end_of_word_suffix":               model("end_of_word_suffix", "</w>"),
		"normalizer = ":                          func(f object) { f["normalizer"] = object{"type": "NFKC"} },
		"normalizer = 3":                         func(f object) { f["normalizer"] = 3 },
		"single_word = true":                     func(f object) { f["added_tokens"].([]object)[1]["single_word"] = true },
		"a part of type ByteLevel":               pre(splitAt("a")),
		`pre_tokenizer.type = "Metaspace"`:       pre(object{"type": "Metaspace"}),
		"pre_tokenizer = ":                       pre(nil),
		`pre_tokenizer.behavior = "Removed"`:     pre(object{"type": "Split", "pattern": object{"Regex": "a"}, "behavior": "Removed"}),
		"pre_tokenizer.pattern = ":               pre(object{"type": "Split", "behavior": "Isolated"}),
		"pre_tokenizer.pretokenizers[0].pattern": pre(object{"type": "Sequence", "pretokenizers": []object{splitAt(`a(?=b)`)}}),
		"possessive quantifier ++":               pre(splitAt(`a++`)),
		`\S within a class`:                      pre(splitAt(`[\Sa]`)),
		"add_prefix_space = true":                pre(object{"type": "ByteLevel", "add_prefix_space": true}),
	} {
		assert.ErrorContains(t, change(at), want, fmt.Sprint(want))
	}
}
