package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// example is a run of an example whose page the gallery shows.
type example struct {
	Name    string
	Args    string // that make it short
	Text    string
	Picture string // the first of its page
}

// gallery are runs of a second or two.
var gallery = []example{
	{Name: "ising", Args: "-steps 2000", Text: "Four kernels on the Ising model, next to the exact sum over all states."},
	{Name: "partition", Args: "", Text: "A graph cut into two communities of exactly given sizes."},
	{Name: "bayes", Args: "-steps 500 -chains 8", Text: "Binary weights of a Bayesian network, given data."},
	{Name: "fit", Args: "-n 500", Text: "Couplings of a lattice, learned from its samples."},
	{Name: "infill", Args: "-n 50", Text: "Dates, licence plates and bank accounts, completed where characters are missing."},
	{Name: "codons", Args: "-designs 5 -trials 2000", Text: "DNA that encodes a protein and obeys a laboratory's rules."},
	{Name: "sequences", Args: "-atoms 4 -n 50 -order 2", Text: "Strings of small molecules, novel ones among them."},
	{Name: "fairness", Args: "-steps 300", Text: "Rosters of nurses that are fair on average."},
	{Name: "portfolio", Args: "", Text: "Portfolios in which no asset takes too large a part of the risk."},
	{Name: "power", Args: "", Text: "Transmitters that share power, each user with a least rate."},
	{Name: "series", Args: "-method cps,cop-ft -heldout 10 -steps 20", Text: "Real-valued series within limits."},
	{Name: "unlearn", Args: "", Text: "Distributions moved away from a part of themselves."},
}

// buildGallery runs the examples and lists their pages.
func buildGallery(ctx context.Context, dir string) error {
	root, err := filepath.Abs(filepath.Join(dir, "gallery"))
	if err != nil {
		return err
	}
	list, errs := slices.Clone(gallery), make([]error, len(gallery))
	var wait sync.WaitGroup
	two := make(chan struct{}, 2)
	for i := range list {
		two <- struct{}{}
		wait.Go(func() {
			errs[i] = list[i].make(ctx, root)
			<-two
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	body, err := fill("gallery.html", list)
	if err != nil {
		return err
	}
	return page{File: "gallery/index.html", Title: "Gallery", Body: body, Description: "The pages that the examples of gibbsite write."}.write(dir)
}

func (e *example) make(ctx context.Context, root string) error {
	dir := filepath.Join(root, e.Name)
	args := append([]string{"run", "./" + e.Name, "-out", dir}, strings.Fields(e.Args)...)
	if _, err := run(ctx, filepath.Join("..", "examples"), nil, args...); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range entries {
		if filepath.Ext(f.Name()) == ".svg" {
			e.Picture = f.Name()
			return nil
		}
	}
	return fmt.Errorf("gallery: %s wrote no picture", e.Name)
}
