package text

import (
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/document"
)

// decode turns a token of a file into its text.
type decode func(token string) string

// newDecoder returns the effect of the file's decoder on one token. Without a decoder,
// tokens are joined by blanks, since models without one begin words in this way.
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

// step returns what one decoder does.
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

// sequence returns the combined effect of several decoders. Strip is omitted where it works
// on the fused text as a whole.
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

// wordPiece removes the prefix of a token that continues a word, and puts a blank before
// other tokens. Without a prefix every token is a word.
func wordPiece(prefix string) decode {
	return func(token string) string {
		if rest, ok := strings.CutPrefix(token, prefix); ok && prefix != "" {
			return rest
		}
		return " " + token
	}
}

// byteFallback reads tokens <0x00> … <0xFF> as bytes.
func byteFallback(token string) string {
	if len(token) == len("<0x00>") && strings.HasPrefix(token, "<0x") && token[5] == '>' {
		if b, err := strconv.ParseUint(token[3:5], 16, 8); err == nil {
			return string([]byte{byte(b)})
		}
	}
	return token
}

// byteLevel reads the runes of a token as bytes (Radford et al. 2019, GPT-2); a token with
// other runes is plain text.
func byteLevel(token string) string {
	if text, ok := unprint(token); ok {
		return text
	}
	return token
}

// option returns the string called name, or its default.
func option(v *document.Value, name, otherwise string) string {
	if s := v.Get(name); s.Is(document.String) {
		return s.Text
	}
	return otherwise
}
