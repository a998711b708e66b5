package conformance_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// Two processes run on one file of every kind that a run owns. They begin at the same moment,
// or, in every other start, the second begins at a random time of the first's run:
//
//	go test ./internal/conformance -run 'TestTwoProcesses$' -starts 200 -timeout 2h -v
var starts = flag.Int("starts", 0, "number of starts of two processes in TestTwoProcesses, for every kind of file; 0: a few, of some kinds")
var startsOf = flag.String("startsof", "", "regular expression for the kinds of files in TestTwoProcesses, when -starts is given; empty: all")

// owned is a kind of file that a run owns.
type owned struct {
	// begin is a run by process 0 or 1 that writes the file path.
	begin func(path string, process int) error

	// read returns the digest of the file. It is one of want.
	read func(path string) (string, error)
	want []string
}

const (
	twoDraws  = 60
	twoChains = 40
)

// ownedFiles are all kinds of files that runs own; names are of the checkpoints that
// are among them.
func ownedFiles(t *testing.T, names []string) map[string]owned {
	// What happens at the beginning, between saves and at the end shows in short runs.
	draws, steps := killDraws, killSteps
	killDraws, killSteps = 60, 20
	t.Cleanup(func() { killDraws, killSteps = draws, steps })
	m := exact.NewQuadratic(12, 1)
	all := map[string]owned{
		"draws": {
			begin: func(path string, _ int) error {
				c, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: twoChains, Seed: 3, DrawsFile: path})
				if err != nil {
					return err
				}
				return c.Run(context.Background(), twoDraws)
			},
			read: func(path string) (string, error) {
				pairs, sums := 0, make([]string, twoChains) // chains come in any order
				n, err := diagnose.Replay(path, func(chain, draw int, x []int32, info *sampler.Info) {
					sums[chain] = digestOf(sums[chain], draw, x, *info)
					pairs++
				})
				if err == nil && (n != twoDraws || pairs != twoDraws*twoChains) {
					err = fmt.Errorf("%d draws, %d pairs of a chain and a draw", n, pairs)
				}
				return digestOf(sums), err
			},
		},
		"sorted": {
			begin: func(path string, process int) error {
				_, err := sorted.Build(context.Background(), path, 4, func(yield func([]int32) bool) {
					r := rand.New(rand.NewPCG(1, uint64(process)))
					for range 2000 {
						if !yield([]int32{int32(process), r.Int32N(4), r.Int32N(4), r.Int32N(4), r.Int32N(4), r.Int32N(4)}) {
							return
						}
					}
				})
				return err
			},
			read: func(path string) (string, error) {
				l, err := sorted.Open(path)
				if err != nil {
					return "", err
				}
				defer l.Close()
				b, err := os.ReadFile(path)
				return digestOf(b), errors.Join(err, l.Verify())
			},
		},
		"shard": {
			begin: func(path string, _ int) error {
				if err := os.Mkdir(path, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
					return err
				}
				return shard.Task{Index: 0, Count: 1}.Do(context.Background(), path, twoPart(), shard.Options{States: true})
			},
			read: func(path string) (string, error) {
				if _, err := shard.Merge(context.Background(), path, twoPart()); err != nil {
					return "", err
				}
				files, err := filepath.Glob(filepath.Join(path, "*"))
				if err == nil && len(files) != 2 {
					err = fmt.Errorf("files %q, want the tally and the states", files)
				}
				said := ""
				for _, f := range files {
					b, e := os.ReadFile(f)
					said, err = digestOf(said, b), errors.Join(err, e)
				}
				return said, err
			},
		},
	}
	runs := resumables()
	for _, name := range names {
		all["checkpoint of "+name] = owned{
			begin: func(path string, _ int) error {
				r, err := beginOrResume(runs[name], path)
				if err != nil {
					return err
				}
				return r.finish(context.Background())
			},
			read: func(path string) (string, error) {
				b, err := os.ReadFile(path)
				return digestOf(b), err
			},
		}
	}
	return all
}

// twoPart is the run of the kind "shard".
func twoPart() shard.Run {
	return shard.Chains{
		Model: exact.NewQuadratic(12, 1), Method: mcmc.Gibbs{}, Config: sampler.Config{Chains: 8, Warmup: 10}, Draws: 30,
	}
}

