package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// TestSweep calls every exported function, and the methods of what it returns,
// with random arguments: nil, typed nil, empty, of wrong lengths, NaN, infinite,
// huge, negative and valid ones. None may panic with a runtime.Error, end the
// process or go on for more than some seconds; a panic of the library's own has
// a message that begins with its package.
//
//	go test ./internal/conformance -run Sweep -sweep 10000
//	go test ./internal/conformance -run Sweep -sweep 10000 -only ^dual -v
//
// makes that many calls of each function, of those whose names match.
var (
	sweep     = flag.Int("sweep", 0, "calls of each exported function in TestSweep; 0: a few")
	sweepSome = flag.String("only", "", "functions of TestSweep, a regular expression")
)

// sweepOnly, in the environment, makes the process a child that sweeps functions
// from that name on.
const sweepOnly = "GIBBSITE_SWEEP_FROM"

const (
	shortSweep = 10
	sweepGrown = 7 // the exit code of a child that another one is to go on after
	callLimit  = 20 * time.Second
)

func TestSweep(t *testing.T) {
	exact.SkipUnderRace(t)
	if from, child := os.LookupEnv(sweepOnly); child {
		sweepFrom(from)
		return
	}
	calls := *sweep
	if calls == 0 {
		calls = shortSweep
	}
	if testing.Short() {
		t.Skip("builds the tests a second time")
	}
	self := sweepBinary(t)
	var findings []string
	began, swept := time.Now(), 0
	for from := ""; ; {
		cmd := exec.Command(self, "-test.run", "^TestSweep$", "-sweep", fmt.Sprint(calls), "-only", *sweepSome, "-test.timeout", "0")
		cmd.Dir = t.TempDir() // some functions write the file that they are given
		cmd.Env = append(os.Environ(), sweepOnly+"="+from)
		out, err := cmd.CombinedOutput()
		at := ""
		for _, line := range strings.Split(string(out), "\n") {
			if name, ok := strings.CutPrefix(line, "sweep at "); ok {
				at = name
				swept++
			}
			if finding, ok := strings.CutPrefix(line, "sweep found "); ok {
				findings = append(findings, finding)
			}
		}
		if err == nil {
			break
		}
		if cmd.ProcessState.ExitCode() == sweepGrown {
			require.Greater(t, at, from)
			from = at
			continue
		}
		end := lastWords(string(out))
		findings = append(findings, fmt.Sprintf("%s ended the process: %v\n%s", at, err, end))
		require.NotEmpty(t, at, "the sweep did not begin: %s", end)
		from = at
	}
	t.Logf("%d calls of each of %d functions and values, %v of the clock on the wall", calls, swept, time.Since(began).Round(time.Second))
	require.True(t, *sweepSome != "" || swept > 400, "only %d functions and values were swept", swept)
	for _, f := range findings {
		t.Error(f)
	}
}

// sweepFrom sweeps the functions whose names come after from and tells the parent.
func sweepFrom(from string) {
	debug.SetMemoryLimit(1 << 30)
	limitMemory()
	some := regexp.MustCompile(*sweepSome)
	calls := map[string]func(g *argumentGenerator, name string){}
	for name, f := range sweptFuncs {
		calls[name] = func(g *argumentGenerator, name string) { g.call(name, reflect.ValueOf(f), true) }
	}
	for name, t := range sweptLiterals() {
		calls[name] = func(g *argumentGenerator, name string) { g.methods(name, g.value(t, 0)) }
	}
	for i, v := range sweptValues() {
		v := reflect.ValueOf(v)
		calls[fmt.Sprintf("%s#%d", strings.TrimPrefix(strings.TrimPrefix(v.Type().String(), "*"), modulePath+"/"), i)] = func(g *argumentGenerator, name string) { g.methods(name, v) }
	}
	for _, name := range sortedNames(calls) {
		if name <= from && from != "" || !some.MatchString(name) {
			continue
		}
		fmt.Println("sweep at", name)
		g := newArgumentGenerator(name)
		for range *sweep {
			calls[name](g, name)
		}
		if mapped() > mostMapped {
			os.Exit(sweepGrown)
		}
	}
}

