package text

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// prepared is a vocabulary together with data that every compilation over it needs. It is
// immutable.
type prepared struct {
	vocabulary Vocabulary // copy of the vocabulary; the texts are shared
	text       []bool     // for every token, whether it spells its text
	padding    []int32    // padding tokens without duplicates
	used       [256]bool  // bytes that occur in some token
	trie       *trie
	bytes      bool // whether the vocabulary is that of Bytes

	once   sync.Once // guards the computation of digest by hash
	digest [sha256.Size]byte
}

// prepare returns the prepared form of a vocabulary. The last few results are cached by
// content, because sorting 50 000 texts takes longer than all other steps of compiling a
// typical pattern.
func prepare(v Vocabulary) (*prepared, error) {
	if len(v.Forbidden)+len(v.Padding) == 0 && slices.Equal(v.Tokens, Bytes().Tokens) {
		return preparedBytes(), nil
	}
	if p := kept.find(v); p != nil {
		return p, nil
	}
	text, err := v.Spelling()
	if err != nil {
		return nil, err
	}
	p := newPrepared(v, text)
	kept.add(p)
	return p, nil
}

// preparedBytes returns the prepared form of the vocabulary Bytes.
var preparedBytes = sync.OnceValue(func() *prepared {
	p := newPrepared(Bytes(), slices.Repeat([]bool{true}, 256))
	p.bytes = true
	return p
})

// newPrepared returns the prepared form of a vocabulary. text tells which tokens spell their text.
func newPrepared(v Vocabulary, text []bool) *prepared {
	p := &prepared{
		vocabulary: Vocabulary{slices.Clone(v.Tokens), slices.Clone(v.Forbidden), slices.Clone(v.Padding)},
		text:       text, padding: unique(v.Padding), trie: newTrie(v, text),
	}
	for _, b := range p.trie.symbol {
		p.used[b] = true
	}
	return p
}

// keptVocabularies is the number of prepared vocabularies that are cached. One takes some
// megabytes, and few programs use more than two at a time.
const keptVocabularies = 4

// keptTokens is the least number of tokens of a vocabulary that is cached. Smaller vocabularies
// are prepared in microseconds and would displace large ones.
const keptTokens = 1024

// shelf is a cache of prepared vocabularies, with the last used first.
type shelf struct {
	mu   sync.Mutex
	list []*prepared
}

var kept shelf

// find returns the cached prepared form of v, or nil. Identical strings compare by address, so
// comparing a token takes only a nanosecond or two.
func (s *shelf) find(v Vocabulary) *prepared {
	if len(v.Tokens) < keptTokens {
		return nil
	}
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for _, p := range list {
		o := p.vocabulary
		if slices.Equal(o.Forbidden, v.Forbidden) && slices.Equal(o.Padding, v.Padding) && slices.Equal(o.Tokens, v.Tokens) {
			s.add(p)
			return p
		}
	}
	return nil
}

// add moves or inserts p at the front of the cache and drops the last entry if there are too
// many.
func (s *shelf) add(p *prepared) {
	if len(p.vocabulary.Tokens) < keptTokens {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []*prepared{p}
	for _, o := range s.list {
		if o != p && len(list) < keptVocabularies {
			list = append(list, o)
		}
	}
	s.list = list
}

// unique returns ids without duplicates.
func unique(ids []int32) []int32 {
	seen := make(map[int32]bool, len(ids))
	var u []int32
	for _, t := range ids {
		if !seen[t] {
			seen[t] = true
			u = append(u, t)
		}
	}
	return u
}
