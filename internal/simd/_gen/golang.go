package main

import (
	"fmt"
	"go/format"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/simd/_gen/kernel"
)

// param is a parameter of a row. The field value is the value that the assembly gets if the Go
// function does not have the parameter.
type param struct{ name, kind, value string }

// parse parses parameters in the format of row.sig.
func parse(sig string) (list []param) {
	depth, start := 0, 0
	untyped := 0
	add := func(s string) {
		left, value, _ := strings.Cut(strings.TrimSpace(s), " = ")
		name, kind, typed := strings.Cut(left, " ")
		if !typed && value != "" {
			kind, typed = "int", true
		}
		list = append(list, param{name, kind, value})
		if !typed {
			untyped++
			return
		}
		for i := range untyped {
			list[len(list)-2-i].kind = kind
		}
		untyped = 0
	}
	for i, c := range sig {
		switch {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			add(sig[start:i])
			start = i + 1
		}
	}
	add(sig[start:])
	return list
}

// assembly returns the parameters of an assembly function.
func assembly(sig string) (params []kernel.Param) {
	for _, p := range parse(sig) {
		if p.value == "" && strings.HasPrefix(p.kind, "[]") {
			p.kind = "*" + p.kind[2:]
		}
		params = append(params, kernel.Param{Name: p.name, Type: p.kind})
	}
	return params
}

// arguments returns the arguments of a call of an assembly function, in Go syntax.
func arguments(sig string) string {
	var list []string
	for _, p := range parse(sig) {
		switch {
		case p.value != "":
			list = append(list, p.value)
		case strings.HasPrefix(p.kind, "[]"):
			list = append(list, "&"+p.name+"[0]")
		default:
			list = append(list, p.name)
		}
	}
	return strings.Join(list, ", ")
}

// choice lists the functions that are called under a condition, or always if the condition is
// empty.
type choice struct {
	set   string
	when  string
	calls []string // assembly functions, or "go" and one Go function
}

// choices parses cases. "condition: a b; c" calls a and b under the condition, and c otherwise.
func choices(set, cases string) (list []choice) {
	for _, part := range strings.Split(cases, "; ") {
		when, calls, found := strings.Cut(part, ": ")
		if !found {
			when, calls = "", part
		}
		list = append(list, choice{set, when, strings.Fields(calls)})
	}
	return list
}

// choices returns the choices of a row on an architecture, those of the highest instruction set
// first, and the lowest set with assembly. There are none if no set has assembly.
func (a *arch) choices(r *row) (list []choice, lowest string) {
	for _, s := range slices.Backward(a.sets) {
		if !slices.Contains(strings.Fields(r.on), s.name) {
			continue
		}
		lowest = s.name
		cases, ok := r.cases[s.name]
		if !ok {
			cases = r.cases[""]
		}
		if cases == "" {
			cases = r.name
		}
		list = append(list, choices(s.name, cases)...)
	}
	return list, lowest
}

// sigOf returns the parameters and the doc comment of an assembly function that a row calls.
func (r *row) sigOf(name string) (sig, doc string) {
	for _, f := range r.also {
		if strings.HasPrefix(name, f.name) {
			return f.sig, f.doc
		}
	}
	if r.doc == "" {
		return r.sig, "is " + r.ref + "."
	}
	return r.sig, r.doc
}

// functions returns the assembly functions of an architecture, and the set of their names with the
// suffixes of the instruction sets.
func (a *arch) functions() (kernel.Funcs, map[string]bool, error) {
	funcs, names := kernel.Funcs{}, map[string]bool{}
	for i := range table {
		r := &table[i]
		list, _ := a.choices(r)
		for _, c := range list {
			for _, name := range c.calls {
				if c.calls[0] == "go" {
					break
				}
				sig, doc := r.sigOf(name)
				f := &kernel.Func{Name: name, Doc: doc, Params: assembly(sig), Result: r.ret}
				if old := funcs[name]; old != nil && old.Signature() != f.Signature() {
					return nil, nil, fmt.Errorf("%s: %s and %s", name, old.Signature(), f.Signature())
				}
				funcs[name], names[name+strings.ToUpper(c.set)] = f, true
			}
		}
	}
	return funcs, names, nil
}

// params returns the parameters of a row's Go function.
func (r *row) params() (list []param) {
	if r.of != "" {
		return parse(r.of)
	}
	return slices.DeleteFunc(parse(r.sig), func(p param) bool { return p.value != "" })
}

// result returns the result of a row's Go function.
func (r *row) result() string {
	if r.out != "" {
		return r.out
	}
	return r.ret
}

