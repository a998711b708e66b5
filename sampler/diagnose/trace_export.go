package diagnose

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/npy"
)

// WriteNPY writes the values of the functions as one NumPy array of float64,
// shape chains × [Trace.Len] × functions. A streaming trace gives
// [ErrStreaming].
func (t *Trace) WriteNPY(w io.Writer) error {
	if t.streaming {
		return fmt.Errorf("diagnose: WriteNPY: %w", ErrStreaming)
	}
	n, k := t.Len(), t.columns()
	values := make([]float64, 0, t.Chains()*n*len(t.names))
	for _, r := range t.records() {
		for i := range n {
			values = append(values, r.rows[i*k+columnFirst:(i+1)*k]...)
		}
	}
	return npy.Write(w, values, t.Chains(), n, len(t.names))
}

// WriteStatesNPY writes the states as one NumPy array of int32, shape chains × [Trace.Len] × sites.
// It is an error if the states were not kept; see [Trace.KeepStates].
func (t *Trace) WriteStatesNPY(w io.Writer) error {
	if !t.keepStates {
		return errors.New("diagnose: WriteStatesNPY: no states were kept")
	}
	n, sites := t.Len(), t.sites()
	states := make([]int32, 0, t.Chains()*n*sites)
	for _, r := range t.records() {
		if r.sites != sites {
			return fmt.Errorf("diagnose: WriteStatesNPY: chain %d has %d sites, want %d as the first", r.chain, r.sites, sites)
		}
		states = append(states, r.states[:n*sites]...)
	}
	return npy.Write(w, states, t.Chains(), n, sites)
}

// sites returns the number of sites of the first chain.
func (t *Trace) sites() int {
	if r := t.records(); len(r) > 0 {
		return r[0].sites
	}
	return 0
}

// WriteCSV writes one chain in the layout of CmdStan's files, which ArviZ reads with
// from_cmdstan: comment lines that start with #, a line of column names and one line per
// draw ([Trace.Len] of them). The columns are
//
//	lp__, accept_stat__, moves__, the functions, x.1 … x.sites
//
// with lp__ = −energy, accept_stat__ the acceptance probability, moves__ the number of sites that
// changed, and the sites only if states are kept. Unknown numbers are NaN, infinite ones inf and
// -inf; all others have the fewest digits that reproduce the same float64.
//
// As readers of this format require, the name of a function must be a letter followed by letters,
// digits and underscores, without two underscores at the end, and may carry 1-based indices after
// dots (spin.1.3), the same number for every element. Names must differ, and none may be x if
// states are kept. Any other name is an error, which is returned before anything is written. A
// streaming trace gives [ErrStreaming]. It panics if there is no such chain; chains count from 0 in
// the order of their numbers.
func (t *Trace) WriteCSV(w io.Writer, chain int) error {
	if err := check.Given("diagnose: WriteCSV", "w", w); err != nil {
		return err
	}
	if err := t.checkCSV(); err != nil {
		return fmt.Errorf("diagnose: WriteCSV: %w", err)
	}
	if chain < 0 || chain >= t.Chains() {
		panic(fmt.Sprintf("diagnose: chain = %d, want 0 ≤ chain < %d", chain, t.Chains()))
	}
	const flush = 1 << 16 // bytes; any size whose writing takes long compared with a system call
	r, n := t.records()[chain], t.Len()
	b := fmt.Appendf(nil, "# gibbsite draws\n# num_samples = %d\n# save_warmup = 0\n# id = %d\n", n, chain+1)
	b = append(b, "lp__,accept_stat__,moves__"...)
	for _, name := range t.names {
		b = append(append(b, ','), name...)
	}
	sites := 0
	if t.keepStates {
		sites = r.sites
	}
	for i := range sites {
		b = strconv.AppendInt(append(b, ",x."...), int64(i+1), 10)
	}
	b = append(b, '\n')
	for i := range n {
		row := r.rows[i*t.columns() : (i+1)*t.columns()]
		b = appendFloat(b, 0-row[columnEnergy])
		for _, v := range row[columnAccept:] {
			b = appendFloat(append(b, ','), v)
		}
		for _, level := range r.states[i*sites : (i+1)*sites] {
			b = strconv.AppendInt(append(b, ','), int64(level), 10)
		}
		b = append(b, '\n')
		if len(b) >= flush {
			if _, err := w.Write(b); err != nil {
				return fmt.Errorf("diagnose: WriteCSV: %w", err)
			}
			b = b[:0]
		}
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("diagnose: WriteCSV: %w", err)
	}
	return nil
}

