package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
)

// problem is a model to sample, with its lattice or graph if it has one.
type problem struct {
	name    string
	model   energy.Model
	lattice model.Lattice // lattice of the model; nil if there is none
	graph   *model.Graph  // graph whose cut is minus the energy; nil if there is none
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
		format = guess(o.graph, text)
	}
	p, err := parseModel(format, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.graph, err)
	}
	if _, levels := p.model.Shape(); levels != 2 && !o.anneal {
		return nil, fmt.Errorf("%s: %d levels, want 2 for the mean spin, or -anneal", o.graph, levels)
	}
	p.name = o.graph
	return p, nil
}

// parseModel reads a model in the given format.
func parseModel(format string, r io.Reader) (*problem, error) {
	var g *model.Graph
	var m energy.Model
	var err error
	switch format {
	case "rudy":
		g, err = read.Rudy(r)
	case "dimacs":
		g, err = read.DIMACS(r)
	case "bits", "spins":
		m, err = read.COO(r, read.COOConfig{Spins: format == "spins"})
	case "csv", "csv-spins":
		m, _, err = read.CSV(r, read.CSVConfig{Spins: format == "csv-spins"})
	case "qubo":
		m, err = read.QBSolv(r)
	case "bqm":
		m, _, err = read.BQM(r)
	case "bqpjson":
		m, _, err = read.BQPJSON(r)
	case "uai":
		m, err = read.UAI(r)
	default:
		err = fmt.Errorf("-format = %q, want auto, %s", format, formats)
	}
	if err == nil && g != nil {
		m, err = model.MaxCut(g)
	}
	if err != nil {
		return nil, err
	}
	return &problem{model: m, graph: g}, nil
}

const formats = "rudy, dimacs, bits, spins, csv, csv-spins, qubo, bqm, bqpjson or uai"

// guess returns the format of a file by its extension, or else by its text.
func guess(name string, text []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".qubo":
		return "qubo"
	case ".col", ".clq", ".dimacs":
		return "dimacs"
	case ".uai":
		return "uai"
	case ".csv":
		return "csv"
	case ".json":
		if bytes.Contains(text, []byte(`"variable_domain"`)) {
			return "bqpjson"
		}
		return "bqm"
	}
	return detect(text)
}

// detect distinguishes a rudy file from a list of coefficients. The first line of a rudy file
// holds two numbers. Lines of coefficients hold three numbers or begin with a header word.
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