// signature returns the parameters and results of a row's Go function, in Go syntax.
func (r *row) signature() string {
	var b strings.Builder
	list := r.params()
	for i, p := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.name)
		if i == len(list)-1 || list[i+1].kind != p.kind {
			b.WriteString(" " + p.kind)
		}
	}
	return "(" + b.String() + ") " + r.result()
}

// call returns a call of a Go function with all parameters of the row; the map replaced gives other
// arguments for some of them.
func (r *row) call(name string, replaced map[string]string) string {
	var list []string
	for _, p := range r.params() {
		if v, ok := replaced[p.name]; ok {
			p.name = v
		}
		list = append(list, p.name)
	}
	return name + "(" + strings.Join(list, ", ") + ")"
}

// returned returns a call as the last statement of a function, with return if there is a result.
func (r *row) returned(call string) string {
	if r.result() != "" {
		return "return " + call
	}
	return call
}

// source is the text of a Go file under construction.
type source struct{ strings.Builder }

func (s *source) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

const header = "// Code generated by internal/simd/_gen. DO NOT EDIT.\n\n"

// lacks returns a Go condition that is true if no assembly of a row can be used.
func (a *arch) lacks(r *row, lowest string) string {
	c := "best < " + lowest
	if lowest == a.sets[0].name {
		c = "best == purego"
	}
	if r.need != "" {
		c += " || !" + r.need
	}
	return c
}

// write writes the Go code of a row for an architecture.
func (r *row) write(s *source, a *arch) {
	list, lowest := a.choices(r)
	lacks := a.lacks(r, lowest)
	s.line("")
	switch {
	case r.cut != "":
		r.writeCut(s, a, lacks)
		s.line("\n//go:noinline\nfunc %sRun%s {", r.name, r.signature())
	case r.ref != "":
		if r.unless != "" {
			lacks += " || " + r.unless
		}
		s.line("// %s is %s.\n//\n//go:noinline\nfunc %s%s {\nif %s {\n%s", r.name, r.ref, r.name, r.signature(), lacks, r.returned(r.call(r.ref, nil)))
		if r.result() == "" {
			s.line("return")
		}
		s.line("}")
	default:
		if r.gate && r.need != "" {
			s.line("func has%s() bool { return %s }\n", title(r.name), negated(lacks))
		}
		s.line("//go:noinline\nfunc %sRun%s {", r.name, r.signature())
	}
	if r.let != "" {
		s.line("%s", r.let)
	}
	r.writeChoices(s, list, lowest)
	if r.then != "" {
		s.line("%s", r.then)
	}
	s.line("}")
}

// negated returns the negation of a condition from lacks.
func negated(lacks string) string {
	parts := strings.Split(lacks, " || ")
	for i, p := range parts {
		p = strings.Replace(p, " < ", " >= ", 1)
		p = strings.Replace(p, " == ", " != ", 1)
		parts[i] = strings.TrimPrefix(p, "!")
	}
	return strings.Join(parts, " && ")
}

// writeChoices writes the calls of assembly functions, as a switch if there are more than two.
func (r *row) writeChoices(s *source, list []choice, lowest string) {
	open, next, last := "switch {\n", "case %s:\n", "default:\n"
	if len(list) == 2 {
		open, next, last = "", "if %s {\n", "} else {\n"
		if r.then == "" && r.ret != "" {
			last = "}\n"
		}
	}
	for i, c := range list {
		when := c.when
		if c.set != lowest {
			if when = "best >= " + c.set; c.when != "" {
				when += " && " + c.when
			}
		}
		switch {
		case i == len(list)-1 && i > 0:
			s.WriteString(last)
		case i < len(list)-1:
			s.WriteString(open)
			fmt.Fprintf(s, next, when)
			open = ""
		}
		for _, name := range c.calls {
			switch {
			case name == "go":
			case c.calls[0] == "go":
				s.line("%s", r.returned(r.call(name, nil)))
			default:
				sig, _ := r.sigOf(name)
				call := fmt.Sprintf("%s%s(%s)", name, strings.ToUpper(c.set), arguments(sig))
				if r.then == "" && r.ret != "" {
					call = "return " + call
				}
				s.line("%s", call)
			}
		}
	}
	if len(list) > 1 && last != "}\n" {
		s.line("}")
	}
}