func TestTwoProcesses(t *testing.T) {
	exact.SkipUnderRace(t)
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes")
	}
	names, quota := []string{"annealing", "masked"}, 3
	if *starts > 0 {
		names, quota = sortedNames(resumables()), *starts
	}
	kinds, err := regexp.Compile(*startsOf)
	require.NoError(t, err)
	all := ownedFiles(t, names)
	children := [2]*child{startChild(t, names), startChild(t, names)}
	total, refused, both := 0, 0, 0
	src := rand.New(rand.NewPCG(uint64(*starts), 2))
	for _, kind := range sortedNames(all) {
		if !kinds.MatchString(kind) || kind == "sorted" && strconv.IntSize == 32 { // a lexicon of 256 states at most
			continue
		}
		folder, o := t.TempDir(), all[kind]
		var alone time.Duration
		for process := range 2 {
			path := filepath.Join(folder, fmt.Sprint("alone", process))
			began := time.Now()
			require.NoError(t, o.begin(path, process), kind)
			alone = time.Since(began)
			o.want = append(o.want, exact.Must(o.read(path)))
		}
		kindRefused, kindBoth := 0, 0
		total += quota
		for n := range quota {
			path := filepath.Join(folder, fmt.Sprint("start", n))
			for i, c := range children {
				c.tell(t, kind, path, i)
				if i == 0 && n%2 == 1 {
					time.Sleep(time.Duration(src.Int64N(int64(alone) + 1)))
				}
			}
			ok := 0
			for _, c := range children {
				switch said := c.hear(t); {
				case said == "done":
					ok++
				case strings.Contains(said, path) && (strings.Contains(said, "another run is using the file: wait until") || strings.Contains(said, "load it again")):
					kindRefused++
				default:
					t.Fatalf("%s: %s", kind, said)
				}
			}
			require.Positive(t, ok, "%s: both are refused", kind)
			if ok == 2 {
				kindBoth++
			}
			got, err := o.read(path)
			require.NoError(t, err, kind)
			require.Contains(t, o.want, got, kind)
			left, err := filepath.Glob(path + ".*")
			require.NoError(t, err)
			for _, f := range left {
				require.Equal(t, path+".old", f, kind)
			}
		}
		refused, both = refused+kindRefused, both+kindBoth
		t.Logf("%-42s %4d starts of two processes, %4d refused, %4d times both ended; a run takes %v", kind, quota, kindRefused, kindBoth, alone.Round(time.Millisecond))
	}
	for _, c := range children {
		require.NoError(t, c.in.Close())
		require.NoError(t, c.cmd.Wait())
	}
	t.Logf("%d starts of two processes, %d runs refused by name, %d times both ended one after the other; every file is that of one run", total, refused, both)
	require.Positive(t, refused)
}

// child is a process that runs what it is order.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// twoEnvironment has, in the environment of a child, the names of the checkpoints.
const twoEnvironment = "GIBBSITE_TEST_TWO"

func startChild(t *testing.T, names []string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestOneOfTwo$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), twoEnvironment+"="+strings.Join(names, "\n"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &child{cmd, in, bufio.NewScanner(out)}
}

func (c *child) tell(t *testing.T, kind, path string, process int) {
	t.Helper()
	_, err := fmt.Fprintf(c.in, "%d\t%s\t%s\n", process, kind, path)
	require.NoError(t, err)
}

func (c *child) hear(t *testing.T) string {
	t.Helper()
	for c.out.Scan() {
		if said, found := strings.CutPrefix(c.out.Text(), "run "); found {
			return said
		}
	}
	t.Fatal("a child has ended")
	return ""
}

// TestOneOfTwo is the child of TestTwoProcesses.
func TestOneOfTwo(t *testing.T) {
	names, found := os.LookupEnv(twoEnvironment)
	if !found {
		t.Skip("for children of TestTwoProcesses")
	}
	all := ownedFiles(t, strings.Split(names, "\n"))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		order := strings.Split(in.Text(), "\t")
		process := 0
		if order[0] == "1" {
			process = 1
		}
		said := "done"
		if err := all[order[1]].begin(order[2], process); err != nil {
			said = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println("run", said)
	}
}
