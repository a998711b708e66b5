// Command names lists the exported names, methods and fields of the public packages that are not
// used outside their package:
//
//	go run ./internal/tools/names [-internal] [folder ...]
//
// With -internal it lists the names of the packages in internal instead. Folders are relative to
// the current folder, which must be the root of the module, and include everything below them.
// Without arguments all folders are searched. Public packages are all packages outside internal
// except commands. A use counts if it is in another package of the module or of the modules in its
// workspace, or in the tests of such a package. Uses in the package's own external tests count too,
// because these see what a user sees.
//
// Some things are used without being named. These count as used:
//
//   - the type of something used, or a type in its signature;
//   - a method by which its type satisfies an interface, of these modules or of a package that they
//     import, and the methods of an interface itself;
//   - an interface that a type of another package satisfies;
//   - the documented fields of a struct that an exported function or method returns, or that is an
//     error;
//   - all fields of a struct that is created by a literal without keys;
//   - a constant of an enumeration of which another constant is used.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"log"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gibbsite-go/gibbsite/internal/tools/folder"
)

func main() {
	log.SetFlags(0)
	inside := flag.Bool("internal", false, "list names of packages in internal")
	flag.Parse()
	found, err := unused(".", *inside)
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	for _, name := range found {
		if name.in(flag.Args()) {
			fmt.Println(name)
			n++
		}
	}
	fmt.Println(n, "without a user")
}

// name is an exported name with its position.
type name struct {
	folder, text string
	at           token.Position
}

// String returns "folder name file:line".
func (n name) String() string {
	return fmt.Sprintf("%-28s %-44s %s:%d", n.folder, n.text, filepath.Base(n.at.Filename), n.at.Line)
}

// in reports whether the package is in or below one of the folders.
func (n name) in(folders []string) bool {
	return folder.Among(n.folder, folders)
}

// unused returns the names without a user, package by package, of the public packages or of
// those in internal.
func unused(dir string, inside bool) ([]name, error) {
	p, err := load(dir)
	if err != nil {
		return nil, err
	}
	p.inside = inside
	u := &uses{program: p, used: map[token.Pos]bool{}, seen: map[types.Type]bool{}}
	p.use = u.file
	if err := p.all(); err != nil {
		return nil, err
	}
	u.interfaces()
	u.gather()
	var found []name
	for path, l := range p.packages {
		if folder, ok := p.public(path); ok && l.base.Name() != "main" {
			found = append(found, u.lacking(folder, l)...)
		}
	}
	slices.SortFunc(found, func(a, b name) int {
		if c := strings.Compare(a.folder, b.folder); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	return found, nil
}

// public returns the folder of a package and whether its names are analysed.
func (p *program) public(name string) (folder string, ok bool) {
	folder, ok = strings.CutPrefix(name, p.module)
	folder = strings.TrimPrefix(folder, "/")
	if !ok || strings.Contains("/"+folder+"/", "/internal/") != p.inside || p.packages[name].Module.Path != p.module {
		return "", false
	}
	if folder == "" {
		folder = "."
	}
	return folder, true
}

// uses records what is used, by the position of its declaration. The position is the same in
// every variant of a package that files are type-checked with.
type uses struct {
	*program
	used map[token.Pos]bool
	seen map[types.Type]bool // types already visited in signatures

	contracts []*types.Interface // interfaces with methods and without type parameters
	generic   []*types.Interface // interfaces with methods and type parameters
	results   map[token.Pos]bool // structs that users receive
}

// file records what a file of a package uses of other packages.
func (u *uses) file(p *listed, info *types.Info, f *ast.File) {
	external := strings.HasSuffix(f.Name.Name, "_test")
	note := func(o types.Object) {
		if o != nil && o.Pkg() != nil && (external || o.Pkg().Path() != p.ImportPath) {
			u.object(o)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			note(info.Uses[n])
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil {
				note(s.Obj())
				embedded(s, note)
			}
		case *ast.CompositeLit:
			if len(n.Elts) > 0 {
				if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
					fields(info.Types[n].Type, note)
				}
			}
		}
		return true
	})
}

// embedded calls note for the embedded fields through which a selection passes.
func embedded(s *types.Selection, note func(types.Object)) {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		st := structOf(t)
		if st == nil {
			return
		}
		note(st.Field(i))
		t = st.Field(i).Type()
	}
}

