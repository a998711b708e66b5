package read

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// freeSites is the largest number of sites that a file may have without naming them in entries.
// Models take about 50 bytes per site, so a few bytes of text cannot allocate more than some 50 MB.
const freeSites = 1 << 20

// lines reads a text file of blank-separated columns. It skips blank lines and lines that start
// with one of the characters in comment.
type lines struct {
	caller  string
	comment string
	scanner *bufio.Scanner
	number  int      // number of the current line, from 1
	columns []string // columns of the current line

	// remark, if not nil, is called with every comment.
	remark func(text string) error

	// vartype is called with the value of a comment such as "vartype=SPIN", which dimod writes
	// before the coefficients. If it is nil, such a comment is an error.
	vartype func(value string) error
}

// vartype matches a comment that states the type of the variables.
var vartype = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bvartype\s*[=:]\s*"?(\w+)`) })

// none is the reader used if the caller passed nil; its Read returns an error.
type none struct{ caller string }

func (n none) Read([]byte) (int, error) { return 0, fmt.Errorf("read: %s: r = nil", n.caller) }

func newLines(caller string, r io.Reader) *lines {
	return &lines{caller: caller, comment: "#%", scanner: bufio.NewScanner(unmarked(caller, r))}
}

// mark is the byte order mark U+FEFF in UTF-8. Some programs put it before a text, where it has no
// meaning.
const mark = "\uFEFF"

// unmarked returns a reader of r that skips a byte order mark at the beginning.
func unmarked(caller string, r io.Reader) io.Reader {
	if r == nil {
		return none{caller}
	}
	b := bufio.NewReader(r)
	if first, _ := b.Peek(len(mark)); string(first) == mark {
		_, _ = b.Discard(len(mark)) // cannot fail after Peek
	}
	return b
}

// next reads the next line that has columns; ok is false at the end. A line that is cut short by an
// error of the reader does not count.
func (l *lines) next() (ok bool, err error) {
	for l.scanner.Scan() && l.scanner.Err() == nil {
		l.number++
		l.columns = strings.Fields(l.scanner.Text())
		if len(l.columns) == 0 {
			continue
		}
		if !strings.ContainsAny(l.columns[0][:1], l.comment) {
			return true, nil
		}
		if l.remark != nil {
			if err := l.remark(l.scanner.Text()); err != nil {
				return false, err
			}
		}
		if kind := vartype().FindStringSubmatch(l.scanner.Text()); kind != nil {
			if l.vartype == nil {
				return false, l.errorf("a comment states vartype=%s, which a file of this format does not choose; remove it, or read the file as COO", kind[1])
			}
			if err := l.vartype(kind[1]); err != nil {
				return false, err
			}
		}
	}
	err = l.scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		l.number++
		return false, l.errorf("more than %d bytes", bufio.MaxScanTokenSize)
	}
	if err != nil {
		return false, fmt.Errorf("read: %s: after line %d: %w", l.caller, l.number, err)
	}
	return false, nil
}

// errorf returns an error that names the current line.
func (l *lines) errorf(format string, args ...any) error {
	return fmt.Errorf("read: %s: line %d: %s", l.caller, l.number, fmt.Sprintf(format, args...))
}

// failf returns an error about the text as a whole.
func (l *lines) failf(format string, args ...any) error {
	return fmt.Errorf("read: %s: %s", l.caller, fmt.Sprintf(format, args...))
}

// first reads the first line. It returns an error if there is none; what describes the expected
// line in the message.
func (l *lines) first(what string) error {
	ok, err := l.next()
	if err == nil && !ok {
		return l.failf("no lines, want %s", what)
	}
	return err
}

// want returns an error unless the current line has from … to columns. names describes them in the
// error message.
func (l *lines) want(from, to int, names string) error {
	if n := len(l.columns); n < from || n > to {
		return l.errorf("%d columns, want %s", n, names)
	}
	return nil
}

// integer returns column c (from 0), which must be an integer in lo … hi. name is used in the error
// message.
func (l *lines) integer(c int, name string, lo, hi int) (int, error) {
	v, err := strconv.Atoi(l.columns[c])
	if err != nil || v < lo || v > hi {
		return 0, l.errorf("column %d: %s = %s, want an integer in %d … %d", c+1, name, brief(l.columns[c]), lo, hi)
	}
	return v, nil
}

// real returns column c (from 0), which must be a finite number. name is used in the error message.
func (l *lines) real(c int, name string) (float64, error) {
	v, err := strconv.ParseFloat(l.columns[c], 64)
	if err != nil || !check.Finite(v) {
		return 0, l.errorf("column %d: %s = %s, want a finite number", c+1, name, brief(l.columns[c]))
	}
	return v, nil
}

// brief returns s for an error message: quoted unless it is a number, and shortened if it is long.
func brief(s string) string {
	const most = 32 // enough for any number
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return strconv.Quote(s)
}

// checkSites returns an error if n sites are too many for a file with the given number of entries.
func checkSites(caller string, n, entries int) error {
	if n > math.MaxInt32-1 || n > freeSites && n > 2*entries {
		return fmt.Errorf("read: %s: %d sites with %d entries, want ≤ %d sites or ≤ 2 per entry", caller, n, entries, freeSites)
	}
	return nil
}

// longest is the largest length of a line, in bytes, in formats that are read word by word. Their
// tables are often in a single line.
const longest = 1 << 28

// words reads a text word by word, regardless of line breaks.
type words struct {
	lines
	at     int // index of the next word in the line
	count  int // number of words read
	failed bool
}

func newWords(caller string, r io.Reader) *words {
	w := &words{lines: *newLines(caller, r)}
	w.comment = "c#%"
	w.scanner.Buffer(nil, longest)
	return w
}

// next returns the next word. It returns an error if there is none; what describes the expected
// word in the message.
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

// errorf returns an error that names the position of the last word.
func (w *words) errorf(format string, args ...any) error {
	return w.lines.errorf("column %d: "+format, append([]any{w.at}, args...)...)
}

// integer returns the next word, which must be an integer in lo … hi. name is used in the error
// message.
func (w *words) integer(name string, lo, hi int) (int, error) {
	if _, err := w.next(name); err != nil {
		return 0, err
	}
	return w.lines.integer(w.at-1, name, lo, hi)
}

// real returns the next word, which must be a finite number. name is used in the error message.
func (w *words) real(name string) (float64, error) {
	if _, err := w.next(name); err != nil {
		return 0, err
	}
	return w.lines.real(w.at-1, name)
}
