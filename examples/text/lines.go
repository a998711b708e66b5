package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// lines is a text, split into lines of at most length tokens.
type lines struct {
	*tokenizer
	name        string
	own         bool
	length      int
	train, held []string
	judge       *judge          // perplexity model estimated from train
	corpus      map[string]bool // words of train and held; nil before the first call of known

	// period of every line of train and of held: early in the first half of the text, late in the
	// second
	trainPeriod, heldPeriod []int32
}

// Periods, the classes of lines.
const (
	early = iota
	late
	periods // number of classes
)

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
	of := make([]int32, len(all))
	for i := len(all) / 2; i < len(all); i++ {
		of[i] = late
	}
	most := o.length // bytes
	if o.tokens > 0 {
		most *= typical
	}
	parts, of := divide(all, of, func(s string) int { return min(most, len(s)) })
	if len(parts) < 5 {
		return nil, fmt.Errorf("%s: %d lines with text, want ≥ 5", l.name, len(parts))
	}
	rand.New(rand.NewPCG(o.seed, 91)).Shuffle(len(parts), func(i, j int) {
		parts[i], parts[j] = parts[j], parts[i]
		of[i], of[j] = of[j], of[i]
	})
	cut := len(parts) * 4 / 5
	l.train, l.held, l.trainPeriod, l.heldPeriod = parts[:cut], parts[cut:], of[:cut], of[cut:]
	l.tokenizer = byteTokenizer()
	if o.tokens > 0 {
		l.tokenizer = learnTokenizer(l.train, o.tokens)
		l.train, l.trainPeriod = divide(l.train, l.trainPeriod, l.fitting)
		l.held, l.heldPeriod = divide(l.held, l.heldPeriod, l.fitting)
	}
	l.judge = newJudge(l.train)
	return l, nil
}

// typical is the number of bytes per token at which lines are divided before the tokens are
// learned.
const typical = 3

// divide cuts lines, without the blanks around them, into parts of at most most(line) bytes, at
// blanks where there are any. A part has the period of its line.
func divide(all []string, of []int32, most func(line string) int) (parts []string, period []int32) {
	for i, s := range all {
		for s = strings.TrimSpace(s); s != ""; {
			end := most(s)
			if end < len(s) {
				if space := strings.LastIndexByte(s[:end+1], ' '); space > 0 {
					end = space
				}
			}
			parts, period = append(parts, strings.TrimSpace(s[:end])), append(period, of[i])
			s = strings.TrimSpace(s[end:])
		}
	}
	return parts, period
}

// fitting returns the number of bytes in the first tokens of a line, as many as fit.
func (l *lines) fitting(line string) int {
	own, bytes := l.encode(line), 0
	for _, t := range own[:min(l.length, len(own))] {
		bytes += len(l.tokenizer.tokens[t])
	}
	return bytes
}

// states returns the tokens of the lines, each padded to l.length.
func (l *lines) states(all []string) []int32 {
	x := make([]int32, 0, len(all)*l.length)
	for _, s := range all {
		own := l.encode(s)
		x = append(x, own[:min(len(own), l.length)]...)
		for range l.length - len(own) {
			x = append(x, l.pad())
		}
	}
	return x
}

// unit names what -length counts.
func (l *lines) unit() string {
	if l.merge == nil {
		return "bytes"
	}
	return "tokens"
}

// text returns the line with the given tokens, without padding.
func (l *lines) text(x []int32) string {
	b := make([]byte, 0, len(x))
	for _, t := range x {
		if t < l.pad() {
			b = append(b, l.tokenizer.tokens[t]...)
		}
	}
	return string(b)
}
