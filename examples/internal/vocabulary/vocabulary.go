// Package vocabulary reads the tokens of a language model from a file.
package vocabulary

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// Read returns the tokens in a file or, if file is "", a vocabulary with one token for each of the
// 256 bytes. It adds a token for padding. The file is a tokenizer.json, or a vocab.json in the
// format of GPT-2.
func Read(file string) (text.Vocabulary, error) {
	if file == "" {
		v := text.Bytes()
		return padded(v), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return text.Vocabulary{}, err
	}
	v, err := Parse(data)
	if err != nil {
		return v, fmt.Errorf("vocabulary %s: %w", file, err)
	}
	return padded(v), nil
}

func padded(v text.Vocabulary) text.Vocabulary {
	v.Padding = append(v.Padding, int32(len(v.Tokens)))
	v.Tokens = append(v.Tokens, "")
	return v
}

// Parse reads a tokenizer.json or a vocab.json, a map from the written form of tokens to their
// numbers. In the resulting vocabulary, special tokens and numbers to which no token belongs are
// marked as Forbidden.
func Parse(data []byte) (v text.Vocabulary, err error) {
	var file struct {
		Model struct {
			Vocab json.RawMessage `json:"vocab"`
		} `json:"model"`
		Added []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
	}
	written := map[string]int{}
	// A vocab.json may well have a token "model", so it is tried first.
	if json.Unmarshal(data, &written) != nil {
		if err := json.Unmarshal(data, &file); err != nil {
			return v, err
		}
		if written, err = readModel(file.Model.Vocab); err != nil {
			return v, err
		}
	}
	most, pieces := 0, false
	for word, id := range written {
		if id < 0 || id > 1<<22 {
			return v, fmt.Errorf("token %q has the number %d, want 0…2²²", word, id)
		}
		most = max(most, id)
		pieces = pieces || strings.Contains(word, "▁")
	}
	for _, a := range file.Added {
		most = max(most, a.ID)
	}
	v.Tokens = make([]string, most+1)
	for word, id := range written {
		v.Tokens[id] = spelled(word, pieces)
	}
	special := map[int]bool{}
	for _, a := range file.Added {
		v.Tokens[a.ID] = a.Content
		special[a.ID] = a.Special
	}
	for id, t := range v.Tokens {
		if t == "" || special[id] || t == "<|endoftext|>" {
			v.Forbidden = append(v.Forbidden, int32(id))
		}
	}
	return v, nil
}

// readModel reads the vocabulary of a model: a map, or the list of pairs of a token and its
// score of a unigram model.
func readModel(data []byte) (map[string]int, error) {
	written := map[string]int{}
	err := json.Unmarshal(data, &written)
	if err == nil {
		return written, nil
	}
	var scored [][2]any
	if json.Unmarshal(data, &scored) != nil {
		return nil, fmt.Errorf("neither a map of tokens nor a model with one: %w", err)
	}
	clear(written)
	for i, s := range scored {
		word, ok := s[0].(string)
		if !ok {
			return nil, fmt.Errorf("token %d is no text", i)
		}
		written[word] = i
	}
	return written, nil
}

var oneByte = regexp.MustCompile(`^<0x([0-9A-F]{2})>$`)

// spelled returns the bytes of a token. If pieces is set, it decodes SentencePiece's form, with
// ▁ for a space and <0x0A> for a byte. Otherwise it decodes GPT-2's form, in which every byte is
// one printable character.
func spelled(word string, pieces bool) string {
	if pieces {
		if m := oneByte.FindStringSubmatch(word); m != nil {
			b, _ := strconv.ParseUint(m[1], 16, 8) // two hex digits
			return string([]byte{byte(b)})
		}
		return strings.ReplaceAll(word, "▁", " ")
	}
	var b strings.Builder
	for _, r := range word {
		c, ok := printable[r]
		if !ok {
			return word
		}
		b.WriteByte(c)
	}
	return b.String()
}

// printable maps the characters of GPT-2's vocabulary to bytes.
var printable = func() map[rune]byte {
	m := map[rune]byte{}
	for b, r := range Printable() {
		m[r] = byte(b)
	}
	return m
}()

// Printable returns the characters that represent bytes in GPT-2's vocabulary. Printable
// characters of Latin-1 represent themselves; the others are numbered consecutively from U+0100.
func Printable() (of [256]rune) {
	n := rune(256)
	for b := range of {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®') {
			r = n
			n++
		}
		of[b] = r
	}
	return of
}
