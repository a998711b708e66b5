package text

import (
	"fmt"
	"io"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/document"
)

// gaps bounds the number of token ids that a file may leave unused. Each unused id takes 16
// bytes.
const gaps = 1 << 20

// ReadVocabulary reads the vocabulary of a tokenizer.json of Hugging Face's tokenizers. The text of
// a token is the bytes that the file's decoder produces for it. Supported models are BPE (byte
// level, with byte fallback, or with an end-of-word suffix), WordPiece, Unigram and WordLevel.
// Supported decoders are ByteLevel, Metaspace, WordPiece, BPEDecoder, ByteFallback, Replace, Fuse,
// Strip and Sequence.
//
// The field Forbidden of the result holds the special tokens (begin and end marks, masks, unknown).
// It also holds ids without a token or with an empty text. The field Padding holds the padding
// token of the file.
//
// Each token has a single text: the one that it has in the middle of a longer text. With Metaspace,
// WordPiece and WordLevel, every word begins with a blank; with an end-of-word suffix, every word
// ends with a blank. Two steps of decoding are not applied: Strip at the ends of the whole text,
// and the clean-up of blanks before punctuation.
//
// The languages of this package accept every sequence of tokens that spells a text, whether or not
// the tokenizer would choose it. Merges and scores are therefore ignored.
// To encode texts with a byte-level BPE, use [ReadTokenizer].
//
// Errors name the line, the column and what was expected.
func ReadVocabulary(r io.Reader) (Vocabulary, error) {
	root, err := document.Parse(r)
	if err == nil && !root.Is(document.Object) {
		err = root.Errorf("%s, want an object", root.Brief())
	}
	if err != nil {
		return Vocabulary{}, fmt.Errorf("text: ReadVocabulary: %w", err)
	}
	t := tokenizer{root: root, model: root.Get("model")}
	v, err := t.vocabulary()
	if err != nil {
		return Vocabulary{}, fmt.Errorf("text: ReadVocabulary: %w", err)
	}
	return v, nil
}

// tokenizer is a parsed tokenizer.json from which a vocabulary is built.
type tokenizer struct {
	root, model *document.Value
	tokens      []string // tokens as written in the file, by id
	known       []bool
	forbidden   map[int]bool
}

func (t *tokenizer) vocabulary() (v Vocabulary, err error) {
	if !t.model.Is(document.Object) {
		return v, t.root.Errorf("model = %s, want an object", t.model.Brief())
	}
	t.forbidden = map[int]bool{}
	if err := t.readModel(); err != nil {
		return v, err
	}
	if err := t.readAdded(); err != nil {
		return v, err
	}
	decode, err := newDecoder(t.root, t.model)
	if err != nil {
		return v, err
	}
	pad, err := t.padding()
	if err != nil {
		return v, err
	}
	v.Tokens = make([]string, len(t.tokens))
	for id, token := range t.tokens {
		if t.known[id] {
			v.Tokens[id] = decode(token)
		}
		switch {
		case id == pad:
			v.Padding = append(v.Padding, int32(id))
		case t.forbidden[id] || v.Tokens[id] == "":
			v.Forbidden = append(v.Forbidden, int32(id))
		}
	}
	return v, nil
}

// readModel reads the tokens of the model and their ids.
func (t *tokenizer) readModel() error {
	vocab := t.model.Get("vocab")
	switch {
	case vocab.Is(document.Object):
		for k, v := range vocab.List {
			if err := t.add(v, vocab.Keys[k], len(vocab.List)); err != nil {
				return err
			}
		}
	case vocab.Is(document.Array): // of a Unigram: pairs of a token and its score
		for id, pair := range vocab.List {
			if !pair.Is(document.Array) || len(pair.List) != 2 || !pair.List[0].Is(document.String) {
				return pair.Errorf("vocab[%d] = %s, want a pair of a token and a score", id, pair.Brief())
			}
			t.tokens, t.known = append(t.tokens, pair.List[0].Text), append(t.known, true)
		}
	default:
		return t.model.Errorf("vocab = %s, want an object or an array", vocab.Brief())
	}
	if len(t.tokens) == 0 {
		return vocab.Errorf("no tokens, want ≥ 1")
	}
	if v := t.model.Get("unk_id"); v.Is(document.Number) {
		id, ok := v.Int()
		if !ok || id < 0 || id >= len(t.tokens) {
			return v.Errorf("unk_id = %s, want an integer in 0 … %d", v.Brief(), len(t.tokens)-1)
		}
		t.forbidden[id] = true
	}
	if v := t.model.Get("unk_token"); v.Is(document.String) {
		if id := slices.Index(t.tokens, v.Text); id >= 0 && t.known[id] {
			t.forbidden[id] = true
		}
	}
	return nil
}

// readAdded reads the added tokens and marks the special ones as forbidden.
func (t *tokenizer) readAdded() error {
	added := t.root.Get("added_tokens")
	if added == nil || added.Is(document.Null) {
		return nil
	}
	if !added.Is(document.Array) {
		return added.Errorf("added_tokens = %s, want an array", added.Brief())
	}
	entries := len(t.tokens) + len(added.List)
	for _, a := range added.List {
		content, id := a.Get("content"), a.Get("id")
		if !content.Is(document.String) || id == nil {
			return a.Errorf("content = %s, id = %s, want a string and an integer", content.Brief(), id.Brief())
		}
		if err := t.add(id, content.Text, entries); err != nil {
			return err
		}
		if v := a.Get("special"); v.Is(document.Bool) && v.Text == "true" {
			n, _ := id.Int()
			t.forbidden[n] = true
		}
	}
	return nil
}

// add records that the id v belongs to token. entries, the number of tokens in the file, limits
// how large the id may be.
func (t *tokenizer) add(v *document.Value, token string, entries int) error {
	id, ok := v.Int()
	if most := 2*entries + gaps; !ok || id < 0 || id >= most {
		return v.Errorf("the id of %.40q = %s, want an integer in 0 … %d", token, v.Brief(), most-1)
	}
	if id >= len(t.tokens) {
		t.tokens = append(t.tokens, make([]string, id+1-len(t.tokens))...)
		t.known = append(t.known, make([]bool, id+1-len(t.known))...)
	}
	if t.known[id] && t.tokens[id] != token {
		return v.Errorf("the id %d of %.40q is that of %.40q, too", id, token, t.tokens[id])
	}
	t.tokens[id], t.known[id] = token, true
	return nil
}

// padding returns the id of the padding token, or −1 if the file has none.
func (t *tokenizer) padding() (int, error) {
	v := t.root.Get("padding").Get("pad_id")
	if v == nil {
		return -1, nil
	}
	id, ok := v.Int()
	if !ok || id < 0 || id >= len(t.tokens) {
		return 0, v.Errorf("pad_id = %s, want an integer in 0 … %d", v.Brief(), len(t.tokens)-1)
	}
	return id, nil
}
