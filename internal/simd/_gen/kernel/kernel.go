// Package kernel describes functions in assembly to the emitters that write them.
package kernel

import "strings"

// Func is a function in assembly, without the instruction set that its name ends in.
type Func struct {
	Name   string
	Doc    string // the sentence behind the name
	Params []Param
	Result string // as in Go: a type, or names and types in parentheses
}

// Param is a parameter of a function in assembly.
type Param struct{ Name, Type string }

// Funcs are functions by name.
type Funcs map[string]*Func

// Signature returns the parameters and results of f as Go writes them.
func (f *Func) Signature() string {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name + " " + p.Type
	}
	return strings.TrimSpace("(" + strings.Join(params, ", ") + ") " + f.Result)
}

// Emitted is what an emitter has written.
type Emitted struct {
	Files map[string]string // text of assembly by topic
	Names []string          // of functions, with their instruction sets
}
