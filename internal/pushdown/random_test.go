package pushdown

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"
)

// randomMachine draws a deterministic machine over the bytes a…: any state may
// do anything with any byte.
func randomMachine(r *rand.Rand, bytes int) *Machine {
	m := &Machine{Classes: bytes + 1, Levels: 1 + r.IntN(3)}
	for b := range m.Class {
		m.Class[b] = uint8(bytes)
	}
	for b := range bytes {
		m.Class['a'+b] = uint8(b)
	}
	of := make([][]int32, m.Levels)
	for lv := range m.Levels {
		for range 1 + r.IntN(3) {
			of[lv] = append(of[lv], int32(len(m.Level)))
			m.Level = append(m.Level, int32(lv))
			m.Accept = append(m.Accept, r.IntN(2) == 0)
		}
	}
	symbols, returns := 0, 1+r.IntN(2)
	levelOf := []int{}
	for lv := range m.Levels {
		for range 1 + r.IntN(2) {
			levelOf = append(levelOf, lv)
			symbols++
		}
	}
	for g := range symbols {
		row := make([]int32, returns)
		for i := range row {
			row[i] = -1
			if s := of[levelOf[g]]; r.IntN(5) > 0 {
				row[i] = s[r.IntN(len(s))]
			}
		}
		m.Resume = append(m.Resume, row)
	}
	var moves []Move
	for q := range m.Level {
		lv := int(m.Level[q])
		for range bytes {
			switch r.IntN(8) {
			case 0:
				moves = append(moves, Move{})
			case 1, 2:
				moves = append(moves, Move{Inside, 0, of[lv][r.IntN(len(of[lv]))]})
			case 3, 4, 5:
				g := r.IntN(symbols)
				for levelOf[g] != lv {
					g = r.IntN(symbols)
				}
				moves = append(moves, Move{Call, int32(g), int32(r.IntN(len(m.Level)))})
			default:
				moves = append(moves, Move{Return, int32(r.IntN(returns)), 0})
			}
		}
		moves = append(moves, Move{})
	}
	m.Rows = rowsOf(m.Classes, moves)
	m.Start = int32(r.IntN(len(m.Level)))
	return m
}

// rowsOf returns rows with moves[q·classes+c] as the move of state q on a byte of class c.
func rowsOf(classes int, moves []Move) Rows {
	r := NewRows(Shapes{}, 0, 0)
	var s Splitter[Move]
	for row := range slices.Chunk(moves, classes) {
		slots, values := s.Split(row)
		r.Add(r.Find(slots), values...)
	}
	return r
}

// all returns the moves of state q by class.
func (r *Rows) all(q int32) (row []Move) {
	for c := range r.classes {
		row = append(row, *r.at(q, uint8(c)))
	}
	return row
}

// randomTokens draws texts of one to three bytes, sometimes with padding as the
// last token.
func randomTokens(r *rand.Rand, bytes, n int) *Vocabulary {
	tokens := make([]string, n)
	spells := make([]bool, n)
	for t := range tokens {
		b := make([]byte, 1+r.IntN(3))
		for i := range b {
			b[i] = byte('a' + r.IntN(bytes))
		}
		tokens[t], spells[t] = string(b), true
	}
	var pad []int32
	if r.IntN(2) == 0 {
		spells[n-1], pad = false, []int32{int32(n - 1)}
	}
	return Prepare(tokens, spells, pad)
}

// accepts is the definition, from the bytes: text, then padding.
func accepts(m *Machine, v *Vocabulary, x []int32) bool {
	text, ended := "", false
	for _, t := range x {
		if len(v.Pad) > 0 && t == v.Pad[0] {
			ended = true
		} else if ended {
			return false
		} else {
			text += v.Text(t)
		}
	}
	return m.Accepts(text)
}

// each calls do with every sequence.
func each(sites, levels int, do func(x []int32)) {
	x := make([]int32, sites)
	for {
		do(x)
		i := 0
		for ; i < sites; i++ {
			if x[i]++; int(x[i]) < levels {
				break
			}
			x[i] = 0
		}
		if i == sites {
			return
		}
	}
}

type truth struct {
	logZ      float64
	marginals []float64 // probabilities
	possible  []bool    // whether they are above zero: they may be below e^-745
	best      float64
	sequences [][]int32
	weights   []float64
}

func enumerate(m *Machine, v *Vocabulary, sites int, w []float32) truth {
	n := v.Tokens()
	t := truth{marginals: make([]float64, sites*n), possible: make([]bool, sites*n), best: math.Inf(-1)}
	each(sites, n, func(x []int32) {
		if !accepts(m, v, x) {
			return
		}
		s := 0.0
		for i, k := range x {
			s += float64(w[i*n+int(k)])
		}
		if math.IsInf(s, -1) {
			return
		}
		t.best = max(t.best, s)
		t.sequences = append(t.sequences, append([]int32(nil), x...))
		t.weights = append(t.weights, s)
	})
	total := 0.0
	for _, s := range t.weights {
		total += math.Exp(s - t.best)
	}
	t.logZ = t.best + math.Log(total)
	for j, s := range t.weights {
		for i, k := range t.sequences[j] {
			t.marginals[i*n+int(k)] += math.Exp(s - t.logZ)
			t.possible[i*n+int(k)] = true
		}
	}
	return t
}

func lifted(t require.TestingT, m *Machine, v *Vocabulary) *Graph {
	require.NoError(t, m.Check())
	g, err := Lift(context.Background(), m, v)
	require.NoError(t, err)
	return g
}

func randomWeights(r *rand.Rand, n int, sd float64) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(r.NormFloat64() * sd)
		if r.IntN(12) == 0 {
			w[i] = float32(math.Inf(-1))
		}
	}
	return w
}
