package text

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// shown is how vocabulary files write a text, from the definition in GPT-2's
// bytes_to_unicode.
func shown(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c, other := rune(s[i]), rune(0)
		for k := rune(0); k < c; k++ {
			if !(33 <= k && k <= 126 || 161 <= k && k <= 172 || 174 <= k && k <= 255) {
				other++
			}
		}
		if 33 <= c && c <= 126 || 161 <= c && c <= 172 || 174 <= c && c <= 255 {
			b.WriteRune(c)
		} else {
			b.WriteRune(256 + other)
		}
	}
	return b.String()
}

// learned is a small encoding: the bytes, the merges of a text learned as GPT-2's
// were, and an end mark.
type learned struct {
	vocab  map[string]int
	merges []string
	pairs  [][2]string // as bytes
}

func learn(text string, n int) *learned {
	l := &learned{vocab: map[string]int{}}
	for c := range 256 {
		l.vocab[shown(string([]byte{byte(c)}))] = 255 - c
	}
	var words [][]string
	for len(text) > 0 {
		k := piece(text)
		var w []string
		for i := range k {
			w = append(w, text[i:i+1])
		}
		words = append(words, w)
		text = text[k:]
	}
	for range n {
		count := map[[2]string]int{}
		for _, w := range words {
			for i := range len(w) - 1 {
				count[[2]string{w[i], w[i+1]}]++
			}
		}
		var best [2]string
		for p, c := range count {
			if c > count[best] || c == count[best] && (p[0] < best[0] || p[0] == best[0] && p[1] < best[1]) {
				best = p
			}
		}
		if count[best] == 0 || l.vocab[shown(best[0]+best[1])] > 0 {
			break
		}
		for i := range words {
			words[i] = joined(words[i], best)
		}
		l.pairs = append(l.pairs, best)
		l.merges = append(l.merges, shown(best[0])+" "+shown(best[1]))
		l.vocab[shown(best[0]+best[1])] = len(l.vocab)
	}
	l.vocab["<|endoftext|>"] = len(l.vocab)
	return l
}

// joined merges all occurrences of a pair from left to right.
func joined(w []string, p [2]string) []string {
	var out []string
	for i := 0; i < len(w); i++ {
		if i+1 < len(w) && w[i] == p[0] && w[i+1] == p[1] {
			out = append(out, p[0]+p[1])
			i++
		} else {
			out = append(out, w[i])
		}
	}
	return out
}

// naive encodes one piece as GPT-2's own program does.
func (l *learned) naive(s string) []int32 {
	var w []string
	for i := range len(s) {
		w = append(w, s[i:i+1])
	}
	for {
		rank := len(l.pairs)
		for i := range len(w) - 1 {
			if k := slices.Index(l.pairs, [2]string{w[i], w[i+1]}); k >= 0 {
				rank = min(rank, k)
			}
		}
		if rank == len(l.pairs) {
			break
		}
		w = joined(w, l.pairs[rank])
	}
	var x []int32
	for _, t := range w {
		x = append(x, int32(l.vocab[shown(t)]))
	}
	return x
}

func (l *learned) files(t testing.TB) (vocab, merges string) {
	b, err := json.Marshal(l.vocab)
	require.NoError(t, err)
	return string(b), "#version: 0.2\n" + strings.Join(l.merges, "\n") + "\n"
}

func (l *learned) bpe(t testing.TB) *BPE {
	vocab, merges := l.files(t)
	b, err := ReadBPE(strings.NewReader(vocab), strings.NewReader(merges))
	require.NoError(t, err)
	return b
}

const sayings = `The cat sat on the mat; the other cat's mat was the better one. They'll say
that we've 1234 cats and 12 mats.   There isn't  anything	they'd rather do -- than (aaaa aaaaa aaaaaaaa)
the thing Überraschung über überall naïve 東京 東京都 … ½ ٣٤ `

func TestEncodingIsThatOfTheNaiveMerges(t *testing.T) {
	l := learn(sayings, 80)
	b := l.bpe(t)
	r := rand.New(rand.NewPCG(1, 1))
	letters := []rune("thecat aamsT'sl 12東京ü")
	for k := range 500 {
		s := sayings
		if k > 0 {
			var w strings.Builder
			for range r.IntN(40) {
				w.WriteRune(letters[r.IntN(len(letters))])
			}
			s = w.String()
		}
		x := b.Encode(nil, s)
		require.Equal(t, s, b.Decode(x))
		var want []int32
		for rest := s; len(rest) > 0; {
			n := piece(rest)
			want = append(want, l.naive(rest[:n])...)
			rest = rest[n:]
		}
		require.Equal(t, want, x, "%q", s)
	}
	assert.Less(t, len(b.Encode(nil, sayings)), len(sayings)*2/3)
	end := int32(l.vocab["<|endoftext|>"])
	assert.Equal(t, []int32{end}, b.Vocabulary().Forbidden)
	assert.Equal(t, "a", b.Decode([]int32{end, int32(l.vocab["a"]), end}))
	assert.Equal(t, []int32{7, int32(l.vocab["a"])}, b.Encode([]int32{7}, "a"))
}

// The pieces of texts that show each part of GPT-2's pattern, by hand.
func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"Hello world":           "Hello| world",
		"it's they'll I'D 'sun": "it|'s| they|'ll| I|'|D| '|sun",
		"'sun":                  "'s|un",
		"a  b":                  "a| | b",
		"a   b":                 "a|  | b",
		"a \n b":                "a| \n| b",
		"a\nb":                  "a|\n|b",
		"a\n\nb":                "a|\n|\n|b",
		"end  ":                 "end|  ",
		"12ab½ ...!? x":         "12|ab|½| ...!?| x",
		" \t":                   " \t",
		"a\u00a0b":              "a|\u00a0|b",
		"\xff\xfe ok":           "\xff\xfe| ok",
		" ":                     " ",
		"über東京":                "über東京",
	} {
		var got []string
		for s := text; len(s) > 0; {
			n := piece(s)
			got = append(got, s[:n])
			s = s[n:]
		}
		assert.Equal(t, want, strings.Join(got, "|"), "%q", text)
	}
}

