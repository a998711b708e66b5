package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// shift is one row of a roster: the number of nurses it needs and, per nurse, how unwelcome it
// is. The cost is +Inf for nurses who cannot come.
type shift struct {
	name  string
	night bool
	need  int
	cost  []float64
}

type roster struct {
	name   string
	nurses []string
	shifts []shift
}

// load reads a roster from the file at path, or generates one if path is "".
func load(path string, seed uint64) (*roster, error) {
	if path == "" {
		return week(seed), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := scan(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.name = path
	return r, nil
}

// week generates a week of day and night shifts for eight nurses. Some nurses are more willing
// than others, and all are unavailable now and then.
func week(seed uint64) *roster {
	r := &roster{name: "a week for eight nurses", nurses: strings.Fields("Ana Ben Cleo Dan Eva Finn Gül Hugo")}
	g := rand.New(rand.NewPCG(seed, 8))
	bias := make([]float64, len(r.nurses))
	for i := range bias {
		bias[i] = g.NormFloat64()
	}
	for _, day := range strings.Fields("Mon Tue Wed Thu Fri Sat Sun") {
		for k, part := range []string{"day", "night"} {
			s := shift{name: day + " " + part, night: k == 1, need: 5 - 2*k}
			for i := range r.nurses {
				c := math.Round(100*(bias[i]+0.7*g.NormFloat64())) / 100
				if g.Float64() < 0.08 {
					c = math.Inf(1)
				}
				s.cost = append(s.cost, c)
			}
			r.shifts = append(r.shifts, s)
		}
	}
	return r
}

// scan reads a table with the header shift,night,need and a column per nurse. Night is 0 or 1. A
// nurse's cell is a number, low for a welcome shift, or empty if the nurse cannot come.
func scan(in io.Reader) (*roster, error) {
	c := command.Table(in)
	head, err := c.Read()
	if err == io.EOF {
		return nil, fmt.Errorf("line 1: empty, want the header shift,night,need and names of nurses")
	}
	if err != nil {
		return nil, err // it names the line
	}
	if len(head) < 5 || head[0] != "shift" || head[1] != "night" || head[2] != "need" {
		return nil, fmt.Errorf("line 1: header %q, want shift,night,need and at least two nurses", strings.Join(head, ","))
	}
	r := &roster{nurses: head[3:]}
	for {
		row, err := c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := c.FieldPos(0)
		s := shift{name: row[0], night: row[1] == "1"}
		if row[1] != "0" && row[1] != "1" {
			return nil, fmt.Errorf("line %d: night = %q, want 0 or 1", line, row[1])
		}
		can := 0
		for i, cell := range row[3:] {
			v := math.Inf(1)
			if cell != "" {
				if v, err = strconv.ParseFloat(cell, 64); err != nil || math.IsNaN(v) || math.Abs(v) > mostCost {
					return nil, fmt.Errorf("line %d: %s: %q, want a number of at most %v, or nothing", line, r.nurses[i], cell, mostCost)
				}
				can++
			}
			s.cost = append(s.cost, v)
		}
		if s.need, err = strconv.Atoi(row[2]); err != nil || s.need < 0 || s.need > can {
			return nil, fmt.Errorf("line %d: need = %q, want 0 to %d, the number of available nurses", line, row[2], can)
		}
		r.shifts = append(r.shifts, s)
	}
	if len(r.shifts) == 0 {
		return nil, fmt.Errorf("line 2: no shifts")
	}
	return r, nil
}

// mostCost is the maximum cost of a shift. It keeps energies far below the size at which float32
// tables lose precision.
const mostCost = 1000.0

// sites returns the number of (shift, nurse) pairs. Site s·nurses+i is 1 if nurse i works shift
// s.
func (r *roster) sites() int { return len(r.shifts) * len(r.nurses) }

// language returns the automaton of the rosters in which every shift has exactly as many nurses
// as it needs, all of them available.
func (r *roster) language(ctx context.Context) (constraint.Automaton, error) {
	n := len(r.nurses)
	var parts []constraint.Automaton
	for _, s := range r.shifts {
		count := constraint.Count{Levels: []int32{1}, Min: s.need, Max: s.need}
		allowed := make([][]int32, n)
		for i, c := range s.cost {
			if math.IsInf(c, 1) {
				allowed[i] = []int32{0}
			}
		}
		mask, err := constraint.NewMask(2, allowed)
		if err != nil {
			return nil, err
		}
		// A word of n tokens: count them all.
		part, err := constraint.Intersect(count, mask, constraint.Count{Levels: []int32{0, 1}, Min: n, Max: n})
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return constraint.Concat(ctx, 2, constraint.Limits{}, parts...)
}

// costs returns the cost of every site, 0 where the nurse cannot come.
func (r *roster) costs() []float64 {
	var all []float64
	for _, row := range r.shifts {
		for _, c := range row.cost {
			if math.IsInf(c, 1) {
				c = 0
			}
			all = append(all, c)
		}
	}
	return all
}

// model returns the energy Σ cost·x + tired·Σ x·x'. The second sum is over consecutive shifts of
// the same nurse.
func (r *roster) model(tired float64) (energy.Model, error) {
	n := len(r.nurses)
	var pairs []model.Edge
	for s, row := range r.shifts {
		for i := range row.cost {
			at := s*n + i
			if s > 0 && tired != 0 {
				pairs = append(pairs, model.Edge{I: at - n, J: at, W: tired})
			}
		}
	}
	return model.NewQuadratic(r.sites(), pairs, model.Polynomial{Linear: r.costs()})
}

// limit is an upper bound on the mean number of a nurse's shifts or nights.
type limit struct {
	name   string
	nurse  int
	nights bool // whether only nights count
	most   float64
	tol    float64 // amount by which the mean may exceed most
}

// limits bounds the shifts and the nights of every nurse by an equal share of all, plus the
// slack. The tolerance is at least a hundredth of the bound.
func (r *roster) limits(slack, tol float64) []limit {
	n := len(r.nurses)
	var all []limit
	for _, nights := range []bool{false, true} {
		total := 0
		for _, row := range r.shifts {
			if !nights || row.night {
				total += row.need
			}
		}
		if total == 0 {
			continue
		}
		for i, name := range r.nurses {
			l := limit{name: name + " shifts", nurse: i, nights: nights, most: (1 + slack) * float64(total) / float64(n)}
			l.tol = max(tol, l.most/100)
			if nights {
				l.name = name + " nights"
			}
			all = append(all, l)
		}
	}
	return all
}

// count stores each nurse's number of shifts and of nights.
func (r *roster) count(shifts, nights []int32, x []int32) {
	n := len(r.nurses)
	clear(shifts)
	clear(nights)
	for s := range r.shifts {
		row := x[s*n : (s+1)*n]
		for i, v := range row {
			shifts[i] += v
		}
		if r.shifts[s].night {
			for i, v := range row {
				nights[i] += v
			}
		}
	}
}

// violations stores in g the amount by which the roster x exceeds each limit, negative if it is
// below.
func (r *roster) violations(g []float64, limits []limit, x []int32) {
	n := len(r.nurses)
	counts := make([]int32, 2*n)
	r.count(counts[:n], counts[n:], x)
	for j, l := range limits {
		at := l.nurse
		if l.nights {
			at += n
		}
		g[j] = float64(counts[at]) - l.most
	}
}

// counted returns the number that the limit bounds as a linear model, which kernels can read
// from tables.
func (r *roster) counted(l limit) (energy.Model, error) {
	n := len(r.nurses)
	w := make([]float64, r.sites())
	for s, row := range r.shifts {
		if !l.nights || row.night {
			w[s*n+l.nurse] = 1
		}
	}
	return model.NewQuadratic(r.sites(), nil, model.Polynomial{Linear: w})
}

// meets reports whether the roster x gives every shift exactly as many available nurses as it
// needs. It counts nurses and does not use the automaton.
func (r *roster) meets(x []int32) bool {
	n := len(r.nurses)
	wrong := int32(0)
	for t, s := range r.shifts {
		row, got := x[t*n:(t+1)*n], int32(0)
		for i, c := range s.cost {
			got += row[i]
			if c > mostCost { // cannot come
				wrong |= row[i]
			}
		}
		wrong |= got - int32(s.need)
	}
	return wrong == 0
}
