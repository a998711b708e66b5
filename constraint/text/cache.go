package text

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Cache stores compiled regular expressions, so that a server compiles each pattern only once. A
// pattern is identified by its text and by the content of its vocabulary. The zero value is an
// empty cache ready to use. A Cache is safe for concurrent use; two goroutines that request the
// same new pattern both compile it.
type Cache struct {
	// Most is the maximum number of cached patterns; 0 means 1024. If there are more, the least
	// recently used pattern is dropped.
	Most int

	mu   sync.Mutex
	now  uint64
	kept map[cacheKey]*cached
}

// defaultMost is the default of Cache.Most. A pattern over 50 000 tokens takes about 200 kB, so
// 1024 patterns take about 200 MB.
const defaultMost = 1024

type cacheKey struct {
	vocabulary [sha256.Size]byte
	pattern    string
}

type cached struct {
	language *constraint.DFA
	used     uint64
}

// Regexp returns the same result as the function [Regexp], from the cache if possible. Errors are
// not cached. A cached result is returned even if it exceeds the given limits.
func (c *Cache) Regexp(ctx context.Context, pattern string, v Vocabulary, limits constraint.Limits) (*constraint.DFA, error) {
	if c.Most < 0 {
		return nil, &constraint.ArgumentError{Func: "Cache", Arg: "Most", Value: c.Most, Want: "≥ 0"}
	}
	p, err := prepare(v)
	if err != nil {
		return nil, err
	}
	key := cacheKey{p.hash(), pattern}
	if d := c.find(key); d != nil {
		return d, nil
	}
	d, err := regexpOver(ctx, pattern, p, limits)
	if err != nil {
		return nil, err
	}
	c.put(key, d)
	return d, nil
}

// Len returns the number of cached patterns.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kept)
}

func (c *Cache) find(key cacheKey) *constraint.DFA {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.kept[key]
	if !ok {
		return nil
	}
	c.now++
	e.used = c.now
	return e.language
}

func (c *Cache) put(key cacheKey, d *constraint.DFA) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[cacheKey]*cached{}
	}
	c.now++
	c.kept[key] = &cached{d, c.now}
	most := c.Most
	if most == 0 {
		most = defaultMost
	}
	for len(c.kept) > most {
		oldest := key
		for k, e := range c.kept {
			if e.used < c.kept[oldest].used {
				oldest = k
			}
		}
		delete(c.kept, oldest)
	}
}

// hash returns a SHA-256 digest of the content of the vocabulary.
func (p *prepared) hash() [sha256.Size]byte {
	p.once.Do(func() {
		h := sha256.New()
		var b []byte
		for _, ids := range [][]int32{p.vocabulary.Forbidden, p.vocabulary.Padding} {
			b = binary.LittleEndian.AppendUint64(b, uint64(len(ids)))
			for _, t := range ids {
				b = binary.LittleEndian.AppendUint32(b, uint32(t))
			}
		}
		for _, s := range p.vocabulary.Tokens {
			b = binary.AppendUvarint(b, uint64(len(s)))
			if b = append(b, s...); len(b) > 1<<12 {
				h.Write(b)
				b = b[:0]
			}
		}
		h.Write(b)
		h.Sum(p.digest[:0])
	})
	return p.digest
}
