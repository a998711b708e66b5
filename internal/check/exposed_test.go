package check_test

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/gibbsite-go/gibbsite"

// A user can name every type that a public function, method, field, variable, constant
// or type of the module mentions: none is of an internal package. Aliases are looked
// through, type arguments looked at.
func TestNoInternalTypeIsPublic(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no go command")
	}
	packages := load(t, "../../...")
	require.Greater(t, len(packages), 40, "packages of the module")
	for _, p := range packages {
		for _, line := range exposed(p) {
			t.Error(line)
		}
	}
}

// What exposed looks for, in a package that has it all.
func TestExposedFindsAll(t *testing.T) {
	in := types.NewPackage(module+"/internal/in", "in")
	hidden := types.NewNamed(types.NewTypeName(0, in, "T", nil), types.NewStruct(nil, nil), nil)
	hidden.AddMethod(method(in, "Get", hidden, hidden))
	p := types.NewPackage(module+"/p", "p")
	named := func(name string, u types.Type) *types.Named {
		n := types.NewTypeName(0, p, name, nil)
		p.Scope().Insert(n)
		return types.NewNamed(n, u, nil)
	}
	field := func(name string, embedded bool) *types.Struct {
		return types.NewStruct([]*types.Var{types.NewField(0, p, name, hidden, embedded)}, nil)
	}
	p.Scope().Insert(types.NewFunc(0, p, "F", signature(types.NewSlice(hidden))))
	p.Scope().Insert(types.NewVar(0, p, "V", types.NewMap(types.Typ[types.Int], types.NewPointer(hidden))))
	p.Scope().Insert(types.NewFunc(0, p, "f", signature(hidden)))
	alias := types.NewTypeName(0, p, "A", nil)
	types.NewAlias(alias, hidden)
	p.Scope().Insert(alias)
	named("Fielded", field("X", false))
	named("Embeds", field("t", true)) // its method Get is promoted
	named("Private", field("x", false))
	does := named("Does", types.NewStruct(nil, nil))
	does.AddMethod(method(p, "M", does, hidden))
	named("Asks", types.NewInterfaceType([]*types.Func{types.NewFunc(0, p, "M", signature(hidden))}, nil))
	assert.Equal(t, []string{
		"p.A mentions internal/in.T", "p.Asks.M mentions internal/in.T", "p.Does.M mentions internal/in.T",
		"p.Embeds.Get mentions internal/in.T", "p.F mentions internal/in.T", "p.Fielded.X mentions internal/in.T",
		"p.V mentions internal/in.T",
	}, exposed(p))
}

// signature is that of a function of nothing with a result.
func signature(result types.Type) *types.Signature {
	return types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(types.NewVar(0, nil, "", result)), false)
}

// method is one of *recv of nothing with a result.
func method(p *types.Package, name string, recv, result types.Type) *types.Func {
	s := types.NewSignatureType(types.NewVar(0, p, "", types.NewPointer(recv)), nil, nil, nil, types.NewTuple(types.NewVar(0, nil, "", result)), false)
	return types.NewFunc(0, p, name, s)
}

// load returns the packages of the module that anyone may import, from what the go
// command has compiled.
func load(t *testing.T, pattern string) []*types.Package {
	cmd := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Name}}", pattern)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	export := map[string]string{}
	var public []string
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		export[f[0]] = f[1]
		inside := f[0] == module || strings.HasPrefix(f[0], module+"/")
		if inside && f[2] != "main" && !isInternal(f[0]) {
			public = append(public, f[0])
		}
	}
	im := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		b, err := os.ReadFile(export[path])
		return io.NopCloser(bytes.NewReader(b)), err
	})
	var all []*types.Package
	for _, path := range public {
		p, err := im.Import(path)
		require.NoError(t, err)
		all = append(all, p)
	}
	return all
}

func isInternal(path string) bool {
	return strings.HasPrefix(path, module) && slices.Contains(strings.Split(path, "/"), "internal")
}

// exposed lists what is exported and mentions an internal type.
func exposed(p *types.Package) (lines []string) {
	say := func(name string, t types.Type) {
		if in := mentions(t, map[types.Type]bool{}); in != nil {
			lines = append(lines, fmt.Sprintf("%s.%s mentions %s.%s", strings.TrimPrefix(p.Path(), module+"/"), name,
				strings.TrimPrefix(in.Pkg().Path(), module+"/"), in.Name()))
		}
	}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() || o.Type() == nil || o.Type() == types.Typ[types.Invalid] {
			continue
		}
		n, ok := o.Type().(*types.Named)
		if _, isType := o.(*types.TypeName); !isType || !ok || n.Obj() != o {
			say(name, o.Type())
			continue
		}
		for i := range n.TypeParams().Len() {
			say(name, n.TypeParams().At(i).Constraint())
		}
		switch u := n.Underlying().(type) {
		case *types.Struct:
			for i := range u.NumFields() {
				if f := u.Field(i); f.Exported() {
					say(name+"."+f.Name(), f.Type())
				}
			}
		case *types.Interface: // methods follow; what is unexported is nobody's
		default:
			say(name, u)
		}
		set := types.NewMethodSet(types.NewPointer(n))
		if types.IsInterface(n) {
			set = types.NewMethodSet(n)
		}
		for i := range set.Len() {
			if m := set.At(i).Obj(); m.Exported() {
				say(name+"."+m.Name(), set.At(i).Type())
			}
		}
	}
	return lines
}

// container is a type of elements.
type container interface{ Elem() types.Type }

// mentions returns the first internal type that t is made of, nil if there is none.
// Named types of others are looked at where they are declared.
func mentions(t types.Type, seen map[types.Type]bool) *types.TypeName {
	if t == nil || seen[t] {
		return nil
	}
	seen[t] = true
	first := func(all ...types.Type) *types.TypeName {
		for _, t := range all {
			if in := mentions(t, seen); in != nil {
				return in
			}
		}
		return nil
	}
	switch t := t.(type) {
	case *types.Alias:
		return first(types.Unalias(t))
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil && isInternal(p.Path()) {
			return t.Obj()
		}
		for i := range t.TypeArgs().Len() {
			if in := first(t.TypeArgs().At(i)); in != nil {
				return in
			}
		}
	case *types.TypeParam:
		return first(t.Constraint())
	case container: // pointer, slice, array, channel, map
		if m, ok := t.(*types.Map); ok {
			return first(m.Key(), m.Elem())
		}
		return first(t.Elem())
	case *types.Signature:
		return first(t.Params(), t.Results())
	case *types.Tuple:
		for i := range t.Len() {
			if in := first(t.At(i).Type()); in != nil {
				return in
			}
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if in := first(t.Field(i).Type()); in != nil {
				return in
			}
		}
	case *types.Union:
		for i := range t.Len() {
			if in := first(t.Term(i).Type()); in != nil {
				return in
			}
		}
	case *types.Interface:
		for i := range t.NumExplicitMethods() {
			if in := first(t.ExplicitMethod(i).Type()); in != nil {
				return in
			}
		}
		for i := range t.NumEmbeddeds() {
			if in := first(t.EmbeddedType(i)); in != nil {
				return in
			}
		}
	}
	return nil
}
