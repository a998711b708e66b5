package conformance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/stretchr/testify/require"
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
		cmd.Dir = t.TempDir() // some functions write the file that they are told to
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
