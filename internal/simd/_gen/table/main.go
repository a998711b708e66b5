// Command table measures kernels, methods and networks. It prints their times next to lower limits
// (floors) and, if a Python interpreter has PyTorch, next to the times of PyTorch.
//
//	go -C internal/simd/_gen run ./table [-backend avx512] [-count 10] [-for 5ms] [-python python3] [-only REGEXP]
//
// Each time is the smallest processor time of several short runs on one thread. Runs of gibbsite
// and of PyTorch alternate, so that a busy machine spoils few of them. A time includes the random
// numbers that a kernel uses. Floors are the limits set by the instructions or the memory of an
// AVX-512 core at 4.45 GHz, measured by loops in C. The command measures the clock of its core in
// the same session and scales the floors to it. The floor of a matrix product is the measured rate
// of fused multiply-adds.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"time"
)

func main() {
	log.SetFlags(0)
	backend := flag.String("backend", "avx512", "purego, avx2 or avx512")
	count := flag.Int("count", 10, "runs of each benchmark")
	span := flag.String("for", "5ms", "time of each run of a kernel")
	python := flag.String("python", "", "`interpreter` that has PyTorch; empty: without PyTorch")
	only := flag.String("only", "", "`regexp` of the rows to measure; empty: all")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		log.Fatalf("-only: %v", err)
	}
	var other *peer
	if *python != "" {
		if other, err = startPeer(*python); err != nil {
			log.Fatalf("-python: %v", err)
		}
	}
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	m := meter{dir: dir, backend: *backend, span: *span, built: map[string]string{}, best: map[string]float64{}, others: map[string]float64{}}
	least := map[string]figures{}
	clock, most := gigahertz(), peak(*backend)
	for _, r := range rows {
		if !chosen.MatchString(r.label) {
			continue
		}
		for range *count {
			clock, most = max(clock, gigahertz()), max(most, peak(*backend))
			if err := m.measure(r, other); err != nil {
				os.RemoveAll(dir)
				log.Fatal(err)
			}
		}
		least[r.label] = figures{m.best[m.key(r)], r.convert(m.others[r.peer])}
	}
	print(least, clock, most, *backend, other)
}

// figures holds the measurements of a row: times of gibbsite and of the peer.
type figures struct{ ours, peers float64 }

// print prints the table of the smallest times.
func print(least map[string]figures, clock, most float64, backend string, other *peer) {
	fmt.Printf("| %s at %.2f GHz", backend, clock)
	if most > 0 {
		fmt.Printf(", %.0f GFLOP/s", most)
	}
	fmt.Print("; ns per element unless stated | measured | floor | ratio | target |")
	if other != nil {
		fmt.Printf(" %s | times as fast |", other.version)
	}
	fmt.Print("\n|---|---|---|---|---|")
	if other != nil {
		fmt.Print("---|---|")
	}
	fmt.Println()
	for _, r := range rows {
		v, ok := least[r.label]
		if !ok {
			continue
		}
		floor, ratio, target := "–", "–", "–"
		switch {
		case r.floor == fma && most > 0:
			floor, ratio = fmt.Sprintf("%.3g", most), fmt.Sprintf("%.2f", v.ours/most)
		case r.floor > 0:
			at := r.floor * reference / clock
			floor, ratio = fmt.Sprintf("%.3g", at), fmt.Sprintf("%.2f", v.ours/at)
		}
		if r.target > 0 {
			target = fmt.Sprintf("%.3g", r.target*reference/clock)
		}
		fmt.Printf("| %s | %.3g | %s | %s | %s |", r.label, v.ours, floor, ratio, target)
		switch {
		case other == nil:
		case r.peer == "":
			fmt.Print(" – | – |")
		case r.unit == "GFLOP/s":
			fmt.Printf(" %.3g | %.2f |", v.peers, v.ours/v.peers)
		default:
			fmt.Printf(" %.3g | %.2f |", v.peers, v.peers/v.ours)
		}
		fmt.Println()
	}
}

// gigahertz measures the clock frequency in GHz. A product of integers that depends on the previous
// one takes three cycles on every x86-64 processor with AVX2.
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
	if x == 0 { // x is odd, so this never happens
		log.Fatal("a product of odd numbers is even")
	}
	return clock
}
