package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// place is the location of a feature: the indices of its bases, counted from 0, in the direction
// of the feature, each with its strand.
type place struct {
	bases        []int
	back         []bool // whether the base is read on the other strand
	open5, open3 bool   // whether the feature is partial at its beginning or end
}

// locate parses a location of GenBank's feature table over n bases: a..b, single bases, <a..>b,
// complement(…) and join(…), nested to any depth.
func locate(text string, n int) (place, error) {
	p := &locator{text: text, n: n}
	all, err := p.read()
	if err == nil && p.at < len(text) {
		err = fmt.Errorf("%q after its end", text[p.at:])
	}
	if err != nil {
		return place{}, fmt.Errorf("location %.60s: %w", text, err)
	}
	return all, nil
}

type locator struct {
	text  string
	n, at int
	deep  int
}

// take consumes s if the text continues with it, and reports whether it does.
func (p *locator) take(s string) bool {
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *locator) read() (place, error) {
	p.deep++
	defer func() { p.deep-- }()
	if p.deep > 100 {
		return place{}, fmt.Errorf("brackets are nested more than 100 deep")
	}
	switch {
	case p.take("complement("):
		all, err := p.read()
		if err != nil {
			return all, err
		}
		slices.Reverse(all.bases)
		slices.Reverse(all.back)
		for i := range all.back {
			all.back[i] = !all.back[i]
		}
		all.open5, all.open3 = all.open3, all.open5
		return all, p.close()
	case p.take("join("):
		var all place
		for first := true; first || p.take(","); first = false {
			part, err := p.read()
			if err != nil {
				return all, err
			}
			if first {
				all.open5 = part.open5
			}
			all.open3 = part.open3
			all.bases = append(all.bases, part.bases...)
			all.back = append(all.back, part.back...)
			if len(all.bases) > p.n {
				return all, fmt.Errorf("more than the %d bases of the record", p.n)
			}
		}
		return all, p.close()
	}
	return p.span()
}

func (p *locator) close() error {
	if !p.take(")") {
		return fmt.Errorf("%q, want a closing bracket", p.text[p.at:])
	}
	return nil
}

// span reads a..b or a.
func (p *locator) span() (place, error) {
	var s place
	from := p.at
	s.open5 = p.take("<")
	a, err := p.number()
	if err != nil {
		return s, err
	}
	b := a
	if p.take("..") {
		s.open3 = p.take(">")
		if b, err = p.number(); err != nil {
			return s, err
		}
	}
	if a < 1 || b > p.n || a > b {
		return s, fmt.Errorf("%s, want bases of 1 … %d, the lower one first", p.text[from:p.at], p.n)
	}
	for i := a; i <= b; i++ {
		s.bases = append(s.bases, i-1)
		s.back = append(s.back, false)
	}
	return s, nil
}

func (p *locator) number() (int, error) {
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(p.text[p.at:end])
	if err != nil {
		return 0, fmt.Errorf("%q, want a number of a base, a..b, complement(…) or join(…)", p.text[p.at:])
	}
	p.at = end
	return n, nil
}

// dna returns the bases at a place in the direction of the feature.
func (p place) dna(sequence string) string {
	b := make([]byte, len(p.bases))
	for i, at := range p.bases {
		b[i] = sequence[at]
		if p.back[i] {
			b[i] = opposite(sequence[at : at+1])[0]
		}
	}
	return string(b)
}

// flank returns up to n bases adjacent to a place, in its direction: before it for step = −1,
// after it for step = 1. It stops at the end of a linear record, at a base other than A, C, G
// and T, and at the place itself.
func (p place) flank(r *record, step, n int) string {
	within := make(map[int]bool, len(p.bases))
	for _, at := range p.bases {
		within[at] = true
	}
	last := 0
	if step > 0 {
		last = len(p.bases) - 1
	}
	at, back := p.bases[last], p.back[last]
	move := step
	if back {
		move = -step
	}
	var b []byte
	for len(b) < n {
		at += move
		if r.circular {
			at = (at + len(r.sequence)) % len(r.sequence)
		}
		if at < 0 || at >= len(r.sequence) || within[at] || !strings.ContainsRune("ACGT", rune(r.sequence[at])) {
			break
		}
		c := r.sequence[at : at+1]
		if back {
			c = opposite(c)
		}
		b = append(b, c[0])
		within[at] = true
	}
	if step < 0 {
		slices.Reverse(b)
	}
	return string(b)
}