// sweptLiterals are the structs that users write, recipes above all, by name: the
// sweep calls their methods.
var sweptLiterals = sync.OnceValue(func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, t := range sweptTypes {
		if isOpen(t) {
			types[strings.TrimPrefix(t.PkgPath(), modulePath+"/")+"."+t.Name()+"{}"] = t
		}
	}
	return types
})

// watchCall ends the process if a call takes too long: by the clock of the processors,
// that of the wall goes on while others have them, or by thirty times that for a call
// that waits.
func watchCall(name string) (stop func()) {
	began, work := time.Now(), exact.CPU()
	var timer *time.Timer
	timer = time.AfterFunc(callLimit, func() {
		if exact.CPU()-work < callLimit && time.Since(began) < 30*callLimit {
			timer.Reset(callLimit / 4)
			return
		}
		fmt.Printf("sweep found %s: longer than %v\n", name, callLimit)
		os.Exit(3)
	})
	return func() { timer.Stop() }
}

// call calls f with random arguments, and some methods of its results if deep.
func (g *argumentGenerator) call(name string, f reflect.Value, deep bool) {
	kind := f.Type()
	args := make([]reflect.Value, kind.NumIn())
	for i := range args {
		args[i] = g.value(kind.In(i), 0)
	}
	results, ok := g.try(name, f, args)
	if !ok || !deep {
		return
	}
	if n := len(results); n > 0 {
		if err, _ := results[n-1].Interface().(error); err != nil {
			return
		}
	}
	for _, r := range results {
		g.methods(name, r)
	}
}

// methods calls the methods of a result in random order.
func (g *argumentGenerator) methods(name string, r reflect.Value) {
	if r.Kind() == reflect.Interface {
		r = r.Elem()
	}
	if !r.IsValid() || !strings.Contains(r.Type().String(), ".") || r.Type().PkgPath() == "" && r.Kind() != reflect.Pointer {
		return
	}
	if r.Kind() == reflect.Pointer && (r.IsNil() || !strings.HasPrefix(r.Type().Elem().PkgPath(), modulePath)) {
		return
	}
	if r.Kind() != reflect.Pointer && !strings.HasPrefix(r.Type().PkgPath(), modulePath) {
		return
	}
	for _, i := range g.Perm(r.NumMethod()) {
		method := name + " → " + r.Type().String() + "." + r.Type().Method(i).Name
		g.call(method, r.Method(i), false)
	}
}

// ownPanic matches the messages of the library, which begin with a package; those of
// the standard library that do, too, are not meant for its users.
var (
	ownPanic   = regexp.MustCompile(`^[a-z]+: `)
	otherPanic = regexp.MustCompile(`^(bufio|bytes|reflect|regexp|runtime|slices|strings|sync): `)
)

// try calls f and reports a panic that is not the library's own.
func (g *argumentGenerator) try(name string, f reflect.Value, args []reflect.Value) (results []reflect.Value, ok bool) {
	g.sweepUp()
	defer watchCall(name)()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		ok = false
		message := fmt.Sprint(p)
		raw := !ownPanic.MatchString(message) || otherPanic.MatchString(message)
		if err, is := p.(error); is {
			var runtimeError runtime.Error
			raw = raw || errors.As(err, &runtimeError)
		}
		key := name + panicPlace()
		if !raw || g.reported[key] {
			return
		}
		g.reported[key] = true
		fmt.Printf("sweep found %s(%s): %v at %s\n", name, showArguments(args), oneLine(p), panicPlace())
	}()
	if f.Type().IsVariadic() {
		results = f.CallSlice(args)
	} else {
		results = f.Call(args)
	}
	return results, true
}

