package text

import (
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/document"
)

// decode converts a token as written in a file to its text.
type decode func(token string) string

// newDecoder returns the function by which the file's decoder converts one token. If the file
// has no decoder, tokens are joined by blanks, because models without a decoder mark the
// beginning of words in this way.
func newDecoder(root, model *document.Value) (decode, error) {
	d := root.Get("decoder")
	if d != nil && !d.Is(document.Null) {
		return step(d)
	}
	kind := model.Get("type")
	switch {
	case kind.Is(document.String) && kind.Text == "WordPiece":
		return wordPiece(option(model, "continuing_subword_prefix", "##")), nil
	case kind.Is(document.String) && kind.Text == "WordLevel":
		return wordPiece(""), nil
	case kind == nil:
		return nil, root.Errorf("decoder = missing, want one")
	}
	return nil, kind.Errorf("a model of type %s without a decoder, want a decoder", kind.Brief())
}

// step returns the function by which a single decoder converts one token.
func step(d *document.Value) (decode, error) {
	kind := d.Get("type")
	if !kind.Is(document.String) {
		return nil, d.Errorf("the type of a decoder = %s, want a string", kind.Brief())
	}
	switch kind.Text {
	case "ByteLevel":
		return byteLevel, nil
	case "Metaspace":
		blank := option(d, "replacement", "▁")
		if blank == "" {
			return nil, d.Errorf("replacement is empty, want a character")
		}
		return func(token string) string { return strings.ReplaceAll(token, blank, " ") }, nil
	case "WordPiece":
		return wordPiece(option(d, "prefix", "##")), nil
	case "BPEDecoder":
		suffix := option(d, "suffix", "</w>")
		return func(token string) string {
			if word, ok := strings.CutSuffix(token, suffix); ok && suffix != "" {
				return word + " "
			}
			return token
		}, nil
	case "ByteFallback":
		return byteFallback, nil
	case "Replace":
		pattern, content := d.Get("pattern").Get("String"), d.Get("content")
		if !pattern.Is(document.String) || pattern.Text == "" || !content.Is(document.String) {
			return nil, d.Errorf("Replace of %s by %s, want two strings (pattern.String, content)", pattern.Brief(), content.Brief())
		}
		return func(token string) string { return strings.ReplaceAll(token, pattern.Text, content.Text) }, nil
	case "Fuse":
		return func(token string) string { return token }, nil
	case "Sequence":
		return sequence(d)
	}
	return nil, kind.Errorf("a decoder of type %s, want ByteLevel, Metaspace, WordPiece, BPEDecoder, ByteFallback, Replace, Fuse or Sequence", kind.Brief())
}

// sequence returns the combined function of several decoders. A Strip that applies to the whole
// joined text, after Fuse, is ignored.
func sequence(d *document.Value) (decode, error) {
	list := d.Get("decoders")
	if !list.Is(document.Array) {
		return nil, d.Errorf("decoders = %s, want an array", list.Brief())
	}
	var steps []decode
	fused := false
	for _, e := range list.List {
		if kind := e.Get("type"); kind.Is(document.String) && kind.Text == "Strip" {
			if !fused {
				return nil, e.Errorf("Strip before Fuse, want it after")
			}
			continue
		} else if kind.Is(document.String) && kind.Text == "Fuse" {
			fused = true
		} else if fused {
			return nil, e.Errorf("%s after Fuse, want Strip or nothing", kind.Brief())
		}
		s, err := step(e)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return func(token string) string {
		for _, s := range steps {
			token = s(token)
		}
		return token
	}, nil
}

// wordPiece returns a decoder that removes the prefix from a token that continues a word, and
// puts a blank before every other token. If prefix is empty, every token is a word.
func wordPiece(prefix string) decode {
	return func(token string) string {
		if rest, ok := strings.CutPrefix(token, prefix); ok && prefix != "" {
			return rest
		}
		return " " + token
	}
}

// byteFallback converts the tokens <0x00> … <0xFF> to single bytes, and returns other tokens
// unchanged.
func byteFallback(token string) string {
	if len(token) == len("<0x00>") && strings.HasPrefix(token, "<0x") && token[5] == '>' {
		if b, err := strconv.ParseUint(token[3:5], 16, 8); err == nil {
			return string([]byte{byte(b)})
		}
	}
	return token
}

// byteLevel converts the runes of a token to bytes (Radford et al. 2019, GPT-2). A token that
// contains other runes is returned unchanged.
func byteLevel(token string) string {
	if text, ok := unprint(token); ok {
		return text
	}
	return token
}

// option returns the string member of v with the given name, or otherwise if there is none.
func option(v *document.Value, name, otherwise string) string {
	if s := v.Get(name); s.Is(document.String) {
		return s.Text
	}
	return otherwise
}
