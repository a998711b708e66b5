package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var line = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// meter runs benchmarks and stores the best result of each.
type meter struct {
	dir, backend, span string
	built              map[string]string  // path of the test binary of each package
	best               map[string]float64 // best result of each benchmark
	// Time of a call in nanoseconds for each operation of the peer.
	others map[string]float64
}

// key returns the name of a row's benchmark, with the backend if it runs on each backend.
func (m *meter) key(r row) string {
	if r.dir == "" {
		return r.bench + "/" + m.backend
	}
	return r.bench
}

// measure runs the benchmark of a row, and that of the peer, once.
func (m *meter) measure(r row, other *peer) error {
	bin, err := m.build(r.dir)
	if err != nil {
		return err
	}
	span, window := m.span, 0.02
	switch r.dir {
	case ".":
		span, window = "20x", 0.1
	case "energy/neural":
		span, window = "3x", 0.6
	}
	pattern := "^Benchmark" + strings.ReplaceAll(m.key(r), "/", "$/^") + "$"
	c := exec.Command(bin, "-test.run", "^$", "-test.v", "-test.cpu", "1", "-test.bench", pattern, "-test.benchtime", span)
	c.Env = append(os.Environ(), "GIBBSITE_SIMD="+m.backend)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", r.label, err, out)
	}
	if !m.collect(out, m.key(r), r.unit) {
		return fmt.Errorf("%s: no figure of benchmark %s", r.label, m.key(r))
	}
	if other == nil || r.peer == "" {
		return nil
	}
	ns, err := other.time(r.peer, window)
	if err != nil {
		return err
	}
	if old, seen := m.others[r.peer]; !seen || ns < old {
		m.others[r.peer] = ns
	}
	return nil
}

// build compiles the tests of a package, once, and returns the path of the binary.
func (m *meter) build(dir string) (string, error) {
	if bin, ok := m.built[dir]; ok {
		return bin, nil
	}
	root := filepath.Join("..", "..", "..")
	bin, err := filepath.Abs(filepath.Join(m.dir, strconv.Itoa(len(m.built))+".test"))
	if err != nil {
		return "", err
	}
	c := exec.Command("go", "test", "-c", "-o", bin, ".")
	if c.Dir = filepath.Join(root, dir); dir == "" {
		c.Dir = filepath.Join(root, "internal", "simd")
	}
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", dir, err, out)
	}
	m.built[dir] = bin
	return bin, nil
}

// collect reads the result of a benchmark from out and stores the smallest time, or the largest
// rate. It reports whether there is a result.
func (m *meter) collect(out []byte, name, unit string) bool {
	if unit == "" {
		unit = "ns/elem"
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		found := line.FindStringSubmatch(s.Text())
		if found == nil || found[1] != name {
			continue
		}
		f := strings.Fields(found[2])
		for i := 0; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil || f[i+1] != unit {
				continue
			}
			if old, seen := m.best[name]; !seen || v < old != (unit == "GFLOP/s") {
				m.best[name] = v
			}
			return true
		}
	}
	return false
}
