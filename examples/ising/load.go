package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
)

// problem is a model to sample and what is known of it.
type problem struct {
	name    string
	model   energy.Model
	lattice model.Lattice // nil unless the model lives on one
	graph   *model.Graph  // nil unless the energy is minus the cut of one
}

func load(o options) (*problem, error) {
	p, err := loadModel(o)
	if err != nil {
		return nil, err
	}
	if !o.anneal {
		if p.model, err = energy.Scale(p.model, o.beta); err != nil {
			return nil, fmt.Errorf("-beta: %w", err)
		}
	}
	return p, nil
}

func loadModel(o options) (*problem, error) {
	if o.graph == "" {
		return torus(o)
	}
	text, err := os.ReadFile(o.graph)
	if err != nil {
		return nil, err
	}
	format := o.format
	if format == "auto" {
		format = detect(text)
	}
	switch format {
	case "rudy":
		return cutProblem(o.graph, text)
	case "bits", "spins":
		m, err := read.COO(bytes.NewReader(text), read.COOConfig{Spins: format == "spins"})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.graph, err)
		}
		return &problem{name: o.graph, model: m}, nil
	}
	return nil, fmt.Errorf("-format = %q, want auto, rudy, bits or spins", o.format)
}

// detect tells a rudy file, whose first line holds two numbers, from a list of
// coefficients, whose lines hold three or whose header begins with a word.
func detect(text []byte) string {
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() {
		fields := strings.Fields(s.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") || strings.HasPrefix(fields[0], "%") {
			continue
		}
		if _, err := strconv.Atoi(fields[0]); err == nil && len(fields) == 2 {
			return "rudy"
		}
		return "bits" // a header in the file may still say spins
	}
	return "rudy"
}

func cutProblem(name string, text []byte) (*problem, error) {
	g, err := read.Rudy(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	m, err := model.MaxCut(g)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &problem{name: name, model: m, graph: g}, nil
}

func torus(o options) (*problem, error) {
	var sides model.Lattice
	for _, s := range strings.Split(o.lattice, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return nil, fmt.Errorf("-lattice = %q, want sides such as 5,5: %w", o.lattice, err)
		}
		sides = append(sides, n)
	}
	m, err := model.NewIsing(sides, 2*o.a, o.b)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("periodic lattice %v, a = %v, b = %v", []int(sides), o.a, o.b)
	return &problem{name: name, model: m, lattice: sides}, nil
}
