package grammar

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Matcher computes which tokens may come next in one text. It is at a position between two tokens.
// It occupies a few machine words, so [Matcher.Fork] and [Matcher.Rollback] are cheap. A single
// Matcher is not safe for concurrent use, but different Matchers of the same [Masks] may be used
// concurrently.
type Matcher struct {
	m     *Masks
	shard *sync.RWMutex // the shard of m.mu that this matcher locks for reading
	at    configuration
	past  []configuration // configurations before each of the accepted tokens
}

// Matcher returns a matcher at the beginning of a text.
func (m *Masks) Matcher() *Matcher {
	return m.at(m.start())
}

// at returns a matcher in the configuration c, without a history.
func (m *Masks) at(c configuration) *Matcher {
	return &Matcher{m: m, shard: m.mu.shard(m.turn.Add(1)), at: c}
}

// Fork returns an independent matcher at the same position. The copy keeps the history, so it can
// be rolled back as far as the original.
func (p *Matcher) Fork() *Matcher {
	f := p.m.at(p.at)
	f.past = slices.Clone(p.past)
	return f
}

// Mask stores in dst the set of tokens that may come next. The slice dst must have [Masks.Words]
// words. Bit t mod 32 of word t/32 is set if token t is allowed. This is the layout that llama.cpp,
// llguidance, vLLM and XGrammar use. A token that ends the text is allowed if the text may end at
// this position, or has already ended. If Mask returns an error, dst is unchanged.
func (p *Matcher) Mask(dst []uint32) error {
	if len(dst) != p.m.Words() {
		return &constraint.ArgumentError{Func: "Matcher.Mask", Arg: "len(dst)", Value: len(dst), Want: fmt.Sprintf("%d, as Words returns it", p.m.Words())}
	}
	if p.at.padded {
		(&mask{ends: true}).write(dst, p.m.v)
		return nil
	}
	k, err := p.m.of(p.at, p.shard)
	if err != nil {
		return err
	}
	k.write(dst, p.m.v)
	return nil
}

// Accept reads a token and reports whether it was allowed. If the token was not allowed, the
// matcher is unchanged.
func (p *Matcher) Accept(token int32) (bool, error) {
	v := p.m.v
	if token < 0 || int(token) >= v.Tokens() {
		return false, &constraint.ArgumentError{Func: "Matcher.Accept", Arg: "token", Value: token, Want: fmt.Sprintf("0 … %d", v.Tokens()-1)}
	}
	c := p.at
	if !c.padded && (v.spell[token] || p.m.dfa != nil) {
		var err error
		if c, err = p.m.read(c, token, p.shard); err != nil {
			return false, err
		}
	} else if !c.padded {
		c = nowhere
	}
	if c.padded || c.state < 0 {
		if !slices.Contains(v.Pad, token) || !p.MayEnd() {
			return false, nil
		}
		c = configuration{padded: true}
	}
	p.past = append(p.past, p.at)
	p.at = c
	return true, nil
}

// Rollback undoes the last n accepted tokens.
func (p *Matcher) Rollback(n int) error {
	if n < 0 || n > len(p.past) {
		return &constraint.ArgumentError{Func: "Matcher.Rollback", Arg: "n", Value: n, Want: fmt.Sprintf("0 … %d, the tokens accepted", len(p.past))}
	}
	if n > 0 {
		p.at, p.past = p.past[len(p.past)-n], p.past[:len(p.past)-n]
	}
	return nil
}

// MayEnd reports whether the text may end at the matcher's position.
func (p *Matcher) MayEnd() bool {
	if p.at.padded {
		return true
	}
	p.shard.RLock()
	defer p.shard.RUnlock()
	return p.m.accepts(p.at)
}

// forced bounds the number of bytes of the text that Forced returns.
const forced = 1 << 12

// Forced returns the text that must come next. It adds bytes as long as exactly one byte can
// follow, up to 4096 bytes. The forced text is empty if the text may end at the matcher's position.
//
// The returned tokens spell a prefix of the forced text, divided into the longest possible tokens.
// Accepting them excludes no completion, because the prefix stops where a token might extend beyond
// the forced text. For masks of an automaton over tokens (see [MasksOf]), Forced lists tokens as
// long as exactly one token can come next, and returns their text.
func (p *Matcher) Forced() (text string, tokens []int32, err error) {
	m := p.m
	if p.at.padded {
		return "", nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dfa != nil {
		for c := p.at; len(text) < forced && !m.accepts(c); c = m.step(c, tokens[len(tokens)-1]) {
			only := m.dfaMask(c.state)
			if only.base != nil || len(only.add) != 1 {
				break
			}
			tokens = append(tokens, only.add[0])
			text += m.v.Text(only.add[0])
		}
		return text, tokens, nil
	}
	var read []byte
	for c := p.at; len(read) < forced && !m.r.accepts(c); {
		only, n := nowhere, 0
		var with byte
		for b := 0; b < 256 && n < 2; b++ {
			if d := m.r.step(c, byte(b)); m.r.alive(d) {
				only, with = d, byte(b)
				n++
			}
		}
		if err := m.checked(); err != nil {
			return "", nil, err
		}
		if n != 1 {
			break
		}
		read = append(read, with)
		c = only
	}
	return string(read), m.v.cut(string(read)), nil
}
