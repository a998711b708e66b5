package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// kernelNames lists the kernels of -method. The names gwg and hb may be followed by numbers.
var kernelNames = []string{
	"dmala", "dula", "gibbs", "chromatic", "metropolis", "gwg", "gwg-FLIPS", "hb", "hb-BLOCK-RADIUS", "lb", "paths", "dlmc",
	"dhams", "subgraph", "sw", "wolff", "houdayer", "tempering", "auto",
}

// kernel returns the named kernel, with the step size alpha if the kernel has one. The result
// steps reports whether it has.
func kernel(name string, alpha float64) (m sampler.Method, steps bool, err error) {
	parts := strings.Split(name, "-")
	var n []int
	for _, part := range parts[1:] {
		k, err := strconv.Atoi(part)
		if err != nil || k < 1 {
			return nil, false, fmt.Errorf("-method: %q, want numbers ≥ 1 after %q", name, parts[0])
		}
		n = append(n, k)
	}
	numbers := map[string]int{"gwg": 1, "hb": 2}[parts[0]]
	if len(n) != 0 && len(n) != numbers {
		return nil, false, fmt.Errorf("-method: %q has %d numbers, want %s", name, len(n), strings.Join(kernelNames, ", "))
	}
	n = append(n, make([]int, 2)...)
	switch parts[0] {
	case "dmala":
		return mcmc.DMALA{StepSize: alpha}, true, nil
	case "dula":
		return mcmc.DULA{StepSize: alpha}, true, nil
	case "dlmc":
		return mcmc.DLMC{StepSize: alpha}, true, nil
	case "gibbs":
		m = mcmc.Gibbs{}
	case "chromatic":
		m = mcmc.Gibbs{Scan: mcmc.Chromatic}
	case "metropolis":
		m = mcmc.Metropolis{}
	case "gwg":
		m = mcmc.GWG{Flips: n[0]}
	case "hb":
		m = mcmc.HammingBall{Block: n[0], Radius: n[1]}
	case "lb":
		m = mcmc.LocallyBalanced{}
	case "paths":
		m = mcmc.Paths{}
	case "dhams":
		m = momentum.DHAMS{}
	case "subgraph":
		m = mcmc.Subgraph{}
	case "sw":
		m = cluster.SwendsenWang{}
	case "wolff":
		m = cluster.Wolff{}
	case "houdayer":
		m = cluster.Houdayer{}
	case "tempering":
		m = mcmc.Tempering{}
	case "auto":
		m = auto.Method{}
	default:
		return nil, false, fmt.Errorf("-method: no kernel %q; there are %s", name, strings.Join(kernelNames, ", "))
	}
	return m, false, nil
}

// choose parses -method into o.kernels and returns the names of the kernels.
func (o *options) choose() (names []string, err error) {
	steps := false
	o.kernels = map[string]sampler.Method{}
	for name := range strings.SplitSeq(o.methods, ",") {
		name = strings.TrimSpace(name)
		m, has, err := kernel(name, o.alpha)
		if err != nil {
			return nil, err
		}
		if o.kernels[name] != nil {
			return nil, fmt.Errorf("-method: %q twice", name)
		}
		names, o.kernels[name] = append(names, name), m
		steps = steps || has
	}
	if o.alpha != 0 && !steps {
		return nil, fmt.Errorf("-alpha = %v without dmala, dula or dlmc, which have a step size", o.alpha)
	}
	return names, nil
}
