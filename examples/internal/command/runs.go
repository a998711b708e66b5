package command

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
)

// Choose returns the names in a list separated by commas, the value of -run. One
// that is not among all is an error.
func Choose(list string, all []string) (map[string]bool, error) {
	chosen := make(map[string]bool)
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("-run: no run %q; there are %s", name, strings.Join(all, ", "))
		}
		chosen[name] = true
	}
	return chosen, nil
}

// Dump writes samples to a file, each on a line behind the name of its run and a
// tab.
func Dump(path string, samples iter.Seq2[string, string]) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for run, sample := range samples {
		fmt.Fprintf(w, "%s\t%s\n", run, sample)
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
