package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// example is a run of an example program. The gallery shows its page.
type example struct {
	Name        string
	Args        string // command-line arguments that make the run short
	Text        string
	File, Input string // path below gallery and content of an input file; "" for none
	Picture     string // first picture of the page; "" for none
}

// gallery lists a run of a few seconds for every example except canvas, which needs the weights
// of a published network.
var gallery = []example{
	{Name: "ising", Args: "-steps 2000", Text: "Four kernels on the Ising model, next to the exact sum over all states."},
	{Name: "partition", Args: "", Text: "A graph cut into two communities of exactly given sizes."},
	{Name: "bayes", Args: "-steps 500 -chains 8", Text: "Binary weights of a Bayesian network, given data."},
	{Name: "fit", Args: "-n 500 -seconds 20", Text: "Couplings of a lattice, learned from its samples."},
	{Name: "infill", Args: "-n 50", Text: "Dates, licence plates and bank accounts, completed where characters are missing."},
	{Name: "codons", Args: "-designs 5 -trials 2000", Text: "DNA that encodes a protein and obeys a laboratory's rules."},
	{Name: "sequences", Args: "-atoms 4 -n 50 -order 2", Text: "Strings of small molecules, novel ones among them."},
	{Name: "fairness", Args: "-steps 300", Text: "Rosters of nurses that are fair on average."},
	{Name: "portfolio", Args: "", Text: "Portfolios in which no asset takes too large a part of the risk."},
	{Name: "power", Args: "", Text: "Transmitters that share power, each user with a least rate."},
	{Name: "series", Args: "-method cps,cop-ft -heldout 10 -steps 20", Text: "Real-valued series within limits."},
	{Name: "unlearn", Args: "", Text: "Distributions moved away from a part of themselves."},
	{Name: "json", Args: "-compact -n 12 -steps 2", Text: "JSON that a schema describes."},
	{Name: "molecules", Args: "-n 50 -run syntax,count", Text: "Molecules written by a trained network, under rules."},
	{Name: "text", Args: "-steps 100", Text: "Lines of a log, learned byte by byte and written under a pattern or a schema."},
	{
		Name: "exact", Args: "-model exact/sprinkler.uai -query mar", Text: "The partition function and marginals of a graphical model.", File: "exact/sprinkler.uai",
		Input: "BAYES\n3\n2 2 2\n3\n1 0\n2 0 1\n3 0 1 2\n2\n0.8 0.2\n4\n0.6 0.4\n0.99 0.01\n8\n1 0\n0.1 0.9\n0.2 0.8\n0.01 0.99\n",
	},
	{
		Name: "problem", Args: "-file problem/knapsack.lp -n 3", Text: "A file of an optimiser, solved exactly.", File: "problem/knapsack.lp",
		Input: "Maximize\n value: 8 tent + 11 stove + 6 rope + 4 book\nSubject To\n weight: 5 tent + 7 stove + 4 rope + 3 book <= 14\nBinary\n tent stove rope book\nEnd\n",
	},
	{Name: "serve", Args: "-load 50", Text: "A server of texts that a schema, a pattern or a grammar restricts, under load."},
	{Name: "scale", Args: "-side 4 -chains 320 -draws 400", Text: "Many short chains, as an array job would run them."},
}

// back leads from the page of an example to the site.
const back = `<body>
<nav aria-label="Site"><a href="../../index.html">gibbsite</a> › <a href="../index.html">Gallery</a></nav>`

// pictures are the files that a page links to.
var pictures = regexp.MustCompile(`href="([^"/]+\.svg)"`)

// buildGallery runs the examples and writes the list of their pages.
func buildGallery(ctx context.Context, dir string) error {
	root, err := filepath.Abs(filepath.Join(dir, "gallery"))
	if err != nil {
		return err
	}
	programs, err := os.MkdirTemp("", "gibbsite-examples")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	if _, err := run(ctx, filepath.Join("..", "examples"), nil, "build", "-o", programs, "./..."); err != nil {
		return err
	}
	list, errs := slices.Clone(gallery), make([]error, len(gallery))
	var wait sync.WaitGroup
	two := make(chan struct{}, 2)
	for i := range list {
		two <- struct{}{}
		wait.Go(func() {
			errs[i] = list[i].make(ctx, root, programs)
			<-two
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	body, err := fill("gallery.html", list)
	if err != nil {
		return err
	}
	return page{File: "gallery/index.html", Title: "Gallery", Body: body, Description: "The pages that the examples of gibbsite write."}.write(dir)
}

// make runs the example and writes its page to the folder root/e.Name. The working directory is
// root, so that the command shown on the page contains no local path.
func (e *example) make(ctx context.Context, root, programs string) error {
	dir := filepath.Join(root, e.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if e.File != "" {
		if err := write(root, e.File, []byte(e.Input)); err != nil {
			return err
		}
	}
	c := exec.CommandContext(ctx, filepath.Join(programs, e.Name), append([]string{"-out", e.Name}, strings.Fields(e.Args)...)...)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", e.Name, e.Args, err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		return err
	}
	if m := pictures.FindSubmatch(b); m != nil {
		e.Picture = string(m[1])
	}
	return write(dir, "index.html", bytes.Replace(b, []byte("<body>"), []byte(back), 1))
}
