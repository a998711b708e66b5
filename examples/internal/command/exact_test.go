package command

import (
	"strings"
	"testing"
)

// Runs with the same text share a line, and a report without runs has none.
func TestWriteExact(t *testing.T) {
	var b strings.Builder
	WriteExact(&b, nil, nil)
	WriteExact(&b, []string{"a", "b", "c"}, []string{Steps, Free, Steps})
	if got, want := b.String(), "\na, c: "+Steps+"\nb: "+Free+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
