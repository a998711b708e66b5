package main

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/plot/vg"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// report is the program's output, printed as a table or as JSON.
type report struct {
	N       int       `json:"n"`
	Seed    uint64    `json:"seed"`
	Exact   string    `json:"exact"` // which distribution the completions follow
	Records []figures `json:"records"`

	picture.Album `json:"-"`
}

// figures holds the results for one record. Completions is the number of valid completions.
// LogProbability is the log-probability that random characters form one. Violations and
// Unconstrained count invalid records with the constraint and without it.
type figures struct {
	Format         string   `json:"format"`
	Record         string   `json:"record"`
	Blanks         int      `json:"blanks"`
	Completions    *big.Int `json:"completions"`
	LogProbability float64  `json:"log_probability"`
	N              int      `json:"n"`
	Unique         int      `json:"unique"`
	Violations     int      `json:"violations"`
	Unconstrained  int      `json:"violations_unconstrained"`
	Seconds        float64  `json:"seconds"`
	Samples        []string `json:"samples"`
}

// judge counts the invalid and the distinct completions and keeps the first few distinct ones.
func (f *figures) judge(filled []string, valid func(string) bool) {
	seen := make(map[string]bool)
	for _, s := range filled {
		if !valid(s) {
			f.Violations++
		}
		if !seen[s] && len(f.Samples) < few {
			f.Samples = append(f.Samples, s)
		}
		seen[s] = true
	}
	f.Unique = len(seen)
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d completions per record, seed %d; violations of %d with the constraint and without\n\n", r.N, r.Seed, r.N)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "format\trecord\tvalid completions\tunique\tviolations\twithout\tseconds")
	for _, f := range r.Records {
		fmt.Fprintf(w, "%s\t%s\t%v\t%d\t%d\t%d\t%.2f\n", f.Format, f.Record, f.Completions, f.Unique, f.Violations, f.Unconstrained, f.Seconds)
	}
	w.Flush()
	fmt.Fprintf(&b, "\n%s\n", r.Exact)
	for _, f := range r.Records {
		fmt.Fprintf(&b, "\n%s: %s", f.Record, strings.Join(f.Samples, " "))
	}
	fmt.Fprintln(&b)
	return b.String()
}

// draw plots the share of invalid completions with the constraint and without it.
func (r *report) draw() (*picture.Figure, error) {
	var places []string
	groups := []picture.Group{{Name: "with the constraint"}, {Name: "without"}}
	for _, f := range r.Records {
		places = append(places, f.Record)
		groups[0].Height = append(groups[0].Height, 100*float64(f.Violations)/float64(f.N))
		groups[1].Height = append(groups[1].Height, 100*float64(f.Unconstrained)/float64(f.N))
	}
	f, err := picture.Shares("violations", "Completions that are invalid", "% of completions", places, groups)
	f.Tilt()
	f.Height = 10 * vg.Centimeter
	f.Caption = "Judged by code that does not know the constraints."
	return f, err
}