// fields calls note for the fields of a struct.
func fields(t types.Type, note func(types.Object)) {
	if st := structOf(t); st != nil {
		for f := range st.Fields() {
			note(f)
		}
	}
}

func structOf(t types.Type) *types.Struct {
	if t == nil {
		return nil
	}
	if p, ok := types.Unalias(t).Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, _ := types.Unalias(t).Underlying().(*types.Struct)
	return st
}

// object records that o and the types of its signature are used.
func (u *uses) object(o types.Object) {
	if u.packages[o.Pkg().Path()] == nil || u.used[o.Pos()] {
		return
	}
	u.used[o.Pos()] = true
	if _, ok := o.(*types.TypeName); ok {
		if alias, ok := o.Type().(*types.Alias); ok {
			u.reach(alias.Rhs())
		}
		return
	}
	u.reach(o.Type())
}

// reach records the types of which t consists.
func (u *uses) reach(t types.Type) {
	if u.seen[t] {
		return
	}
	u.seen[t] = true
	name := func(o types.Object, arguments *types.TypeList) {
		if o.Pkg() != nil {
			u.object(o)
		}
		for a := range arguments.Types() {
			u.reach(a)
		}
	}
	switch t := t.(type) {
	case *types.Named:
		name(t.Obj(), t.TypeArgs())
	case *types.Alias:
		name(t.Obj(), t.TypeArgs())
	case *types.Signature:
		u.reach(t.Params())
		u.reach(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			u.reach(v.Type())
		}
	case *types.Map:
		u.reach(t.Key())
		u.reach(t.Elem())
	case container:
		u.reach(t.Elem())
	case *types.Interface:
		for m := range t.Methods() {
			u.reach(m.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			u.reach(f.Type())
		}
	}
}

// interfaces collects the interfaces of the modules and of the packages they import.
func (u *uses) interfaces() {
	add := func(p *types.Package) {
		for _, n := range p.Scope().Names() {
			t, ok := p.Scope().Lookup(n).(*types.TypeName)
			if !ok {
				continue
			}
			i, ok := t.Type().Underlying().(*types.Interface)
			if !ok || i.NumMethods() == 0 {
				continue
			}
			if g, ok := types.Unalias(t.Type()).(*types.Named); ok && g.TypeParams().Len() > 0 {
				u.generic = append(u.generic, i)
			} else {
				u.contracts = append(u.contracts, i)
			}
		}
	}
	for _, l := range u.packages {
		add(l.base)
	}
	for _, o := range u.outside {
		add(o)
	}
	u.contracts = append(u.contracts, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// satisfies reports whether a method makes its type satisfy an interface.
func (u *uses) satisfies(t *types.Named, m *types.Func) bool {
	has := func(i *types.Interface) bool {
		o, _, _ := types.LookupFieldOrMethod(i, false, m.Pkg(), m.Name())
		return o != nil
	}
	pointer := types.NewPointer(t)
	for _, i := range u.contracts {
		if has(i) && (types.Implements(t, i) || types.Implements(pointer, i)) {
			return true
		}
	}
	// Of what has type parameters, names have to do.
	set := types.NewMethodSet(pointer)
	alike := func(i *types.Interface) bool {
		for want := range i.Methods() {
			if set.Lookup(want.Pkg(), want.Name()) == nil {
				return false
			}
		}
		return true
	}
	return slices.ContainsFunc(u.generic, func(i *types.Interface) bool { return has(i) && alike(i) }) ||
		t.TypeParams().Len() > 0 && slices.ContainsFunc(u.contracts, func(i *types.Interface) bool { return has(i) && alike(i) })
}

// lacking lists the unused names of a package.
func (u *uses) lacking(folder string, l *listed) (found []name) {
	add := func(o types.Object, text string) {
		found = append(found, name{folder, text, u.fset.Position(o.Pos())})
	}
	enumerations := map[types.Type]bool{}
	scope := l.base.Scope()
	for _, n := range scope.Names() {
		if c, ok := scope.Lookup(n).(*types.Const); ok && u.used[c.Pos()] {
			if t, ok := c.Type().(*types.Named); ok {
				enumerations[t] = true
			}
		}
	}
	documented := u.documented(l)
	for _, n := range scope.Names() {
		o := scope.Lookup(n)
		if !o.Exported() {
			continue
		}
		if c, ok := o.(*types.Const); !u.used[o.Pos()] && !(ok && enumerations[c.Type()]) && !u.implemented(o) {
			add(o, n)
			continue
		}
		if _, ok := o.(*types.TypeName); !ok {
			continue
		}
		t, ok := o.Type().(*types.Named)
		if !ok || types.IsInterface(t) {
			continue
		}
		for m := range t.Methods() {
			if m.Exported() && !u.used[m.Pos()] && !u.satisfies(t, m) {
				add(m, n+"."+m.Name())
			}
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			continue
		}
		result := u.results[t.Obj().Pos()]
		for f := range st.Fields() {
			if f.Exported() && !f.Embedded() && !u.used[f.Pos()] && !(result && documented[f.Pos()]) {
				add(f, n+"."+f.Name())
			}
		}
	}
	return found
}

// implemented reports whether o is an interface that a type of another package satisfies.
func (u *uses) implemented(o types.Object) bool {
	i, ok := o.Type().Underlying().(*types.Interface)
	if _, isType := o.(*types.TypeName); !isType || !ok {
		return false
	}
	for _, l := range u.packages {
		scope := l.base.Scope()
		for _, n := range scope.Names() {
			t, ok := scope.Lookup(n).(*types.TypeName)
			if !ok || l.base == o.Pkg() || types.IsInterface(t.Type()) {
				continue
			}
			if types.Implements(t.Type(), i) || types.Implements(types.NewPointer(t.Type()), i) {
				return true
			}
		}
	}
	return false
}

// documented returns the fields of a package that have a comment or are named in the comment of
// their type.
func (u *uses) documented(l *listed) map[token.Pos]bool {
	found := map[token.Pos]bool{}
	for _, f := range l.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				t, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				st, ok := t.Type.(*ast.StructType)
				if !ok {
					continue
				}
				words := strings.FieldsFunc(g.Doc.Text()+" "+t.Doc.Text(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
				for _, field := range st.Fields.List {
					for _, n := range field.Names {
						found[n.Pos()] = field.Doc != nil || field.Comment != nil || slices.Contains(words, n.Name)
					}
				}
			}
		}
	}
	return found
}

// gather records the structs that public packages give to users: results of functions and
// methods with their components, errors, and arguments of functions and methods that users
// provide.
func (u *uses) gather() {
	u.results = map[token.Pos]bool{}
	fault := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	seen := map[types.Type]bool{}
	var give, take func(t types.Type)
	give = func(t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := types.Unalias(t).(type) {
		case *types.Named:
			if u.packages[packageOf(t)] == nil || u.results[t.Obj().Pos()] {
				return
			}
			u.results[t.Obj().Pos()] = true
			give(t.Underlying())
			for a := range t.TypeArgs().Types() {
				give(a)
			}
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					give(f.Type())
				}
			}
		case *types.Tuple:
			for v := range t.Variables() {
				give(v.Type())
			}
		case *types.Signature:
			give(t.Results())
			take(t.Params())
		case *types.Map:
			give(t.Elem())
		case container:
			give(t.Elem())
		}
	}
	// take looks for functions, which are called with what is given to the user.
	take = func(t types.Type) {
		switch t := types.Unalias(t).(type) {
		case *types.Tuple:
			for v := range t.Variables() {
				take(v.Type())
			}
		case *types.Signature:
			give(t.Params())
		}
	}
	for path, l := range u.packages {
		if _, ok := u.public(path); !ok {
			continue
		}
		scope := l.base.Scope()
		for _, n := range scope.Names() {
			o := scope.Lookup(n)
			if !o.Exported() {
				continue
			}
			if f, ok := o.(*types.Func); ok {
				give(f.Type())
			}
			t, ok := o.Type().(*types.Named)
			if _, isType := o.(*types.TypeName); !ok || !isType {
				continue
			}
			if types.Implements(t, fault) || types.Implements(types.NewPointer(t), fault) {
				give(t)
			}
			for m := range t.Methods() {
				if m.Exported() {
					give(m.Type())
				}
			}
			switch under := t.Underlying().(type) {
			case *types.Interface:
				for m := range under.Methods() {
					s := m.Type().(*types.Signature)
					give(s.Params())
					give(s.Results())
				}
			case *types.Struct:
				for f := range under.Fields() {
					take(f.Type())
				}
			}
		}
	}
}

// container is a pointer, slice, array, channel or map type.
type container interface{ Elem() types.Type }

func packageOf(t *types.Named) string {
	if t.Obj().Pkg() == nil {
		return ""
	}
	return t.Obj().Pkg().Path()
}
