// Package kernel defines descriptions of assembly functions. The emitters write the code from them;
// there is one emitter per architecture.
package kernel

import "strings"

// Func describes an assembly function. Its name omits the suffix for the instruction set.
type Func struct {
	Name   string
	Doc    string // doc comment without the leading function name
	Params []Param
	Result string // result as written in Go: a type, or names and types in parentheses
}

// Param is a parameter of an assembly function.
type Param struct{ Name, Type string }

// Funcs maps the names of assembly functions to their descriptions.
type Funcs map[string]*Func

// Signature returns the parameters and results of f in Go syntax.
func (f *Func) Signature() string {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name + " " + p.Type
	}
	return strings.TrimSpace("(" + strings.Join(params, ", ") + ") " + f.Result)
}

// Emitted is the output of an emitter.
type Emitted struct {
	Files map[string]string // assembly text of each topic (file)
	Names []string          // names of the functions, with the suffix for the instruction set
}
