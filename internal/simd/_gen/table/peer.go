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

// peers is the Python program that times PyTorch.
//
//go:embed peers.py
var peers string

// peer is a Python process with PyTorch that times operations on request.
type peer struct {
	version string
	ask     io.Writer
	answer  *bufio.Scanner
}

// startPeer starts the Python interpreter. It returns an error if that fails or torch is not
// installed.
func startPeer(python string) (*peer, error) {
	c := exec.Command(python, "-c", peers)
	c.Stderr = os.Stderr
	for _, v := range os.Environ() { // OpenBLAS chooses the fastest kernel by itself
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

// time returns the smallest processor time of one call of an operation, in nanoseconds, measured
// for the given number of seconds.
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
