package conformance_test

import (
	"bytes"
	"sync"
	"testing"
)

// Whatever a reader of the registry is given, it returns, with an error or without.
func FuzzRead(f *testing.F) {
	// Examples are made once: some take a run.
	var once sync.Once
	var all []reader
	for kind := range byte(64) { // more than there are readers, each of which gets its example
		f.Add(kind, []byte(nil), uint16(0), byte(0))
		f.Add(kind, []byte("-1"), uint16(9), byte(1))
	}
	f.Fuzz(func(t *testing.T, number byte, text []byte, at uint16, cut byte) {
		once.Do(func() {
			for _, r := range formats(t) {
				if r.name != "sorted.Open" { // which has a folder of its test
					all = append(all, r)
				}
			}
		})
		// The example with text instead of so many bytes at a place, or text alone.
		r := all[int(number)%len(all)]
		data := text
		if cut < 255 {
			from := int(at) % (len(r.valid) + 1)
			to := min(from+int(cut), len(r.valid))
			data = append(append(bytes.Clone(r.valid[:from]), text...), r.valid[to:]...)
		}
		_, _ = r.read(bytes.NewReader(data))
	})
}
