package read

import (
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy/model"
)

// QBSolv reads a QUBO from a .qubo file of D-Wave's qbsolv:
//
//	p qubo topology maxNodes nNodes nCouplers
//	i i w     (nNodes lines)
//	i j w     (nCouplers lines, i < j)
//
// The energy is E(x) = Σ_i w_ii x_i + Σ_{i<j} w_ij x_i x_j with x_i ∈ {0, 1}. The model has
// maxNodes sites; a site without entries has no effect on the energy. The topology has no effect;
// it is usually 0 or unconstrained. Lines that start with c, # or % are comments.
//
// Errors name the line, the column and what was expected. A repeated entry is an error. A file with
// more than 2²⁰ sites must have at least half as many entries as sites.
func QBSolv(r io.Reader) (*model.Quadratic, error) {
	q, err := qbsolv(r)
	if err != nil {
		return nil, err
	}
	return q.model()
}

func qbsolv(r io.Reader) (*quadratic, error) {
	l := newLines("QBSolv", r)
	l.comment = "c#%"
	if err := l.first("p qubo topology maxNodes nNodes nCouplers"); err != nil {
		return nil, err
	}
	if err := l.want(6, 6, "p qubo topology maxNodes nNodes nCouplers"); err != nil {
		return nil, err
	}
	if l.columns[0] != "p" || l.columns[1] != "qubo" {
		return nil, l.errorf("%s %s, want p qubo", brief(l.columns[0]), brief(l.columns[1]))
	}
	n, err := l.integer(3, "maxNodes", 1, math.MaxInt32-1)
	if err != nil {
		return nil, err
	}
	nodes, err := l.integer(4, "nNodes", 0, n)
	if err != nil {
		return nil, err
	}
	couplers, err := l.integer(5, "nCouplers", 0, math.MaxInt32/2)
	if err != nil {
		return nil, err
	}
	var linear, q []model.Edge // grow with the lines, not with what is announced
	seen := map[[2]int]bool{}
	for {
		ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		e, err := l.qbsolvEntry(n)
		if err != nil {
			return nil, err
		}
		if seen[[2]int{e.I, e.J}] {
			return nil, l.errorf("the entry %d %d a second time", e.I, e.J)
		}
		seen[[2]int{e.I, e.J}] = true
		if e.I == e.J {
			linear = append(linear, e)
		} else {
			q = append(q, e)
		}
	}
	if len(linear) != nodes || len(q) != couplers {
		return nil, l.failf("%d nodes and %d couplers, want nNodes = %d and nCouplers = %d", len(linear), len(q), nodes, couplers)
	}
	if err := checkSites("QBSolv", n, len(seen)); err != nil {
		return nil, err
	}
	p := model.Polynomial{Linear: make([]float64, n)}
	for _, e := range linear {
		p.Linear[e.I] = e.W
	}
	return &quadratic{q, p, nil}, nil
}

// qbsolvEntry parses the current line as an entry of a matrix with n rows.
func (l *lines) qbsolvEntry(n int) (e model.Edge, err error) {
	if err = l.want(3, 3, "i j w"); err != nil {
		return e, err
	}
	if e.I, err = l.integer(0, "i", 0, n-1); err != nil {
		return e, err
	}
	if e.J, err = l.integer(1, "j", e.I, n-1); err != nil {
		return e, err
	}
	e.W, err = l.real(2, "w")
	return e, err
}