// writeCut writes a function that calls assembly for parts of its arguments.
func (r *row) writeCut(s *source, a *arch, lacks string) {
	bound, slices, _ := strings.Cut(r.cut, ": ")
	var names, rest []string
	for v := range strings.SplitSeq(slices, ", ") {
		name, times, several := strings.Cut(v, "*")
		names = append(names, name)
		if several {
			rest = append(rest, name+"["+times+"*n:]")
		} else {
			rest = append(rest, name+"[n:]")
		}
	}
	x := names[0]
	by := r.by
	if set, number, found := strings.Cut(by, " "); found {
		if by = ""; a.has(set) {
			by = number
		}
	}
	part := "len(" + x + ")"
	s.line("// %s is %s.\nfunc %s%s {", r.name, r.ref, r.name, r.signature())
	if by == "" {
		s.line("if %s {\n%s\nreturn\n}\nfor %s > 0 {", lacks, r.call(r.ref, nil), part)
	} else {
		s.line("for %s && %s >= %s {", negated(lacks), part, by)
		part += "/" + by + "*" + by
	}
	s.line("n := min(%s, %s)\n%s\n%s = %s\n}", part, bound, r.call(r.name+"Run", map[string]string{x: x + "[:n]"}), strings.Join(names, ", "), strings.Join(rest, ", "))
	if by != "" {
		s.line("%s", r.call(r.ref, nil))
	}
	s.line("}")
}

// has reports whether an architecture has the instruction set with the given name.
func (a *arch) has(name string) bool {
	return slices.ContainsFunc(a.sets, func(s set) bool { return s.name == name })
}

// writeAbsent writes the Go code of a row for an architecture without assembly of it.
func (r *row) writeAbsent(s *source) {
	if r.ref != "" {
		s.line("func %s%s { %s }", r.name, r.signature(), r.returned(r.call(r.ref, nil)))
		return
	}
	if r.gate && r.need != "" {
		s.line("func has%s() bool { return false }", title(r.name))
	}
	var kinds []string
	for _, p := range r.params() {
		kinds = append(kinds, p.kind)
	}
	s.line("func %sRun(%s) %s { panic(%q) }", r.name, strings.Join(kinds, ", "), r.result(), "simd: no assembly of "+r.name)
}

