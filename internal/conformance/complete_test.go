package conformance_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/conformance"
)

// loaded is the module, read once.
var loaded = sync.OnceValues(conformance.Load)

// parts returns the types of the module that implement an interface, and the functions
// that make what implements it.
func parts(t *testing.T, pkg, name string) []string {
	t.Helper()
	m, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	implementing, err := m.Implementing(pkg, name)
	if err != nil {
		t.Fatal(err)
	}
	making, err := m.Making(pkg, name)
	if err != nil {
		t.Fatal(err)
	}
	return append(implementing, making...)
}

// complete fails with one line for every part that is not registered, and for what is
// registered, or left out for a reason, and is none.
func complete(t *testing.T, kind, file string, registered map[string]bool, except map[string]string, found []string) {
	t.Helper()
	slices.Sort(found)
	found = slices.Compact(found)
	var entries []string
	for name := range registered {
		entries = append(entries, name)
	}
	for name := range except {
		entries = append(entries, name)
	}
	for _, line := range conformance.Missing(found, entries, kind, file) {
		t.Error(line)
	}
	for _, name := range entries {
		if !slices.Contains(found, name) {
			t.Errorf("%s is in internal/conformance/%s, and no %s of the module", name, file, kind)
		}
	}
}