// panicPlace returns the first line of the library on the stack of a panic.
func panicPlace() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	seen := false
	for i, l := range lines {
		seen = seen || strings.HasPrefix(l, "panic(")
		if seen && strings.HasPrefix(l, modulePath) && !strings.Contains(l, "conformance_test") && i+1 < len(lines) {
			at := strings.TrimSpace(lines[i+1])
			at, _, _ = strings.Cut(at, " +")
			return at
		}
	}
	return ""
}

// showArguments prints arguments briefly.
func showArguments(args []reflect.Value) string {
	var s []string
	for _, a := range args {
		text := "?"
		func() {
			defer func() { _ = recover() }()
			text = fmt.Sprintf("%v", a.Interface())
		}()
		if len(text) > 60 {
			text = text[:60] + "…"
		}
		s = append(s, a.Type().String()+" "+strings.ReplaceAll(text, "\n", " "))
	}
	return strings.Join(s, ", ")
}

// argumentGenerator makes random arguments.
type argumentGenerator struct {
	*rand.Rand
	pool     []reflect.Value
	reported map[string]bool
	heap     uint64 // bytes of objects after the last collection
}

func newArgumentGenerator(name string) *argumentGenerator {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	g := &argumentGenerator{Rand: rand.New(rand.NewPCG(seed, 1)), reported: map[string]bool{}}
	for _, v := range sweptValues() {
		g.pool = append(g.pool, reflect.ValueOf(v))
	}
	for _, t := range sweptTypes {
		if isOpen(t) {
			g.pool = append(g.pool, reflect.New(t).Elem(), reflect.New(t))
		}
		g.pool = append(g.pool, reflect.Zero(reflect.PointerTo(t)))
	}
	return g
}

// isOpen reports whether users can write all of a struct.
func isOpen(t reflect.Type) bool {
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

var (
	contextType  = reflect.TypeFor[context.Context]()
	endedContext = func() context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx
	}()
	sweptFloats = []float64{0, 1, -1, 0.5, 2, 0.1, 1e300, -1e300, 1e-300, notANumber, infinity, -infinity}
	// Huge ones are beyond what any memory holds.
	sweptInts    = []int64{-1, -7, 1 << 40, 1<<62 + 1, -1 << 63, 1<<63 - 1}
	sweptStrings = []string{"", "a", "ab", "[a-z]+", "a{1,3}", "(", "\xff", "{}", `{"type":"string"}`, "3 2\n1 2 1\n2 3 -1\n", `root ::= "a" root | "b"`}
)

// value returns a random value of a type.
func (g *argumentGenerator) value(t reflect.Type, depth int) reflect.Value {
	if t == contextType {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		_ = cancel // it ends by itself
		v := reflect.New(t).Elem()
		v.Set(reflect.ValueOf([]context.Context{ctx, ctx, endedContext}[g.IntN(3)]))
		return v
	}
	if fit := g.fitting(t); len(fit) > 0 && g.IntN(4) > 0 {
		v := fit[g.IntN(len(fit))]
		if t.Kind() == reflect.Interface {
			w := reflect.New(t).Elem()
			w.Set(v)
			return w
		}
		return v
	}
	if depth > 5 {
		return reflect.Zero(t)
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := int64(g.IntN(9))
		if g.IntN(6) == 0 {
			n = sweptInts[g.IntN(len(sweptInts))]
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(g.IntN(9)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(sweptFloats[g.IntN(len(sweptFloats))])
	case reflect.String:
		v.SetString(sweptStrings[g.IntN(len(sweptStrings))])
	case reflect.Slice:
		if g.IntN(5) == 0 {
			return v
		}
		n := []int{0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 27}[g.IntN(12)]
		v.Set(reflect.MakeSlice(t, n, n))
		plain := g.IntN(2) == 0
		for i := range n {
			if plain && isNumber(t.Elem().Kind()) {
				v.Index(i).Set(reflect.ValueOf(g.IntN(2)).Convert(t.Elem()))
				continue
			}
			v.Index(i).Set(g.value(t.Elem(), depth+1))
		}
	case reflect.Array:
		for i := range t.Len() {
			v.Index(i).Set(g.value(t.Elem(), depth+1))
		}
	case reflect.Map:
		if g.IntN(2) == 0 {
			v.Set(reflect.MakeMap(t))
			v.SetMapIndex(g.value(t.Key(), depth+1), g.value(t.Elem(), depth+1))
		}
	case reflect.Pointer:
		if g.IntN(2) == 0 && (t.Elem().Kind() != reflect.Struct || isOpen(t.Elem())) {
			v.Set(reflect.New(t.Elem()))
			v.Elem().Set(g.value(t.Elem(), depth+1))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if v.Field(i).CanSet() && g.IntN(2) == 0 {
				v.Field(i).Set(g.value(t.Field(i).Type, depth+1))
			}
		}
	case reflect.Func:
		if g.IntN(3) > 0 {
			v.Set(reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
				for i := range t.NumOut() {
					out = append(out, reflect.Zero(t.Out(i)))
				}
				return out
			}))
		}
	}
	return v
}

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

