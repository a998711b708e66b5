// Package picturetest checks figures in the tests of examples.
package picturetest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// Album checks the figures of an album. It fails the test if the names of the figures are not the
// given ones, if texts overlap, if marks lie outside the canvas, or if a figure's files cannot be
// decoded.
func Album(t testing.TB, figures []*picture.Figure, names ...string) {
	t.Helper()
	var got []string
	for _, f := range figures {
		got = append(got, f.Name)
		if f.Title == "" || f.Caption == "" {
			t.Errorf("%s: title %q, caption %q", f.Name, f.Title, f.Caption)
		}
		for _, fault := range picture.Faults(f) {
			t.Errorf("%s: %s", f.Name, fault)
		}
		if b, err := f.PNG(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		} else if _, err := png.Decode(bytes.NewReader(b)); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if b, err := f.SVG(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		} else if err := wellFormed(b); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("pictures: %q, want %q", got, names)
	}
}

func wellFormed(b []byte) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
