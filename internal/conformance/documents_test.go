package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moduleTree is the folder of the module.
var moduleTree = os.DirFS("../..")

// readTree returns the text of a file of the module.
func readTree(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(moduleTree, name)
	require.NoError(t, err)
	return string(text)
}

// publicFiles visits the parsed files of every package that users import: no tests,
// no module within this one, and no package of laws, whose functions take a *testing.T.
func publicFiles(t *testing.T, visit func(dir string, f *ast.File)) {
	t.Helper()
	require.NoError(t, fs.WalkDir(moduleTree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			_, module := fs.Stat(moduleTree, name+"/go.mod")
			if base := d.Name(); module == nil || base[0] == '.' || base == "internal" || strings.HasSuffix(base, "test") || base == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, readTree(t, name), parser.SkipObjectResolution)
		if err == nil {
			visit(path.Dir(name), f)
		}
		return err
	}))
}

// The code of README.md is the code of the examples, which run: every line of its
// Go blocks is a line of example_test.go, where "err = f()" and "_, err = f()" stand for
// "if err := f(); err != nil {" and the like, with what follows.
func TestReadmeIsTheExamples(t *testing.T) {
	lines := map[string]bool{}
	for line := range strings.Lines(readTree(t, "example_test.go")) {
		lines[strings.TrimSpace(line)] = true
	}
	inside, seen := false, 0
	for line := range strings.Lines(readTree(t, "README.md")) {
		line = strings.TrimSpace(line)
		left, call, checked := strings.Cut(line, "err = ")
		switch checked = checked && (left == "" || left == "_, "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```go"
			continue
		case !inside || line == "":
			continue
		case checked:
			line = "if " + left + "err := " + call + "; err != nil {"
		}
		seen++
		require.True(t, lines[line], "README.md has a line that no example has: %s", line)
	}
	require.Greater(t, seen, 20)
}

// Every kernel in the excerpt of PERFORMANCE.md is a row of the command that it names, with
// the benchmark that the row has.
func TestKernelsOfDocumentsAreInTheTable(t *testing.T) {
	_, excerpt, found := strings.Cut(readTree(t, "docs/PERFORMANCE.md"), "| kernel | measured | PyTorch | times as fast | benchmark |\n|---|---|---|---|---|\n")
	require.True(t, found)
	command := readTree(t, "internal/simd/_gen/table/rows.go")
	excerpt, _, _ = strings.Cut(excerpt, "\n\n")
	for _, line := range strings.Split(excerpt, "\n") {
		cells := strings.Split(line, "|")
		label, bench := strings.TrimSpace(cells[1]), strings.Trim(cells[5], " `")
		_, row, found := strings.Cut(command, `{label: "`+label+`", bench: "`)
		require.True(t, found, label)
		require.True(t, strings.HasPrefix(row, bench), "%s: %s", label, bench)
	}
}

// Programs as a new user writes them stay short: the lines of the function. What they do with an error is check.
func TestProgramsAreShort(t *testing.T) {
	source := readTree(t, "example_test.go")
	for name, most := range map[string]int{
		"physicist": 45, "languageModel": 45, "survey": 20, "planner": 45, "trader": 45,
	} {
		_, program, found := strings.Cut(source, "\nfunc Example_"+name+"() {\n")
		require.True(t, found, name)
		program, _, _ = strings.Cut(program, "\n}\n")
		assert.LessOrEqual(t, strings.Count(program, "\n")+2, most, name)
		assert.Contains(t, program, "// Output:", name)
		for line := range strings.Lines(program) {
			assert.LessOrEqual(t, len(line), 160, "%s: a long line: %s", name, line)
			assert.LessOrEqual(t, strings.Count(line, "; "), 3, "%s: a crowded line: %s", name, line)
		}
	}
}

// Every test that SECURITY.md names exists, and every promise names one.
func TestSecurityPromisesAreHeld(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, fs.WalkDir(moduleTree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "examples") {
			return err
		}
		source, err := fs.ReadFile(moduleTree, path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			tests[string(m[1])] = true
		}
		return err
	}))
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	promises := 0
	for _, line := range strings.Split(readTree(t, "SECURITY.md"), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.Contains(line, "held by") || strings.Contains(line, "---") {
			continue
		}
		promises++
		names := named.FindAllStringSubmatch(cells[2], -1)
		require.NotEmpty(t, names, "no test holds: %s", cells[1])
		for _, n := range names {
			require.True(t, tests[n[1]], "%s, which holds%s, does not exist", n[1], cells[1])
		}
	}
	require.Greater(t, promises, 12)
}

