package checkpointtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Programs are killed at random moments and started again, until they end; then they
// report what one that was not killed does:
//
//	go test ./internal/checkpoint/checkpointtest -run TestKill -kills 200 -timeout 2h -v
var (
	kills   = flag.Int("kills", 0, "number of kills in TestKill, over all programs; 0: two of one program")
	killsOf = flag.String("killsof", "", "kill only this program, when -kills is given; empty: all")
)

// killed are the programs that save checkpoints, in sizes that take some seconds at
// most.
var killed = map[string][]string{
	"ising":            {"ising", "-resume", "-lattice", "12,12", "-chains", "8", "-steps", "8000", "-warmup", "100", "-method", "dmala,gibbs"},
	"ising annealed":   {"ising", "-resume", "-lattice", "12,12", "-chains", "8", "-steps", "30", "-anneal"},
	"partition":        {"partition", "-resume", "-chains", "8", "-steps", "300", "-method", "dmala,swap"},
	"fairness":         {"fairness", "-resume", "-chains", "16", "-steps", "200", "-draws", "200", "-rounds", "2"},
	"sequences":        {"sequences", "-resume", "-atoms", "4", "-n", "400", "-order", "2", "-run", "syntax,novel"},
	"series":           {"series", "-resume", "-rows", "1500", "-heldout", "40", "-length", "12", "-training", "200", "-steps", "40", "-method", "cps,pdm"},
	"text trained":     {"text", "-train", "-width", "32", "-blocks", "1", "-steps", "1000", "-batch", "8", "-n", "5", "-length", "40", "-run", "regex"},
	"molecule trained": {"molecules", "-train", "-atoms", "4", "-width", "32", "-blocks", "1", "-steps", "1000", "-batch", "8", "-n", "10", "-run", "syntax"},
	"rings forgotten":  {"molecules", "-forget", "rings", "-share", "0.42", "-atoms", "4", "-width", "32", "-blocks", "1", "-steps", "3000", "-batch", "8", "-judge", "50", "-weights"},
}

// trained are the programs that train the network whose file is the last argument of a killed one.
var trained = map[string][]string{
	"rings forgotten": {"-train", "-atoms", "4", "-width", "32", "-blocks", "1", "-steps", "600", "-batch", "8", "-n", "5", "-run", "syntax", "-json", "-weights"},
}

// command returns the program of a name and its arguments.
func command(t *testing.T, folder, name string) (program string, args []string) {
	t.Helper()
	program, args = built(t, folder, killed[name][0]), killed[name][1:]
	if first := trained[name]; first != nil {
		file := filepath.Join(folder, "weights of "+name)
		once(t, program, time.Hour, append(slices.Clone(first), file)...)
		args = append(slices.Clone(args), file)
	}
	return program, append(slices.Clone(args), "-json")
}

// ofThisProcess are the keys of a report that tell of the time that it took, and of the
// steps that the last process made: one that finds a training at its end has no loss.
var ofThisProcess = regexp.MustCompile(`seconds|_second$|ms_per|^ms$|^steps$|^loss$`)

func TestKill(t *testing.T) {
	if testing.Short() || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("starts programs")
	}
	names := slices.Sorted(maps.Keys(killed))
	if *killsOf != "" {
		names = []string{*killsOf}
	}
	quota := (*kills + len(names) - 1) / len(names)
	if *kills == 0 {
		names, quota = []string{"sequences"}, 2
	}
	folder := t.TempDir()
	src := rand.New(rand.NewPCG(uint64(*kills), 1))
	total, runs := 0, 0
	for _, name := range names {
		program, args := command(t, folder, name)
		start := time.Now()
		want, done := once(t, program, time.Hour, append(args, "-checkpoint", filepath.Join(folder, name))...)
		took := time.Since(start)
		if !done {
			t.Fatalf("%s does not end", name)
		}
		k, r := 0, 0
		for k < quota {
			path := filepath.Join(folder, fmt.Sprint(name, r))
			for {
				after := time.Hour
				if k < quota {
					after = time.Duration(src.Int64N(int64(took)))
				}
				got, done := once(t, program, after, append(args, "-checkpoint", path)...)
				if !done {
					k++
					continue
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: after %d kills\n%v, want\n%v", name, k, got, want)
				}
				break
			}
			r++
		}
		t.Logf("%-16s %4d kills in %d runs of %v", name, k, r, took.Round(time.Millisecond))
		total, runs = total+k, runs+r
	}
	t.Logf("%d kills, %d runs to their end, all with the report of a run that was not killed", total, runs)
}

// written are programs without checkpoints that write a file as their last argument.
var written = map[string][]string{
	"filled":    {"series", "-csv", "gaps.csv", "-write", "draws.csv", "-fill"},
	"generated": {"series", "-csv", "gaps.csv", "-generate", "3000", "-length", "12", "-write"},
	"described": {"series", "-csv", "gaps.csv", "-describe"},
}