func TestTokenizerFile(t *testing.T) {
	l := learn(sayings, 40)
	want := l.bpe(t)
	vocab, _ := l.files(t)
	end := l.vocab["<|endoftext|>"]
	pairs := make([][]string, len(l.merges))
	for i, m := range l.merges {
		pairs[i] = strings.Split(m, " ")
	}
	for _, merges := range []any{l.merges, pairs} {
		m, err := json.Marshal(merges)
		require.NoError(t, err)
		b, err := ReadTokenizer(strings.NewReader(fmt.Sprintf(`{"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},
			"added_tokens":[{"id":%d,"content":"<|endoftext|>"},{"id":%d,"content":"a mask"}],"model":{"type":"BPE","vocab":%s,"merges":%s}}`, end, end+1, vocab, m)))
		require.NoError(t, err)
		assert.Equal(t, want.Encode(nil, sayings), b.Encode(nil, sayings))
		assert.Equal(t, []int32{int32(end), int32(end + 1)}, b.Vocabulary().Forbidden)
		assert.Equal(t, "a mask", b.Vocabulary().Tokens[end+1])
	}
}

func TestBPEErrors(t *testing.T) {
	l := learn(sayings, 5)
	vocab, merges := l.files(t)
	file := func(vocab, merges string) error {
		_, err := ReadBPE(strings.NewReader(vocab), strings.NewReader(merges))
		return err
	}
	swap := func(old, new string) string { return strings.Replace(vocab, old, new, 1) }
	for want, err := range map[string]error{
		"text: ReadBPE: vocabulary: unexpected EOF": file("{", merges),
		"constraint: ReadBPE: token \"!\" = 9999":   file(swap(`"!":222`, `"!":9999`), merges),
		"constraint: ReadBPE: token \"":             file(swap(`"!":222`, `"!":221`), merges),
		"without the byte 0x21":                     file(swap(`"!":222`, `"!!":222`), merges),
		"runes that stand for bytes":                file(swap(`"!":222`, `"東":222`), merges),
		"merge 5 = \"nospace\"":                     file(vocab, merges+"nospace\n"),
		"merge 5 = \"x\" + \"q\"":                   file(vocab, merges+"x q\n"),
		"a pair that is not merged before":          file(vocab, merges+l.merges[0]),
		"merge 1 = ":                                file(vocab, strings.Join([]string{l.merges[0], "<|endof text|>"}, "\n")),
	} {
		assert.ErrorContains(t, err, want)
	}
	broken := errors.New("broken")
	_, err := ReadBPE(strings.NewReader(vocab), iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
	var arg *constraint.ArgumentError
	assert.ErrorAs(t, file(vocab, "nospace"), &arg)

	const good = `{"normalizer":null,"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{},"merges":[]}}`
	for want, change := range map[string][2]string{
		"without the byte 0x00":               {"", ""},
		`model.type = "Unigram"`:              {`"BPE"`, `"Unigram"`},
		`normalizer = {"type":"NFKD"}`:        {`"normalizer":null`, `"normalizer":{"type":"NFKD"}`},
		"pre_tokenizer.pattern =":             {`"ByteLevel"`, `"Split","behavior":"Isolated"`},
		"pre_tokenizer.add_prefix_space":      {`"ByteLevel"`, `"ByteLevel","add_prefix_space":true`},
		"merge 0 = 3":                         {`"merges":[]`, `"merges":[3]`},
		"added token \"m\" = 4":               {`"model"`, `"added_tokens":[{"id":4,"content":"m"}],"model"`},
		"text: ReadTokenizer: unexpected EOF": {"}}", ""},
	} {
		_, err := ReadTokenizer(strings.NewReader(strings.Replace(good, change[0], change[1], 1)))
		assert.ErrorContains(t, err, want)
	}
}

// A language over the tokens of an encoding accepts what spells its texts.
func TestLanguagesOverAnEncoding(t *testing.T) {
	b := learn(sayings, 60).bpe(t)
	d, err := Regexp(context.Background(), `the (cat|mat)'s [0-9]+`, b.Vocabulary(), constraint.Limits{})
	require.NoError(t, err)
	accepts := func(s string) bool {
		q := d.Start()
		for _, x := range b.Encode(nil, s) {
			if q = d.Next(q, x); q < 0 {
				return false
			}
		}
		return d.Accepting(q)
	}
	assert.True(t, accepts("the cat's 123") && accepts("the mat's 4"))
	assert.False(t, accepts("the cat 123") || accepts("the cats 1"))
}

func FuzzBPE(f *testing.F) {
	b := learn(sayings, 60).bpe(f)
	f.Add(sayings)
	f.Add("\xff a\x00  ")
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, s, b.Decode(b.Encode(nil, s)))
	})
}

func ExampleBPE() {
	vocab := map[string]int{"ab": 256, "abab": 257}
	for c := range 256 {
		vocab[shown(string([]byte{byte(c)}))] = c
	}
	text, err := json.Marshal(vocab)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := ReadBPE(strings.NewReader(string(text)), strings.NewReader("#version: 0.2\na b\nab ab\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := b.Encode(nil, "abababc")
	fmt.Println(x, b.Decode(x))
	// Output: [257 256 99] abababc
}
