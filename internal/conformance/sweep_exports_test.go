package conformance_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sweepBinary builds the tests of this package with every exported function and struct
// of the module in place of those of sweep_registry_test.go.
func sweepBinary(t *testing.T) string {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	source, overlay, binary := filepath.Join(dir, "registry.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sweep.exe")
	require.NoError(t, os.WriteFile(source, sweepRegistry(t), 0o644))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "sweep_registry_test.go"): source}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o644))
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// packageExports are what a package has.
type packageExports struct {
	path, name     string
	funcs, structs []string
}

// sweepRegistry returns the source of a file that has them.
func sweepRegistry(t *testing.T) []byte {
	var b strings.Builder
	b.WriteString("package conformance_test\n\nimport (\n\t\"reflect\"\n\n")
	all := moduleExports(t)
	functions := 0
	for _, p := range all {
		if p.path == "." {
			fmt.Fprintf(&b, "\t%q\n", modulePath)
			continue
		}
		fmt.Fprintf(&b, "\t%q\n", modulePath+"/"+p.path)
	}
	b.WriteString(")\n\n// sweptFuncs are the exported functions, generic ones for tokens and for reals.\nvar sweptFuncs = map[string]any{\n")
	for _, p := range all {
		for _, f := range p.funcs {
			name, _, generic := strings.Cut(f, "[")
			if !generic {
				fmt.Fprintf(&b, "\t%q: %s.%s,\n", p.path+"."+name, p.name, name)
				functions++
				continue
			}
			for _, site := range []string{"int32", "float32"} {
				fmt.Fprintf(&b, "\t%q: %s.%s[%s],\n", p.path+"."+name+"["+site+"]", p.name, name, site)
				functions++
			}
		}
	}
	b.WriteString("}\n\n// sweptTypes are the exported structs.\nvar sweptTypes = []reflect.Type{\n")
	for _, p := range all {
		for _, s := range p.structs {
			name, _, generic := strings.Cut(s, "[")
			if !generic {
				fmt.Fprintf(&b, "\treflect.TypeFor[%s.%s](),\n", p.name, name)
				continue
			}
			for _, site := range []string{"int32", "float32"} {
				fmt.Fprintf(&b, "\treflect.TypeFor[%s.%s[%s]](),\n", p.name, name, site)
			}
		}
	}
	b.WriteString("}\n")
	require.Greater(t, functions, 150)
	out, err := format.Source([]byte(b.String()))
	require.NoError(t, err)
	return out
}

const modulePath = "github.com/gibbsite-go/gibbsite"

// capabilities are generic over any type, not over sites: the sweep has no
// arguments for them, they panic only where reflect does.
var capabilities = []string{"As", "Give"}

// moduleExports reads the packages of the module.
func moduleExports(t *testing.T) (all []*packageExports) {
	byPath := map[string]*packageExports{}
	publicFiles(t, func(dir string, f *ast.File) {
		p := byPath[dir]
		if p == nil {
			p = &packageExports{path: dir, name: f.Name.Name}
			byPath[dir] = p
		}
		for _, decl := range f.Decls {
			p.add(decl)
		}
	})
	for _, p := range byPath {
		if len(p.funcs)+len(p.structs) == 0 {
			continue
		}
		slices.Sort(p.funcs)
		slices.Sort(p.structs)
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *packageExports) int { return strings.Compare(a.path, b.path) })
	return all
}

// add notes what a declaration exports; a generic name ends in a bracket.
func (p *packageExports) add(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name.Name
		if decl.Recv != nil || !decl.Name.IsExported() || (p.path == "energy" || p.path == "sampler") && slices.Contains(capabilities, name) {
			return
		}
		if decl.Type.TypeParams != nil {
			name += "["
		}
		p.funcs = append(p.funcs, name)
	case *ast.GenDecl:
		for _, s := range decl.Specs {
			s, ok := s.(*ast.TypeSpec)
			if !ok || !s.Name.IsExported() {
				continue
			}
			if _, ok := s.Type.(*ast.StructType); !ok {
				continue
			}
			name := s.Name.Name
			if s.TypeParams != nil {
				name += "["
			}
			p.structs = append(p.structs, name)
		}
	}
}
