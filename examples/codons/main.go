// Codons designs DNA that encodes a given protein and satisfies hard
// constraints together: the exact protein, a window for the GC content, no
// restriction site on either strand and no long homopolymer. One compiled
// constraint gives exact samples under codon usage, the likeliest design and the
// probability that a design drawn without constraints would do.
//
//	go -C examples run ./codons
//	go -C examples run ./codons -protein insulin.fasta -gc 0.5,0.6 -json
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options are the command line.
type options struct {
	command.Output

	protein, usage  string
	low, high       float64 // GC content
	avoid           []string
	run             int // longest homopolymer; 0 for any
	designs, trials int
	seed            uint64
}

// sites are restriction sites that cloning likes to keep for itself: EcoRI,
// BamHI, XhoI, NotI and BsaI.
const sites = "GAATTC,GGATCC,CTCGAG,GCGGCCGC,GGTCTC"

func parse(args []string) (options, error) {
	var o options
	var gc, avoid string
	f := flag.NewFlagSet("codons", flag.ContinueOnError)
	f.StringVar(&o.protein, "protein", "", "read the protein from this FASTA `file`; the default is green fluorescent protein")
	f.StringVar(&o.usage, "usage", "", "read codon usage from this `file`: codons followed by numbers, as the Codon Usage Database prints them; the default is E. coli K-12")
	f.StringVar(&gc, "gc", "0.45,0.55", "lowest and highest GC content, `low,high`")
	f.StringVar(&avoid, "avoid", sites, "`sites` that occur on neither strand; IUPAC letters stand for several bases")
	f.IntVar(&o.run, "homopolymer", 5, "longest run of one base; 0 for any")
	f.IntVar(&o.designs, "designs", 100, "number of designs")
	f.IntVar(&o.trials, "trials", 20000, "number of designs drawn without constraints, to be accepted or rejected")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Define(f, "designs.fasta")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	}
	var err error
	if o.low, o.high, err = window(gc); err != nil {
		return o, err
	}
	if o.avoid, err = patterns(avoid); err != nil {
		return o, err
	}
	switch {
	case o.run < 0:
		return o, fmt.Errorf("-homopolymer = %d, want ≥ 1, or 0 for any", o.run)
	case o.designs < 1:
		return o, fmt.Errorf("-designs = %d, want ≥ 1", o.designs)
	case o.trials < 1:
		return o, fmt.Errorf("-trials = %d, want ≥ 1", o.trials)
	}
	return o, nil
}

func window(s string) (low, high float64, err error) {
	a, b, two := strings.Cut(s, ",")
	low, errA := strconv.ParseFloat(strings.TrimSpace(a), 64)
	high, errB := strconv.ParseFloat(strings.TrimSpace(b), 64)
	if !two || errA != nil || errB != nil || !(0 <= low && low <= high && high <= 1) || math.IsNaN(low+high) {
		return 0, 0, fmt.Errorf("-gc = %q, want two numbers such as 0.45,0.55 with 0 ≤ low ≤ high ≤ 1", s)
	}
	return low, high, nil
}

// patterns splits a list of sites and checks their letters.
func patterns(list string) ([]string, error) {
	var all []string
	for _, s := range strings.Split(list, ",") {
		if s = strings.ToUpper(strings.TrimSpace(s)); s == "" {
			continue
		}
		for _, c := range s {
			if _, ok := iupac[c]; !ok {
				return nil, fmt.Errorf("-avoid: %q in the site %s is no IUPAC letter of a base", c, s)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

func run(ctx context.Context, o options) (*report, error) {
	p := gfp
	if o.protein != "" {
		var err error
		if p, err = readProtein(o.protein); err != nil {
			return nil, err
		}
	}
	u := coli
	if o.usage != "" {
		var err error
		if u, err = readUsage(o.usage); err != nil {
			return nil, err
		}
	}
	return design(ctx, o, p, u)
}

func main() {
	command.Main("codons", parse, run)
}
