// Codons designs DNA that encodes a given protein under hard constraints:
//
//   - bounds on the GC content of the whole sequence and of windows;
//   - restriction sites that must or must not occur, on either strand;
//   - no long homopolymers and no repeats;
//   - codons that must not change.
//
// Constraints on words also apply where the gene meets its flanking sequences. One compiled
// constraint yields exact samples, in which codons have the frequencies of a genome, possibly
// adapted to another organism. It also yields the most probable design, and the probability that
// an unconstrained design satisfies all constraints.
//
//	go -C examples run ./codons
//	go -C examples run ./codons -protein insulin.fasta -gc 0.5,0.6 -json
//	go -C examples run ./codons -genbank plasmid.gb -gene lacZ -keep 1-10 -require GGATCC=1 -out out
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	protein, dna, genbank, gene string
	flank                       int // number of bases of a record to include on each side
	before, after               string
	usage, source               string
	strength                    float64
	code                        *code
	low, high                   float64 // bounds on the GC content
	windows                     *window
	avoid                       []string
	require                     []required
	run                         int // maximum homopolymer length; 0 for no limit
	unique                      int // length of words that may not repeat; 0 for no limit
	keep                        string
	designs, trials             int
	seed                        uint64
}

// sites lists restriction sites that are often reserved for cloning: EcoRI, BamHI, XhoI, NotI
// and BsaI.
const sites = "GAATTC,GGATCC,CTCGAG,GCGGCCGC,GGTCTC"

func parse(args []string) (options, error) {
	var o options
	var gc, windows, avoid, require string
	var table int
	f := flag.NewFlagSet("codons", flag.ContinueOnError)
	f.StringVar(&o.protein, "protein", "", "read the protein from this FASTA `file`; the default is green fluorescent protein")
	f.StringVar(&o.dna, "dna", "", "read a coding sequence from this FASTA `file` instead of a protein")
	f.StringVar(&o.genbank, "genbank", "", "read a coding sequence (CDS) and its flanks from this GenBank `file` instead of a protein")
	f.StringVar(&o.gene, "gene", "", "the CDS of -genbank, by its /gene, /locus_tag, /protein_id or /product; needed if there are several")
	f.IntVar(&o.flank, "flank", 30, "bases on each side of the CDS of -genbank that count for sites, windows and repeats, 0 … 1000")
	f.StringVar(&o.before, "before", "", "`bases` before the design; by default those of -genbank")
	f.StringVar(&o.after, "after", "", "`bases` after the design; by default those of -genbank")
	f.IntVar(&table, "code", 11, "genetic code of the design, as the number of an NCBI translation table; a -genbank file states its own, -dna is read with this one")
	f.StringVar(&o.usage, "usage", "", "read codon usage from this `file`: codons followed by numbers, as the Codon Usage Database prints them; the default is E. coli K-12")
	f.StringVar(&o.source, "harmonise", "", "choose codons as rare in the host as those of -genbank or -dna are in the organism of this usage `file`, instead of the common ones")
	f.Float64Var(&o.strength, "strength", 20, "with -harmonise, the cost in nats of a relative adaptiveness that is off by 1")
	f.StringVar(&gc, "gc", "0.45,0.55", "lowest and highest GC content of the design, `low,high`; with -windows the default is 0,1, which allows any")
	f.StringVar(&windows, "windows", "", "lowest and highest GC content of every window of this many bases, `size,low,high` or size,low,high,step: windows begin at multiples of step, by default at every base")
	f.StringVar(&avoid, "avoid", sites, "`sites` that occur on neither strand; an IUPAC letter may stand for several bases; the default omits sites of -require")
	f.StringVar(&require, "require", "", "`sites` that must occur on one of the strands, any number of times, or exactly this often: GGATCC=1")
	f.StringVar(&o.keep, "keep", "", "`codons` to keep as they are in -genbank or -dna, or to set: 1-10,25=CTG")
	f.IntVar(&o.run, "homopolymer", 5, "longest run of one base; 0 for any")
	f.IntVar(&o.unique, "unique", 0, "no sequence of this many bases occurs twice on the same strand, 2 … 1000; 0 allows any repeat")
	f.IntVar(&o.designs, "designs", 100, "number of designs")
	f.IntVar(&o.trials, "trials", 20000, "number of designs drawn without constraints, to be accepted or rejected")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Define(f, "designs.fasta and designs.gb")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	}
	given := map[string]bool{}
	f.Visit(func(option *flag.Flag) { given[option.Name] = true })
	if windows != "" && !given["gc"] {
		gc = "0,1" // the windows say it
	}
	if err := o.check(table); err != nil {
		return o, err
	}
	return o, o.scan(gc, windows, avoid, require, !given["avoid"])
}

// check returns an error if an option is out of range or options do not fit together.
func (o *options) check(table int) error {
	inputs := 0
	for _, file := range []string{o.protein, o.dna, o.genbank} {
		if file != "" {
			inputs++
		}
	}
	switch {
	case inputs > 1:
		return fmt.Errorf("-protein = %q, -dna = %q, -genbank = %q, want one of them", o.protein, o.dna, o.genbank)
	case o.gene != "" && o.genbank == "":
		return fmt.Errorf("-gene = %q needs -genbank", o.gene)
	case o.source != "" && o.genbank == "" && o.dna == "":
		return fmt.Errorf("-harmonise = %q needs -genbank or -dna, whose rare codons it keeps rare", o.source)
	case o.flank < 0 || o.flank > 1000:
		return fmt.Errorf("-flank = %d, want 0 … 1000", o.flank)
	case !(o.strength > 0 && o.strength <= 1000):
		return fmt.Errorf("-strength = %v, want more than 0 and at most 1000", o.strength)
	case o.run < 0:
		return fmt.Errorf("-homopolymer = %d, want ≥ 1, or 0 for any", o.run)
	case o.unique != 0 && (o.unique < 2 || o.unique > 1000):
		return fmt.Errorf("-unique = %d, want 2 … 1000, or 0 for any repeats", o.unique)
	case o.designs < 1:
		return fmt.Errorf("-designs = %d, want ≥ 1", o.designs)
	case o.trials < 1:
		return fmt.Errorf("-trials = %d, want ≥ 1", o.trials)
	}
	c, err := newCode(table)
	if err != nil {
		return fmt.Errorf("-code: %w", err)
	}
	o.code = c
	return nil
}

func run(ctx context.Context, o options) (*report, error) {
	g, err := load(o)
	if err != nil {
		return nil, err
	}
	u := coli
	if o.usage != "" {
		if u, err = readUsage(o.usage, o.code); err != nil {
			return nil, err
		}
	}
	var source usage
	if o.source != "" {
		if source, err = readUsage(o.source, g.code); err != nil {
			return nil, err
		}
	}
	t, err := newTask(ctx, o, g, u, source)
	if err != nil {
		return nil, err
	}
	return t.design(ctx)
}

func main() {
	command.Main("codons", parse, run)
}
