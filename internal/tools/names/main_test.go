package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var tree = map[string]string{
	"go.mod": "module example.org/m\n\ngo 1.26\n",
	"a/a.go": `// Package a is looked at.
package a

import "fmt"

// Setting has one field that is set and one that is not.
type Setting struct {
	Set, Unset int
	Inner
}

// Inner is seen through Setting.
type Inner struct{ Seen, Unseen int }

// Result is returned: what is documented counts, Named too.
type Result struct {
	Commented int // a comment
	Named     int
	Bare      int
}

// Pair is made without keys.
type Pair struct{ X, Y int }

// Level is an enumeration.
type Level int

const (
	Low Level = iota
	High
)

const Alone = 1

// Reached is in the signature of what is used.
type Reached struct{}

func (Reached) String() string { return fmt.Sprint() } // a Stringer
func (Reached) Lost()          {}

// Fault is an error.
type Fault struct {
	Site int // where
}

func (*Fault) Error() string { return "" }

type Numbers[T any] struct{ All []T }

func (*Numbers[T]) Append(x T) {}
func (*Numbers[T]) Drop()      {}

// Doer is satisfied elsewhere.
type Doer interface{ Do() }

// Appender is satisfied by Numbers.
type Appender[T any] interface{ Append(x T) }

func Used(s Setting) (Result, Reached, error) { return Result{}, Reached{}, &Fault{} }
func Within()                                 {}
func Tested()                                 {}
func Shown()                                  {}
func Elsewhere()                              {}
func hidden()                                 { Within() }

var Variable = 1
`,
	"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { Tested(); hidden(); help() }\nfunc help() {}\n",
	"a/example_test.go": `package a_test

import (
	"testing"

	"example.org/m/a"
)

func ExampleShown() { a.Shown() }

func TestTested(t *testing.T) { a.Tested() }
`,
	"b/b_test.go": `package b_test

import (
	"testing"

	"example.org/m/a"
	"example.org/nowhere"
)

func TestB(t *testing.T) { nowhere.Call(a.Elsewhere, t) }
`,
	"internal/c/do.go": "package c\n\ntype do struct{}\n\nfunc (do) Do() {}\n",
	"internal/c/c.go": `package c

import "example.org/m/a"

func F() int {
	s := a.Setting{Set: 1}
	a.Used(s)
	p := a.Pair{1, 2}
	var n a.Numbers[int]
	return s.Seen + int(a.High) + len(n.All) + p.X + a.D()
}
`,
	"a/d.go":        "package a\n\nfunc D() int { return Variable }\n",
	"internal/x.go": "package internal\n\nfunc Unused() {}\n",
	"cmd/main.go":   "package main\n\nfunc Unused() {}\n\nfunc main() {}\n",
}

// What is used from outside is distinguished from what is not, in tests and through
// fields, literals, signatures and interfaces, too.
func TestUnused(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	for file, text := range tree {
		file = filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	found, err := unused(dir, false)
	require.NoError(t, err)
	var texts []string
	for _, n := range found {
		require.Equal(t, "a", n.folder)
		texts = append(texts, n.text)
	}
	require.Equal(t, []string{
		"Alone", "Appender", "Fault", "Inner.Unseen", "Numbers.Drop", "Reached.Lost", "Result.Bare", "Setting.Unset",
		"Variable", "Within",
	}, texts)
	require.True(t, found[0].in([]string{"./a"}))
	require.True(t, found[0].in([]string{"b", "."}))
	require.False(t, found[0].in([]string{"b"}))
	inside, err := unused(dir, true)
	require.NoError(t, err)
	require.Len(t, inside, 2)
	require.Equal(t, "Unused", inside[0].text)
	require.Regexp(t, `^a +Alone +a\.go:33$`, found[0].String())
}

func TestNoModule(t *testing.T) {
	t.Setenv("GOWORK", "off")
	_, err := unused(t.TempDir(), false)
	require.ErrorContains(t, err, "go list")
}
