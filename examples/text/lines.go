package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// Tokens: the 256 bytes, padding after the end of a line, and the mask.
const (
	pad    = 256 // padding after the end of a line
	mask   = 257 // hidden byte
	levels = 258 // number of tokens, with padding and mask
)

// lines is a text, split into lines of at most length bytes.
type lines struct {
	name        string
	own         bool
	length      int
	train, held []string
	judge       *judge // perplexity model estimated from train
}

// made is the number of lines of the generated log.
const made = 6000

// log generates the lines of a log.
func log(seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 90))
	of := func(all ...string) string { return all[r.IntN(len(all))] }
	all := make([]string, made)
	for i := range all {
		what := ""
		level := of("info", "info", "warn", "error")
		switch r.IntN(3) {
		case 0:
			what = fmt.Sprintf("disk %s at %d %%", of("a", "b", "c"), 40+r.IntN(60))
		case 1:
			what = fmt.Sprintf("%s %s after %d ms", of("request", "query", "job"), of("done", "failed", "sent"), 1+r.IntN(900))
		case 2:
			what = fmt.Sprintf("user %s %s", of("anna", "ben", "clara", "dora"), of("logged in", "logged out", "was refused"))
		}
		all[i] = fmt.Sprintf("%02d:%02d:%02d %s %s", r.IntN(24), r.IntN(60), r.IntN(60), level, what)
	}
	return all
}

// read returns the lines of -data, or of a generated log. It holds out a fifth of them.
func read(o options) (*lines, error) {
	l := &lines{name: fmt.Sprintf("%d lines of a log", made), own: o.data == "", length: o.length}
	all := log(o.seed)
	if o.data != "" {
		l.name = o.data
		b, err := os.ReadFile(o.data)
		if err != nil {
			return nil, err
		}
		all = strings.Split(string(b), "\n")
	}
	var parts []string
	for _, s := range all {
		for s = strings.TrimSpace(s); s != ""; {
			end := len(s)
			if end > o.length {
				end = o.length
				if space := strings.LastIndexByte(s[:end+1], ' '); space > 0 {
					end = space
				}
			}
			parts = append(parts, strings.TrimSpace(s[:end]))
			s = strings.TrimSpace(s[end:])
		}
	}
	if len(parts) < 5 {
		return nil, fmt.Errorf("%s: %d lines with text, want ≥ 5", l.name, len(parts))
	}
	rand.New(rand.NewPCG(o.seed, 91)).Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	cut := len(parts) * 4 / 5
	l.train, l.held = parts[:cut], parts[cut:]
	l.judge = newJudge(l.train)
	return l, nil
}

// tokens returns the tokens of the lines, each padded to l.length.
func (l *lines) tokens(all []string) []int32 {
	x := make([]int32, 0, len(all)*l.length)
	for _, s := range all {
		for i := range l.length {
			if i < len(s) {
				x = append(x, int32(s[i]))
			} else {
				x = append(x, pad)
			}
		}
	}
	return x
}

// text returns the line with the given tokens, without padding.
func (l *lines) text(x []int32) string {
	b := make([]byte, 0, len(x))
	for _, t := range x {
		if t < pad {
			b = append(b, byte(t))
		}
	}
	return string(b)
}