// columnName splits a name that WriteCSV accepts into the base name and its indices.
var columnName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*)((?:\.[1-9][0-9]*)*)$`)

func (t *Trace) checkCSV() error {
	if t.streaming {
		return ErrStreaming
	}
	dots := map[string]int{} // of the names seen
	if t.keepStates {
		dots["x"] = -1 // fits no other
	}
	full := map[string]bool{}
	for _, name := range t.names {
		part := columnName.FindStringSubmatch(name)
		if part == nil || strings.HasSuffix(part[1], "__") {
			return fmt.Errorf("the function name %q does not fit a column", name)
		}
		n := strings.Count(part[2], ".")
		if before, ok := dots[part[1]]; full[name] || ok && before != n {
			return fmt.Errorf("the function name %q is taken", name)
		}
		dots[part[1]], full[name] = n, true
	}
	return nil
}

// appendFloat spells infinities as CmdStan does.
func appendFloat(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "inf"...)
	case math.IsInf(v, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// Values returns a copy of the values of one function, or of the "energy" (in nats), the "accept"
// probability or the "moves" of each draw, as values[chain][draw]. A function with one of these
// names takes precedence. Every chain has [Trace.Len] draws. It is an error if there is no such
// name. A streaming trace gives [ErrStreaming].
func (t *Trace) Values(name string) ([][]float64, error) {
	k, err := t.find(name)
	if err != nil {
		return nil, fmt.Errorf("diagnose: Values: %w", err)
	}
	return t.column(k), nil
}

// find returns the column with the given name.
func (t *Trace) find(name string) (int, error) {
	if t.streaming {
		return 0, ErrStreaming
	}
	if i := slices.Index(t.names, name); i >= 0 {
		return columnFirst + i, nil
	}
	if k := slices.Index(columnNames[:], name); k >= 0 {
		return k, nil
	}
	return 0, fmt.Errorf("name = %q, want one of %s", name, strings.Join(append(slices.Clone(t.names), columnNames[:]...), ", "))
}

// column copies one column of the rows, as draws[chain][draw].
func (t *Trace) column(k int) [][]float64 {
	records := t.records()
	draws := newDraws(len(records), t.Len())
	for c, x := range draws {
		for i := range x {
			x[i] = records[c].rows[i*t.columns()+k]
		}
	}
	return draws
}

// errNotKept is the error of a trace that was not asked to keep something.
func errNotKept(what, how string) error {
	return errors.New("diagnose: " + what + ": not kept, want " + how + " before the first draw")
}

// SaveNPY writes the file path with [Trace.WriteNPY]. While it is being written, the file is named
// path.partial; path appears only when it is complete. On an error, the partial file is removed and
// path is unchanged.
func (t *Trace) SaveNPY(path string) error { return saveFile(path, t.WriteNPY) }

// SaveStatesNPY writes the file path with [Trace.WriteStatesNPY], as SaveNPY does.
func (t *Trace) SaveStatesNPY(path string) error { return saveFile(path, t.WriteStatesNPY) }

// SaveCSV writes the files prefix_1.csv, prefix_2.csv, …, one per chain, with [Trace.WriteCSV], and
// returns their names. Each appears only when it is complete. After an error, the files of the
// earlier chains remain.
func (t *Trace) SaveCSV(prefix string) (paths []string, err error) {
	if err := t.checkCSV(); err != nil {
		return nil, fmt.Errorf("diagnose: SaveCSV: %w", err)
	}
	for c := range t.Chains() {
		path := fmt.Sprintf("%s_%d.csv", prefix, c+1)
		if err := saveFile(path, func(w io.Writer) error { return t.WriteCSV(w, c) }); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// saveFile fills path.partial and then renames it to path or, if path is a link, to the file to
// which the link points.
func saveFile(path string, write func(io.Writer) error) (err error) {
	if path, err = durable.Target(path); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	partial := path + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(partial)
		}
	}()
	if err = write(f); err != nil {
		f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	if err = os.Rename(partial, path); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	return nil
}