// After a kill, the file that a program writes is the one before or a whole one, and the program
// writes the same file again.
func TestKillWriters(t *testing.T) {
	if testing.Short() || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("starts programs")
	}
	folder := t.TempDir()
	src := rand.New(rand.NewPCG(uint64(*kills), 2))
	table := "date,open,high,low,close,volume\n"
	for i, price := 0, 100.0; i < 300; i++ {
		next := price * math.Exp(0.01*src.NormFloat64())
		row := []string{time.Unix(int64(i)*86400, 0).UTC().Format(time.DateOnly)}
		for _, v := range []float64{price, max(price, next) + 0.5, min(price, next) - 0.5, next, 1000 + 1000*src.Float64()} {
			row = append(row, fmt.Sprintf("%.2f", v))
		}
		if i < 150 && i%9 == 5 {
			row[1+src.IntN(5)] = ""
		}
		table += strings.Join(row, ",") + "\n"
		price = next
	}
	if err := os.WriteFile(filepath.Join(folder, "gaps.csv"), []byte(table), 0o666); err != nil {
		t.Fatal(err)
	}
	program := built(t, folder, "series")
	t.Chdir(folder)
	for _, name := range slices.Sorted(maps.Keys(written)) {
		args := slices.Clone(written[name][1:])
		file := "out.csv"
		if name != "described" {
			args = append(args, file)
		}
		args = append(args, "-json")
		read := func() string {
			b, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			return string(b)
		}
		start := time.Now()
		want, _ := once(t, program, time.Hour, args...)
		took, whole := time.Since(start), read()
		n := 0
		quota := max(1, *kills/len(written))
		for tries := 0; n < quota && tries < 4*quota; tries++ {
			before := "old"
			if err := os.WriteFile(file, []byte(before), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, done := once(t, program, time.Duration(src.Int64N(int64(took))), args...); !done {
				n++
			}
			if got := read(); got != before && got != whole {
				t.Fatalf("%s: after a kill the file has %d bytes, want %d", name, len(got), len(whole))
			}
		}
		if got, _ := once(t, program, time.Hour, args...); !reflect.DeepEqual(got, want) || name != "described" && read() != whole {
			t.Fatalf("%s: after %d kills %v, want %v", name, n, got, want)
		}
		t.Logf("%-16s %4d kills in runs of %v", name, n, took.Round(time.Millisecond))
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// Ctrl-C ends a program soon, with the state of the run in its file, from which it goes on
// to the report of one that was not interrupted.
func TestInterrupt(t *testing.T) {
	if testing.Short() || runtime.GOOS == "js" || runtime.GOOS == "wasip1" || runtime.GOOS == "windows" {
		t.Skip("interrupts programs")
	}
	names := slices.Sorted(maps.Keys(killed))
	if *kills == 0 {
		names = []string{"sequences", "ising"}
	}
	folder := t.TempDir()
	for _, name := range names {
		program, args := command(t, folder, name)
		start := time.Now()
		want, _ := once(t, program, time.Hour, append(args, "-checkpoint", filepath.Join(folder, name))...)
		took := time.Since(start)
		path := filepath.Join(folder, name+" interrupted")
		args = append(args, "-checkpoint", path)
		interrupts := 0
		for after := took / 2; ; after = max(after/2, 10*time.Millisecond) {
			cmd := exec.CommandContext(t.Context(), program, args...)
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if err != nil {
					interrupts++
				}
			case <-time.After(took + time.Minute):
				_ = cmd.Process.Kill()
				t.Fatalf("%s does not end after an interrupt at %v", name, after)
			}
			files, _ := filepath.Glob(path + ".*")
			if interrupts > 0 && len(files) > 0 || after == 10*time.Millisecond {
				break
			}
			for _, f := range files { // it came to its end
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, _ := once(t, program, time.Hour, args...); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s, interrupted %d times:\n%v, want\n%v", name, interrupts, got, want)
		}
		t.Logf("%-16s interrupted %d times, in a run of %v", name, interrupts, took.Round(time.Millisecond))
	}
}

// built returns a program of the examples that saves its state every 20 ms.
func built(t *testing.T, folder, name string) string {
	t.Helper()
	program := filepath.Join(folder, name) + ".exe"
	build := exec.Command("go", "build", "-ldflags", "-X github.com/gibbsite-go/gibbsite/examples/internal/checkpoint.interval=20ms", "-o", program, "../../../"+name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// once runs a program, which it kills after a time, and returns its report without what
// is of this process.
func once(t *testing.T, program string, after time.Duration, args ...string) (report any, done bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err != nil && ctx.Err() != nil && (!errors.As(err, &exit) || !exit.Exited()):
		return nil, false
	case err != nil:
		t.Fatalf("%s %q: %v\n%s", program, args, err, said.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out.Bytes())
	}
	return without(report), true
}

// without returns a report without what is of this process.
func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if v[key] = without(inner); ofThisProcess.MatchString(key) {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return v
}
