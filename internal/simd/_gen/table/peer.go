package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

//go:embed peers.py
var peers string

// peer is a PyTorch that waits for what to time.
type peer struct {
	version string
	ask     io.Writer
	answer  *bufio.Scanner
}

// startPeer starts the interpreter. The error says that it does not run, or has no torch.
func startPeer(python string) (*peer, error) {
	c := exec.Command(python, "-c", peers)
	c.Stderr = os.Stderr
	for _, v := range os.Environ() { // OpenBLAS is to take what is fastest here
		if !strings.HasPrefix(v, "OPENBLAS_") {
			c.Env = append(c.Env, v)
		}
	}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &peer{ask: in, answer: bufio.NewScanner(out)}
	if !p.answer.Scan() {
		return nil, fmt.Errorf("%s: %w, want a Python that has torch", python, c.Wait())
	}
	p.version = p.answer.Text()
	return p, nil
}

// time returns the least processor time of a call in nanoseconds, of a window of that
// many seconds.
func (p *peer) time(name string, seconds float64) (float64, error) {
	if _, err := fmt.Fprintf(p.ask, "%s %g\n", name, seconds); err != nil {
		return 0, err
	}
	if !p.answer.Scan() {
		return 0, fmt.Errorf("%s: PyTorch has ended", name)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(p.answer.Text()), 64)
	if err != nil {
		return 0, fmt.Errorf("%s: PyTorch says %s", name, p.answer.Text())
	}
	return v, nil
}