// writeLevels writes the constants for the lowest levels with assembly, for rows that need them.
func writeLevels(s *source, rows []*row, level func(r *row) string) {
	body := ""
	for _, r := range rows {
		if r.gate && r.need == "" {
			body += fmt.Sprintf("%sLevel = %s\n", r.name, level(r))
		}
	}
	if body != "" {
		s.line("\n// Levels from which there is assembly.\nconst (\n%s)", body)
	}
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// writeGo adds the generated Go files to files.
func writeGo(files map[string]string) error {
	// Declarations for architectures without assembly, by the build constraint.
	lacking := map[string]*source{}
	lacks := func(has func(a *arch) bool) *source {
		var names []string
		for i := range archs {
			if has(&archs[i]) {
				names = append(names, archs[i].name)
			}
		}
		key := strings.Join(names, "_") + "_"
		if len(names) == len(archs) {
			key = ""
		}
		if lacking[key] == nil {
			lacking[key] = &source{}
			lacking[key].line("%s//go:build (!%s) || purego\n\npackage simd\n", header, strings.Join(names, " && !"))
		}
		return lacking[key]
	}
	s := lacks(func(*arch) bool { return true })
	s.line("var levelNames = [...]string{purego: \"purego\"}\n\n// supported returns the highest backend that this binary has.\nfunc supported() level { return purego }\n")
	for i := range shapes {
		sh := &shapes[i]
		lacks(func(a *arch) bool { return a.shaped(sh) }).line("func %s() (v %s) { return v }", sh.name, sh.result)
	}
	absent := map[*source][]*row{}
	for i := range table {
		r := &table[i]
		s := lacks(func(a *arch) bool { return a.serves(r) })
		r.writeAbsent(s)
		absent[s] = append(absent[s], r)
	}
	for key, s := range lacking {
		writeLevels(s, absent[s], func(*row) string { return "never" })
		files["kernels_"+key+"others.go"] = s.String()
	}
	for i := range archs {
		a := &archs[i]
		files["kernels_"+a.name+".go"] = a.golang()
		files["kernels_"+a.name+"_test.go"] = a.tests()
	}
	files["table_test.go"] = registration()
	for name, text := range files {
		if strings.HasSuffix(name, ".go") {
			clean, err := format.Source([]byte(text))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			files[name] = string(clean)
		}
	}
	return nil
}

// serves reports whether an architecture has assembly of a row.
func (a *arch) serves(r *row) bool {
	_, lowest := a.choices(r)
	return lowest != ""
}

// shaped reports whether a shape has a value on an architecture.
func (a *arch) shaped(sh *shape) bool {
	return slices.ContainsFunc(a.sets, func(s set) bool { return sh.value[s.name] != "" })
}

// golang returns the generated Go file of an architecture.
func (a *arch) golang() string {
	var body source
	body.line("// Instruction sets; a higher one needs all that a lower one needs.\nconst (")
	for i, set := range a.sets {
		if i == 0 {
			body.line("%s level = iota + 1", set.name)
		} else {
			body.line("%s", set.name)
		}
	}
	names := ""
	for _, set := range a.sets {
		names += fmt.Sprintf(", %s: %q", set.name, set.name)
	}
	body.line(")\n\nvar levelNames = [...]string{purego: \"purego\"%s}\n\n// supported returns the highest backend that this CPU has.\nfunc supported() level {", names)
	for i, set := range a.sets {
		if set.has == "" {
			continue
		}
		below := "purego"
		if i > 0 {
			below = a.sets[i-1].name
		}
		body.line("if !(%s) {\nreturn %s\n}", set.has, below)
	}
	body.line("return %s\n}", a.sets[len(a.sets)-1].name)
	if len(a.features) > 0 {
		body.line("\n// Besides the instruction sets, cases ask for these.\nvar (")
		for _, f := range a.features {
			body.line("%s = %s // %s", f.name, f.has, f.doc)
		}
		body.line(")")
	}
	for i := range shapes {
		if a.shaped(&shapes[i]) {
			shapes[i].write(&body, a)
		}
	}
	var rows []*row
	for i := range table {
		if a.serves(&table[i]) {
			rows = append(rows, &table[i])
		}
	}
	writeLevels(&body, rows, func(r *row) string { _, lowest := a.choices(r); return lowest })
	for _, r := range rows {
		r.write(&body, a)
	}
	a.declare(&body)
	var s source
	s.line("%s//go:build %s && !purego\n\npackage simd\n", header, a.name)
	imports := slices.Clone(a.imports)
	if strings.Contains(body.String(), "unsafe.") {
		imports = append(imports, "unsafe")
	}
	for _, p := range imports {
		s.line("import %q", p)
	}
	return s.String() + "\n" + body.String()
}

// write writes the function that returns the value of a shape.
func (sh *shape) write(s *source, a *arch) {
	s.line("\n// %s %s.\nfunc %s() (v %s) {", sh.name, sh.doc, sh.name, sh.result)
	for _, set := range slices.Backward(a.sets) {
		value, ok := sh.value[set.name]
		if !ok {
			continue
		}
		for _, c := range choices(set.name, value) {
			when := "best >= " + set.name
			parts := strings.Join(c.calls, " ")
			if c.when != "" {
				when += " && " + c.when
			}
			s.line("if %s {\nreturn %s\n}", when, parts)
		}
	}
	s.line("return v\n}")
}

// declare writes the Go declarations of the assembly functions.
func (a *arch) declare(s *source) {
	funcs, names, _ := a.functions()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, set := range a.sets {
			if f := funcs[strings.TrimSuffix(name, strings.ToUpper(set.name))]; f != nil && strings.HasSuffix(name, strings.ToUpper(set.name)) {
				s.line("\n// %s %s\n//\n//go:noescape\nfunc %s%s", name, f.Doc, name, f.Signature())
			}
		}
	}
}

// tests returns the generated Go test file of an architecture.
func (a *arch) tests() string {
	var s source
	s.line("%s//go:build %s && !purego\n\npackage simd\n\nfunc init() {\ncpuinfo = []string{\n\"\",", header, a.name)
	for _, set := range a.sets {
		s.line("%q,", set.cpuinfo)
	}
	s.line("}\nfeatures = map[string]*bool{")
	for _, f := range a.features {
		s.line("%q: &%s,", f.name, f.name)
	}
	s.line("}\n}")
	return s.String()
}

var window = regexp.MustCompile(`\b([fid])([0-3])\b|\b(uu?)\b|\b(s)([0-3])\b`)

// registration returns the Go file that registers kernels for TestBackendsAgree.
func registration() string {
	var s source
	s.line("%spackage simd\n\nfunc init() {\nfor name, run := range map[string]func(a *arena, from, to int){", header)
	for _, r := range table {
		for _, t := range r.test {
			name, statement, found := strings.Cut(t, ": ")
			if !found {
				name, _, _ = strings.Cut(t, "(")
				statement = t
			}
			statement = window.ReplaceAllStringFunc(statement, func(w string) string {
				switch {
				case w == "u":
					return "a.u[from:to]"
				case w == "uu":
					return "a.u[from:from+2*(to-from)]"
				case w[0] == 's':
					return "a.s[" + w[1:] + "]"
				}
				return "a." + w[:1] + "[" + w[1:] + "][from:to]"
			})
			s.line("%q: func(a *arena, from, to int) { %s },", name, statement)
		}
	}
	s.line("} {\nkernels[name] = run\n}\n}")
	return s.String()
}
