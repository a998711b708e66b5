// Command table measures the kernels and prints them beside their floors.
//
//	go -C internal/simd/_gen run ./table [-backend avx512] [-count 10] [-for 5ms]
//
// Each figure is the best of several short runs, so that a busy machine spoils
// few of them. Floors are what the instructions or the memory of an AVX-512
// server of about 3 GHz allow, as the table of the project's targets states
// them; ratios on other machines compare apples and pears.
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
)

type row struct {
	label         string
	bench         string  // benchmark, without its backend
	floor, target float64 // 0: none stated
}

var rows = []row{
	{"softmax 64×512", "Rows/Softmax/64x512", 0.17, 0.40},
	{"softmax 1024×40", "Rows/Softmax/1024x40", 0, 0.60},
	{"softmax 1024×2", "Rows/Softmax/1024x2", 0, 0.35},
	{"softmax 32×50257", "Rows/Softmax/32x50257", 0.28, 0.50},
	{"log-softmax 64×512", "Rows/LogSoftmax/64x512", 0, 0},
	{"log-sum-exp 64×512", "Rows/LogSumExp/64x512", 0, 0},
	{"categorical 4×50000", "Rows/Categorical/4x50000", 0.19, 0.25},
	{"categorical 64×512", "Rows/Categorical/64x512", 0.21, 0.35},
	{"Gumbel-max 64×512", "Rows/GumbelMax/64x512", 0.49, 0.70},
	{"KL 64×512", "Rows/KL/64x512", 0.36, 0.60},
	{"entropy 64×512", "Rows/Entropy/64x512", 0, 0},
	{"Gumbel-softmax and pullback 64×512", "Rows/GumbelSoftmax/64x512", 0.66, 1.20},
	{"arg max 64×512", "Rows/ArgMax/64x512", 0, 0},
	{"flip thresholds", "Flip/Thresholds/16384", 0, 0},
	{"flip with log q", "Flip/Flip/16384", 0, 0},
	{"reverse log q", "Flip/LogProb/16384", 0, 0},
	{"Philox, per word", "Random/Philox", 0.39, 0.45},
	{"SGEMM 100×784×500 (GFLOP/s)", "Gemm/Gemm/100x784x500", 185, 120},
	{"SGEMM 100×500×784, b transposed (GFLOP/s)", "Gemm/GemmT/100x500x784", 185, 120},
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
	best := map[string]float64{}
	for _, r := range rows {
		pattern := "^Benchmark" + strings.ReplaceAll(r.bench+"/"+*backend, "/", "$/^") + "$"
		collect(best, run(exec.Command(bin, "-test.run", "^$", "-test.v", "-test.bench", pattern,
			"-test.benchtime", *span, "-test.count", strconv.Itoa(*count))))
	}
	fmt.Printf("| kernel (%s; ns per element unless stated) | measured | floor | ratio | target |\n|---|---|---|---|---|\n", *backend)
	for _, r := range rows {
		v, ok := best[r.bench+"/"+*backend]
		if !ok {
			log.Fatalf("no benchmark %s/%s", r.bench, *backend)
		}
		floor, ratio, target := "–", "–", "–"
		if r.floor > 0 {
			floor, ratio = fmt.Sprint(r.floor), fmt.Sprintf("%.2f", v/r.floor)
		}
		if r.target > 0 {
			target = fmt.Sprint(r.target)
		}
		fmt.Printf("| %s | %.3g | %s | %s | %s |\n", r.label, v, floor, ratio, target)
	}
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
