// Command table measures the kernels and prints them beside their floors.
//
//	go -C internal/simd/_gen run ./table [-backend avx512] [-count 10] [-for 5ms]
//
// Each figure is the least processor time of several short runs, so that a busy
// machine spoils few of them, and counts in the random numbers that a kernel takes.
// Floors are what the instructions or the memory of an AVX-512 core allow at 4.45
// GHz, as they were measured by loops in C. The command measures the clock of the
// core that it runs on, in the same sitting, and scales them to it.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type row struct {
	label         string
	bench         string  // benchmark, without its backend
	floor, target float64 // at the clock of reference; 0: none stated
}

// reference is the clock, in GHz, at which floors and targets are stated.
const reference = 4.45

var rows = []row{
	{"softmax 64×512", "Rows/Softmax/64x512", 0.115, 0.21},
	{"softmax 1024×40", "Rows/Softmax/1024x40", 0, 0.45},
	{"softmax 1024×2", "Rows/Softmax/1024x2", 0.18, 0.22},
	{"softmax 32×50257", "Rows/Softmax/32x50257", 0, 0.25},
	{"log-softmax 64×512", "Rows/LogSoftmax/64x512", 0, 0},
	{"log-sum-exp 64×512", "Rows/LogSumExp/64x512", 0, 0},
	{"categorical 4×50000", "Rows/FreshCategorical/4x50000", 0.19, 0.25},
	{"categorical 64×512", "Rows/FreshCategorical/64x512", 0.21, 0.30},
	{"categorical 1024×40", "Rows/FreshCategorical/1024x40", 0, 0.60},
	{"Gumbel-max 64×512", "Rows/FreshGumbelMax/64x512", 0.49, 0.70},
	{"KL 64×512", "Rows/KL/64x512", 0.214, 0.43},
	{"entropy 64×512", "Rows/Entropy/64x512", 0, 0},
	{"Gumbel-softmax and pullback 64×512", "Rows/GumbelSoftmax/64x512", 0.66, 0.85},
	{"arg max 64×512", "Rows/ArgMax/64x512", 0, 0},
	{"flip: thresholds, draw, log q", "Flip/Whole/16384", 0, 0.53},
	{"flip thresholds alone", "Flip/Thresholds/16384", 0, 0},
	{"reverse log q", "Flip/LogProb/16384", 0, 0},
	{"Philox, per word", "Random/Philox", 0.194, 0},
	{"SGEMM 100×784×500 (GFLOP/s)", "Gemm/Gemm/100x784x500", 278, 0},
	{"SGEMM 100×500×784, b transposed (GFLOP/s)", "Gemm/GemmT/100x500x784", 278, 0},
	{"SGEMV 784×500 (GFLOP/s)", "Gemm/Gemm/1x784x500", 0, 0},
	{"softplus sum 500", "Double/SoftplusSum/500", 0, 0},
	{"float64 exp-gather 500", "Double/ExpGather/500", 0, 0},
	{"add rows, 50 of 512", "AddRows/50x512", 0, 0},
	{"torus field 50²", "Double/Torus/50", 0, 0},
	{"torus field 1024²", "Double/Torus/1024", 0, 0},
	{"sparse field, degree 48", "Sparse/Field/48", 0, 0},
	{"heat bath of bits, per spin", "Bits/Heat", 0, 0},
	{"neighbours of bits, per spin", "Bits/Torus", 0, 0},
	{"numbers of bits, 512 a row, per spin", "Bits/Spread/512", 0, 0},
}

var line = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

func main() {
	log.SetFlags(0)
	backend := flag.String("backend", "avx512", "purego, avx2 or avx512")
	count := flag.Int("count", 10, "runs of each benchmark")
	span := flag.String("for", "5ms", "time of each run")
	flag.Parse()

	bin := filepath.Join(os.TempDir(), "simd-table.test")
	build := exec.Command("go", "test", "-c", "-o", bin, ".")
	build.Dir = ".."
	run(build)
	defer os.Remove(bin)
	best, clock := map[string]float64{}, gigahertz()
	for _, r := range rows {
		clock = max(clock, gigahertz())
		pattern := "^Benchmark" + strings.ReplaceAll(r.bench+"/"+*backend, "/", "$/^") + "$"
		collect(best, run(exec.Command(bin, "-test.run", "^$", "-test.v", "-test.bench", pattern,
			"-test.benchtime", *span, "-test.count", strconv.Itoa(*count))))
	}
	fmt.Printf("| kernel (%s at %.2f GHz; ns per element unless stated) | measured | floor | ratio | target |\n|---|---|---|---|---|\n", *backend, clock)
	for _, r := range rows {
		v, ok := best[r.bench+"/"+*backend]
		if !ok {
			log.Fatalf("no benchmark %s/%s", r.bench, *backend)
		}
		floor, ratio, target := "–", "–", "–"
		if r.floor > 0 {
			at := r.scaled(r.floor, clock)
			floor, ratio = fmt.Sprintf("%.3g", at), fmt.Sprintf("%.2f", v/at)
		}
		if r.target > 0 {
			target = fmt.Sprintf("%.3g", r.scaled(r.target, clock))
		}
		fmt.Printf("| %s | %.3g | %s | %s | %s |\n", r.label, v, floor, ratio, target)
	}
}

// scaled returns a time, or a rate in GFLOP/s, of the clock of reference at another.
func (r row) scaled(v, clock float64) float64 {
	if strings.Contains(r.label, "GFLOP/s") {
		return v * clock / reference
	}
	return v * reference / clock
}

// gigahertz measures the clock: a product of integers waits three cycles for the one
// before it, on every x86-64 processor with AVX2.
func gigahertz() (clock float64) {
	const products, latency = 1 << 18, 3
	x := uint64(3)
	for range 20 {
		start := time.Now()
		for range products / 8 {
			x *= x
			x *= x
			x *= x
			x *= x
			x *= x
			x *= x
			x *= x
			x *= x
		}
		took := time.Since(start)
		clock = max(clock, latency*products/float64(took.Nanoseconds()))
	}
	if x == 0 { // it is odd
		log.Fatal("a product of odd numbers is even")
	}
	return clock
}

// collect keeps the least ns/elem and the greatest GFLOP/s of each benchmark.
func collect(best map[string]float64, out []byte) {
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		m := line.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		f := strings.Fields(m[2])
		for i := 0; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				continue
			}
			old, seen := best[m[1]]
			switch {
			case f[i+1] == "ns/elem" && (!seen || v < old), f[i+1] == "GFLOP/s" && v > old:
				best[m[1]] = v
			}
		}
	}
}

func run(c *exec.Cmd) []byte {
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		log.Fatal(err)
	}
	return out
}