var notANumber, infinity = math.NaN(), math.Inf(1)

// sweptValues are valid arguments of the sweep: models, denoisers, languages,
// recipes and what runs them, all of nine sites and two or three levels.
var sweptValues = sync.OnceValue(func() []any {
	ctx := context.Background()
	ising := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.2, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 0.2, nil))
	broken := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 { return []float64{0, notANumber, infinity, -infinity}[(x[0]+x[1])&3] }}
	plain := energy.Func{Sites: 9, Levels: 2, E: func(x []int32) float64 { return float64(x[0] * x[1]) }}
	gauss := exact.Must(continuous.NewDiagonal([]float64{1}, make([]float64, 9), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}))
	vocab := text.Runes("ab")
	letters := exact.Must(text.Regexp(ctx, "[ab]*", vocab, constraint.Limits{}))
	count := constraint.Count{Levels: []int32{1}, Min: 2, Max: 5}
	table := exact.Must(denoise.NewTable(ising, 0))
	normal := exact.Must(denoise.NewMixture(gauss))
	chains := exact.Must(sampler.NewChains(context.Background(), ising, mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: -1}))
	reals := exact.Must(langevin.New(context.Background(), gauss, langevin.Config{Chains: 2, StepSize: 0.1, Warmup: -1}))
	all := []any{
		ising, potts, broken, plain, gauss, vocab, letters, count, chains, reals,
		projection.Path{Language: count}, table, normal, neural.Config{}, dual.Config{}, diagnose.NewTrace(),
		diffusion.Masked{Mask: 1}, noise.Cosine{}, fstest.MapFS{}, bytes.NewReader([]byte("3 2\n1 2 1\n2 3 1\n")), &bytes.Buffer{},
	}
	return append(all, sweptRuns(ising, gauss)...)
})

