package read

import (
	"io"
)

// longest is how long a line of words may be: tables stand in one line often.
const longest = 1 << 28

// words reads a text word by word, wherever its lines break.
type words struct {
	lines
	at     int // of the next word in the line
	count  int // of words read
	failed bool
}

func newWords(caller string, r io.Reader) *words {
	w := &words{lines: *newLines(caller, r)}
	w.comment = "c#%"
	w.scanner.Buffer(nil, longest)
	return w
}

// next returns the next word; an error if there is none says what is missing.
func (w *words) next(what string) (string, error) {
	for w.at >= len(w.columns) {
		ok, err := w.lines.next()
		w.at = 0
		if err != nil {
			w.failed = true
			return "", err
		}
		if !ok {
			w.columns = nil
			return "", w.failf("ends after line %d, want %s", w.number, what)
		}
	}
	w.at++
	w.count++
	return w.columns[w.at-1], nil
}

// errorf returns an error about the last word.
func (w *words) errorf(format string, args ...any) error {
	return w.lines.errorf("column %d: "+format, append([]any{w.at}, args...)...)
}

// integer returns the next word, called name, which must be in lo … hi.
func (w *words) integer(name string, lo, hi int) (int, error) {
	if _, err := w.next(name); err != nil {
		return 0, err
	}
	return w.lines.integer(w.at-1, name, lo, hi)
}

// real returns the next word, called name, which must be finite.
func (w *words) real(name string) (float64, error) {
	if _, err := w.next(name); err != nil {
		return 0, err
	}
	return w.lines.real(w.at-1, name)
}
