package diagnose

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// WriteInferenceData writes all draws as one JSON object in the layout of ArviZ, whose
// from_json converts it to an InferenceData:
//
//	{"posterior": {"mag": [[…], …], …, "x": [[[…], …], …]},
//	 "sample_stats": {"lp": [[…], …], "acceptance_rate": …, "n_moves": …},
//	 "attrs": {"inference_library": "gibbsite"}}
//
// with the functions by name, indexed [chain][draw], the states x, indexed [chain][draw][site], if
// they are kept, and lp = −energy. Statistics that are unknown (NaN) in every draw are omitted.
// Numbers have the fewest digits that reproduce the same float64. Numbers that are not finite are
// written as NaN, Infinity and −Infinity, as ArviZ and Python's json do; strict JSON readers do not
// accept these.
//
// Names must differ and must not be empty, "chain" or "draw", nor "x" if states are kept.
// A streaming trace gives [ErrStreaming].
func (t *Trace) WriteInferenceData(w io.Writer) error {
	if err := check.Given("diagnose: WriteInferenceData", "w", w); err != nil {
		return err
	}
	if err := t.writeInferenceData(w); err != nil {
		return fmt.Errorf("diagnose: WriteInferenceData: %w", err)
	}
	return nil
}

// SaveInferenceData writes the file path with [Trace.WriteInferenceData], as SaveNPY does.
func (t *Trace) SaveInferenceData(path string) error { return saveFile(path, t.WriteInferenceData) }

func (t *Trace) writeInferenceData(w io.Writer) error {
	if t.streaming {
		return ErrStreaming
	}
	taken := []string{"", "chain", "draw"}
	if t.keepStates {
		taken = append(taken, "x")
	}
	for _, name := range t.names {
		if slices.Contains(taken, name) {
			return fmt.Errorf("the function name %q is empty or taken", name)
		}
		taken = append(taken, name)
	}
	j := jsonWriter{w: w}
	j.text(`{"posterior": {`)
	for i, name := range t.names {
		j.variable(i == 0, name)
		j.draws(t.column(columnFirst + i))
	}
	if t.keepStates {
		j.variable(len(t.names) == 0, "x")
		j.states(t.records(), t.Len())
	}
	j.text(`}, "sample_stats": {`)
	first := true
	for k, name := range [columnFirst]string{"lp", "acceptance_rate", "n_moves"} {
		draws := t.column(k)
		known := false
		for _, x := range draws {
			for i, v := range x {
				known = known || !math.IsNaN(v)
				if k == columnEnergy {
					x[i] = 0 - v
				}
			}
		}
		if known {
			j.variable(first, name)
			j.draws(draws)
			first = false
		}
	}
	j.text(`}, "attrs": {"inference_library": "gibbsite"}}` + "\n")
	j.flush()
	return j.err
}

// jsonWriter writes until the first error.
type jsonWriter struct {
	w   io.Writer
	b   []byte
	err error
}

func (j *jsonWriter) flush() {
	if j.err == nil {
		_, j.err = j.w.Write(j.b)
	}
	j.b = j.b[:0]
}

func (j *jsonWriter) text(s string) { j.b = append(j.b, s...) }

func (j *jsonWriter) variable(first bool, name string) {
	if !first {
		j.text(", ")
	}
	j.b = appendQuoted(j.b, name)
	j.text(": ")
}

// draws writes an array [chain][draw].
func (j *jsonWriter) draws(draws [][]float64) {
	j.array(len(draws), func(c int) {
		j.array(len(draws[c]), func(i int) { j.b = appendNumber(j.b, draws[c][i]) })
	})
}

// states writes an array [chain][draw][site].
func (j *jsonWriter) states(records []*record, draws int) {
	j.array(len(records), func(c int) {
		r := records[c]
		j.array(draws, func(d int) {
			j.array(r.sites, func(i int) { j.b = strconv.AppendInt(j.b, int64(r.states[d*r.sites+i]), 10) })
		})
	})
}

func (j *jsonWriter) array(n int, item func(i int)) {
	const full = 1 << 16 // bytes; any size whose writing takes long compared with a system call
	j.text("[")
	for i := range n {
		if i > 0 {
			j.text(", ")
		}
		item(i)
		if len(j.b) >= full {
			j.flush()
		}
	}
	j.text("]")
}

// appendNumber writes numbers that are not finite as Python's json does.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// appendQuoted appends a JSON string; bytes that are not valid UTF-8 become U+FFFD.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}