// sweptRuns are runs, and what learns and searches, ready to start. The sweep calls
// their methods, too.
func sweptRuns(ising *model.Ising, gauss *continuous.Mixture) []any {
	ctx := context.Background()
	few := constraint.Count{Levels: []int32{1}, Max: 3}
	lagrangian := exact.Must(dual.NewLagrangian(ising, few))
	multiplied := exact.Must(sampler.NewChains(context.Background(), lagrangian, mcmc.Gibbs{}, sampler.Config{Chains: 2, Warmup: -1}))
	small := exact.Must(constraint.Intersect(few, constraint.Count{Levels: []int32{2}, Max: 0}))
	learner := exact.Must(ising.Learn())
	net := exact.Must(neural.New(neural.Config{Length: 9, Levels: 3, Width: 4, Heads: 1, Blocks: 1, Hidden: 4}, rand.NewPCG(1, 1)))
	rows := []int32{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1}
	normal := exact.Must(denoise.NewMixture(gauss))
	linear := constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1, 0, 0, 0, 0, 0, 0}, 9), Lower: []float64{0}, Upper: []float64{1}}
	masked := exact.Must(denoise.NewMarkov(exact.Must(model.NewMarkov(9, 2, 1, []float64{.5, .5}, []float64{.9, .1, .2, .8})), denoise.Absorbing))
	pushed := exact.Must(exact.Must(grammar.Parse(ctx, `root ::= "a" root | "b"`, constraint.Limits{})).Over(ctx, text.Runes("ab")))
	return []any{
		lagrangian, exact.Must(dual.NewInference(context.Background(), lagrangian, multiplied, dual.Config{})),
		learner, exact.Must(fit.New(context.Background(), learner, rows, fit.Config{Objective: fit.Pseudo{}})),
		net, exact.Must(train.New(net, train.Masked{Mask: 2}, rows, train.Config{Steps: 3, Batch: 2})),
		exact.Must(ground.New(ising, ground.Config{})),
		exact.Must(anneal.New(context.Background(), ising, mcmc.Metropolis{}, anneal.Config{Stages: 3, Chains: 2})),
		exact.Must(anneal.NewAIS(ising, mcmc.Gibbs{}, anneal.AISConfig{Stages: 3, Chains: 2})),
		exact.Must(anneal.NewSteppingStone(ising, mcmc.Gibbs{}, anneal.SteppingStoneConfig{Stages: 3, Chains: 2, Draws: 6})),
		exact.Must(diffusion.New(ctx, masked, diffusion.Masked{Mask: 2}, diffusion.Config{Steps: 3})),
		exact.Must(diffusion.NewParticles(ctx, masked, diffusion.Masked{Mask: 2}, diffusion.ParticlesConfig{Particles: 2, Config: diffusion.Config{Steps: 3, Projector: projection.Path{Language: small}}})),
		exact.Must(diffusion.New(ctx, normal, diffusion.Gaussian{}, diffusion.Config{Steps: 3})),
		exact.Must(twisted.New(ctx, normal, linear, twisted.Config{Steps: 3, Particles: 4})),
		shard.Chains{Model: ising, Method: mcmc.Gibbs{}, Draws: 2},
		shard.AIS{Model: ising, Method: mcmc.Gibbs{}},
		pushed, linear, new(constraint.Lexicon), diagnose.NewStreamingTrace(func(x []int32) float64 { return float64(len(x)) }),
		exact.Must(diagnose.NewTally(diagnose.TallyConfig{Draws: 2}, func(x []int32) float64 { return float64(len(x)) })),
		onDisk(slices.Values([][]int32{{1, 0, 1, 0, 1, 0, 1, 0, 0}})),
	}
}

// fitting returns the values of the pool that a variable of the type can hold.
func (g *argumentGenerator) fitting(t reflect.Type) (fit []reflect.Value) {
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return nil
		}
	case reflect.Struct, reflect.Pointer:
	default:
		return nil
	}
	for _, v := range g.pool {
		if v.Type().AssignableTo(t) {
			fit = append(fit, v)
		}
	}
	return fit
}

func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// lastWords returns the part of the output of a process that says why it ended.
func lastWords(out string) string {
	for _, mark := range []string{"fatal error", "panic: ", "runtime: "} {
		if i := strings.Index(out, mark); i >= 0 {
			return out[i:min(i+1500, len(out))]
		}
	}
	return out[max(0, len(out)-300):]
}

// mostMapped is what a child may have mapped when it begins with a function: memory
// comes back from the collector in pieces, and a call is judged by what it takes
// itself, not by what earlier ones left of the address space.
const mostMapped = 2 << 30

// mapped returns the bytes of memory that the process has mapped.
func mapped() uint64 {
	total := [1]metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(total[:])
	return total[0].Value.Uint64()
}

// sweepUp collects garbage if calls have left half a GiB of it: a call is judged by its
// own memory, not by what others have left behind.
func (g *argumentGenerator) sweepUp() {
	heap := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap[:]); heap[0].Value.Uint64() > g.heap+1<<29 {
		runtime.GC()
		metrics.Read(heap[:])
		g.heap = heap[0].Value.Uint64()
	}
}

func oneLine(p any) string {
	s, _, _ := strings.Cut(fmt.Sprint(p), "\n")
	return s
}