// Every exported struct has a runnable example, or is used in one or in a test of this package, a
// registry above all; configurations and errors aside.
func TestEveryStructHasAnExample(t *testing.T) {
	structs, examples := map[string][]string{}, map[string]bool{}
	publicFiles(t, func(dir string, f *ast.File) {
		p := &packageExports{path: dir}
		for _, decl := range f.Decls {
			p.add(decl)
		}
		structs[dir] = append(structs[dir], p.structs...)
	})
	tied := regexp.MustCompile(`(?m)^func Example(\w+?)(?:_\w+)?\(`)
	for dir := range structs {
		files, err := fs.Glob(moduleTree, dir+"/*_test.go")
		require.NoError(t, err)
		for _, name := range files {
			for _, m := range tied.FindAllStringSubmatch(readTree(t, name), -1) {
				examples[dir+"."+m[1]] = true
			}
		}
	}
	require.Greater(t, len(examples), 100)
	tests := ""
	own, err := fs.Glob(moduleTree, "internal/conformance/*_test.go")
	require.NoError(t, err)
	for _, name := range own {
		tests += readTree(t, name)
	}
	registered := map[string]bool{} // by the laws, which say so where it is not
	for _, contract := range [][2]string{{"sampler", "Method"}, {"constraint", "Automaton"}, {"constraint", "Set"}, {"energy", "Model"}, {"dual", "Rule"}} {
		for _, name := range parts(t, contract[0], contract[1]) {
			registered[name] = true
		}
	}
	for dir, names := range structs {
		shown := tests
		files, err := fs.Glob(moduleTree, dir+"/*example_test.go")
		require.NoError(t, err)
		for _, name := range files {
			shown += readTree(t, name)
		}
		for _, name := range names {
			name = strings.TrimSuffix(name, "[")
			used := regexp.MustCompile(`\b` + path.Base(dir) + `\.` + name + `\b`)
			if !strings.HasSuffix(name, "Config") && !strings.HasSuffix(name, "Error") && !examples[dir+"."+name] && !registered[path.Base(dir)+"."+name] && !used.MatchString(shown) {
				t.Errorf("%s.%s has no example and is in no registry of internal/conformance", dir, name)
			}
		}
	}
}

// documents are the texts for users and contributors. Commands of CHANGELOG.md are
// those of its time.
func documents(t *testing.T) (names []string) {
	for _, pattern := range []string{"*.md", "docs/*.md", "testdata/*.md"} {
		found, err := fs.Glob(moduleTree, pattern)
		require.NoError(t, err)
		names = append(names, found...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "CHANGELOG.md" })
}

// Every go test command in the documents names a package that there is and a test or
// benchmark that it runs.
func TestCommandsInDocumentsRunTests(t *testing.T) {
	command := regexp.MustCompile("(?:go test|go -C \\S+ test)( [^`#\n]*)")
	checked := 0
	for _, document := range documents(t) {
		for _, m := range command.FindAllStringSubmatch(readTree(t, document), -1) {
			dir, run, bench := ".", "", ""
			words := strings.Fields(strings.ReplaceAll(m[1], "'", ""))
			for i, word := range words[:max(0, len(words)-1)] {
				switch word {
				case "-run":
					run = words[i+1]
				case "-bench":
					bench = words[i+1]
				}
			}
			for _, word := range words {
				if strings.HasPrefix(word, "./") {
					dir = strings.TrimPrefix(word, "./")
				}
			}
			if _, module, found := strings.Cut(m[0], "-C "); found {
				dir = path.Join(strings.Fields(module)[0], dir)
			}
			if dir == "..." || run == "" && bench == "" {
				continue
			}
			kind, pattern := "(?:Test|Fuzz|Example)", run
			if bench != "" {
				kind, pattern = "Benchmark", bench
			}
			pattern, _, _ = strings.Cut(pattern, "/")
			matches := func(name string) bool { return regexp.MustCompile(pattern).MatchString(name) }
			declared := regexp.MustCompile(`(?m)^func (` + kind + `\w*)\(`)
			files, err := fs.Glob(moduleTree, dir+"/*_test.go")
			require.NoError(t, err)
			found := false
			for _, name := range files {
				for _, f := range declared.FindAllStringSubmatch(readTree(t, name), -1) {
					found = found || matches(f[1])
				}
			}
			require.True(t, found, "%s: %s runs no test", document, m[0])
			checked++
		}
	}
	require.Greater(t, checked, 15)
}

// Every file and every name that DESIGN.md mentions is one of the module.
func TestDesignNamesWhatExists(t *testing.T) {
	files, words := map[string]bool{}, map[string]bool{}
	word := regexp.MustCompile(`\w+`)
	require.NoError(t, fs.WalkDir(moduleTree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		files[path.Base(name)], files[name] = true, true
		for _, w := range word.FindAllString(readTree(t, name), -1) {
			words[w] = true
		}
		return nil
	}))
	seen := 0
	for _, m := range regexp.MustCompile("`([A-Za-z][\\w./]*)`").FindAllStringSubmatch(readTree(t, "docs/DESIGN.md"), -1) {
		name, missing := m[1], false
		switch base := name[strings.LastIndexAny(name, "./")+1:]; {
		case strings.HasSuffix(name, ".go"):
			missing = !files[name] && !slices.ContainsFunc(slices.Sorted(maps.Keys(files)), func(f string) bool { return strings.HasSuffix(f, "/"+name) })
		case !strings.HasSuffix(name, ".md") && base != "":
			missing = !words[base]
		}
		assert.False(t, missing, "docs/DESIGN.md: %s", name)
		seen++
	}
	require.Greater(t, seen, 300)
}
