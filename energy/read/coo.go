package read

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
)

// COOConfig holds the settings of [COO]. The zero value reads a QUBO whose largest index determines
// the number of sites.
type COOConfig struct {
	Sites int  // minimum number of sites; a site without entries has no effect on the energy
	Spins bool // whether variables are spins ±1, not bits; a file header can also select spins
}

// COO reads a quadratic energy from lines of coefficients
//
//	i j w
//
// where i and j are sites, numbered from 0. The energy is a QUBO or, for spins, an Ising model. The
// coefficients keep their signs:
//
//	E(x) = Σ_{i≠j} w_ij x_i x_j + Σ_i w_ii x_i,  x_i ∈ {0, 1}, or
//	E(s) = Σ_{i≠j} w_ij s_i s_j + Σ_i w_ii s_i,  s_i ∈ {−1, 1}.
//
// Entries on the diagonal are linear. The sums are over the lines, so entries for the same pair, in
// either order, are added.
//
// A line "bits" or "spins" before the entries selects one of the two energies. The word may be
// followed by the number of sites. The comments "# vartype=BINARY" and "# vartype=SPIN" of dimod
// also select the energy. Blank lines and other lines that start with # or % are skipped.
//
// Errors name the line, the column and what was expected. A file with more than 2²⁰ sites must have
// at least half as many entries as sites.
func COO(r io.Reader, c COOConfig) (*model.Quadratic, error) {
	q, err := coo(r, c)
	if err != nil {
		return nil, err
	}
	return q.model()
}

func coo(r io.Reader, c COOConfig) (*quadratic, error) {
	if c.Sites < 0 || c.Sites > math.MaxInt32-1 {
		return nil, fmt.Errorf("read: COO: Sites = %d, want 0 … %d", c.Sites, math.MaxInt32-1)
	}
	l := newLines("COO", r)
	entries := false
	l.vartype = func(value string) error {
		kind := map[string]string{"BINARY": "bits", "SPIN": "spins"}[strings.ToUpper(value)]
		switch {
		case kind == "":
			return l.errorf("vartype = %s, want BINARY or SPIN", value)
		case entries:
			return l.errorf("vartype = %s after the first entry, want it before", value)
		}
		return l.cooSpins(&c, kind)
	}
	var q []model.Edge
	var diagonal []model.Edge
	least, asked := c.Sites, 0 // a size given by the caller is trusted, one in the file is not
	for first := true; ; first = false {
		ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if word := l.columns[0]; first && (word == "bits" || word == "spins") {
			if asked, err = l.cooHeader(&c); err != nil {
				return nil, err
			}
			continue
		}
		e, err := l.cooEntry()
		if err != nil {
			return nil, err
		}
		entries = true
		asked = max(asked, e.I+1, e.J+1)
		if e.I == e.J {
			diagonal = append(diagonal, e)
		} else {
			q = append(q, e)
		}
	}
	if asked > least {
		if err := checkSites("COO", asked, len(q)+len(diagonal)); err != nil {
			return nil, err
		}
	}
	n := max(asked, least)
	if n == 0 {
		return nil, fmt.Errorf("read: COO: no entries and no number of sites, want ≥ 1 site")
	}
	p := model.Polynomial{Linear: make([]float64, n)}
	for _, e := range diagonal {
		p.Linear[e.I] += e.W
	}
	if c.Spins {
		p.Values = []float32{-1, 1}
	}
	return &quadratic{q, p, nil}, nil
}

// cooHeader parses the current line as a header and returns its number of sites.
func (l *lines) cooHeader(c *COOConfig) (sites int, err error) {
	if err := l.want(1, 2, "bits or spins and at most a number of sites"); err != nil {
		return 0, err
	}
	if err := l.cooSpins(c, l.columns[0]); err != nil {
		return 0, err
	}
	if len(l.columns) == 2 {
		return l.integer(1, "sites", 1, math.MaxInt32-1)
	}
	return 0, nil
}

// cooSpins selects bits or spins according to kind. It returns an error if c already selects spins
// and kind is not "spins".
func (l *lines) cooSpins(c *COOConfig, kind string) error {
	if c.Spins && kind != "spins" {
		return l.errorf("column 1: %s, but spins were selected before", kind)
	}
	c.Spins = kind == "spins"
	return nil
}

// cooEntry parses the current line as an entry.
func (l *lines) cooEntry() (e model.Edge, err error) {
	if err = l.want(3, 3, "i j w"); err != nil {
		return e, err
	}
	if e.I, err = l.integer(0, "i", 0, math.MaxInt32-2); err != nil {
		return e, err
	}
	if e.J, err = l.integer(1, "j", 0, math.MaxInt32-2); err != nil {
		return e, err
	}
	e.W, err = l.real(2, "w")
	return e, err
}
