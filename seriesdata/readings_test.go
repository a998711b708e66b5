package seriesdata

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what is read into testdata/files.txt; every change has to be judged by eye")

// sample is a file of testdata/files.txt and what has to be read from it.
type sample struct {
	head, written    string // the line with the name, and the file as it stands in files.txt
	name, text, want string
}

// samples splits testdata/files.txt. A file begins with "=== name, option, …" and ends with a line
// "---", which what is read follows. The options bom, crlf, cr, utf16, latin1, gzip and cut (no line
// ending at the end) say how the bytes of the file differ from those between the lines.
func samples(t *testing.T) (all []sample) {
	b, err := os.ReadFile("testdata/files.txt")
	require.NoError(t, err)
	for part := range strings.SplitSeq("\n"+string(b), "\n=== ") {
		head, rest, _ := strings.Cut(part, "\n")
		if head == "" {
			continue
		}
		text, want, ok := strings.Cut("\n"+rest+"\n", "\n---\n")
		require.True(t, ok, head)
		text = strings.TrimPrefix(text, "\n") + "\n"
		written := text
		name, options, _ := strings.Cut(head, ": ")
		for o := range strings.FieldsSeq(options) {
			switch o {
			case "bom":
				text = "\ufeff" + text
			case "crlf":
				text = strings.ReplaceAll(text, "\n", "\r\n")
			case "cr":
				text = strings.ReplaceAll(text, "\n", "\r")
			case "utf16":
				text = utf16Of(text, binary.LittleEndian)
			case "latin1":
				var b []byte
				for _, r := range text {
					b = append(b, byte(r))
				}
				text = string(b)
			case "gzip":
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				w.Write([]byte(text))
				w.Close()
				text = b.String()
			case "cut":
				text = strings.TrimSuffix(text, "\n")
			case "tabs":
				text = strings.ReplaceAll(text, "→", "\t")
			case "nbsp":
				text = strings.ReplaceAll(text, "_", "\u00a0")
			default:
				t.Fatalf("%s: option %q", head, o)
			}
		}
		all = append(all, sample{head, written, name, text, strings.TrimSpace(want)})
	}
	return all
}

// summary is what was read: the step of times and the channels with their units, then every time of
// every entity and its numbers.
func summary(f *Frame) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", f.Time.Step)
	for _, c := range f.Channels {
		fmt.Fprintf(&b, " %s", c.Name)
		if c.Unit != "" {
			fmt.Fprintf(&b, "[%s]", c.Unit)
		}
	}
	b.WriteString("\n")
	dated := f.layout.dated || f.layout.axis != nil && f.layout.axis.dated
	for _, e := range f.Entities {
		for r, at := range e.Times {
			if e.Name != "" {
				b.WriteString(e.Name + ": ")
			}
			if dated {
				b.WriteString(strings.TrimSuffix(time.UnixMicro(int64(at)).UTC().Format("2006-01-02T15:04:05.999999"), "T00:00:00"))
			} else {
				b.WriteString(strconv.FormatFloat(at, 'g', 10, 64))
			}
			for c := range f.Channels {
				if v := e.Values[r*len(f.Channels)+c]; math.IsNaN(v) {
					b.WriteString(" ?")
				} else {
					b.WriteString(" " + strconv.FormatFloat(v, 'g', 15, 64))
				}
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// Files of statistical offices, brokers, loggers and programs are read as what they say, cell by
// cell, or refused with a line and a cure.
func TestFilesOfManyKinds(t *testing.T) {
	var golden strings.Builder
	for _, c := range samples(t) {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			f, err := Read(strings.NewReader(c.text), Options{})
			if err != nil {
				got = "! " + err.Error()
			} else {
				got = summary(f)
			}
			fmt.Fprintf(&golden, "=== %s\n%s---\n%s\n", c.head, c.written, got)
			if !*update {
				assert.Equal(t, c.want, got)
			}
			if err == nil {
				back(t, c.text, f)
			}
		})
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/files.txt", []byte(golden.String()), 0o644))
	}
}
