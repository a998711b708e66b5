package pushdown

import (
	"cmp"
	"slices"
)

// outcome is the effect of the bytes of a token, or of its remaining bytes, in some state. It
// is Dead, Inside (continuing at state a), Call (pushing symbol a and entering start b) or
// Return (by exit a).
type outcome struct {
	kind Kind
	a, b int32
}

// exit is a return symbol together with the remaining bytes of the token.
type exit struct {
	symbol int32
	rest   string
}

// resumption is the outcome of the rest of a token after a return, for a symbol of the call.
type resumption struct {
	symbol int32
	outcome
}

func (x resumption) hash() uint64 {
	return mix(mix(uint64(uint32(x.symbol))<<32|uint64(uint32(x.a))) + uint64(uint32(x.b))<<2 + uint64(x.kind))
}

// reader runs texts through a machine and numbers starts and exits.
type reader struct {
	m           *Machine
	exits       map[exit]int32
	after       table[resumption] // of each exit that are not dead, by ascending symbol
	resumptions space[resumption] // of after
	open        []resumption      // of the exits that are being found, one after another
	starts      []start
	find        map[start]int32
	kept        int // memory, see limit
	work        int // since the context was last polled
}

// run returns the outcome of reading text in state q. Calls and returns that match inside the
// text cancel. The first move that does not cancel determines the outcome.
func (r *reader) run(q int32, text string) outcome {
	type frame struct {
		symbol, to int32
		at         int
	}
	var open []frame
	for i := range len(text) {
		a := r.m.Next(q, text[i])
		switch a.Kind {
		case Dead:
			return outcome{}
		case Inside:
			q = a.To
		case Call:
			open = append(open, frame{a.Symbol, a.To, i + 1})
			q = a.To
		case Return:
			if len(open) == 0 {
				if k := r.exit(exit{a.Symbol, text[i+1:]}); k >= 0 {
					return outcome{Return, k, 0}
				}
				return outcome{}
			}
			if q = r.m.Resume[open[len(open)-1].symbol][a.Symbol]; q < 0 {
				return outcome{}
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return outcome{Inside, q, 0}
	}
	s := r.enter(open[0].to, text[open[0].at:])
	return outcome{Call, open[0].symbol, s}
}

// exitSize is the memory that an exit takes in a map, in units of 8 bytes.
const exitSize = 6

// exit returns the index of the exit x, or −1 if every continuation after it is dead. Exits
// with equal outcomes for every symbol share an index.
func (r *reader) exit(x exit) int32 {
	if i, ok := r.exits[x]; ok {
		return i
	}
	r.work += 8 * len(r.m.Resume)
	r.kept += exitSize
	first, h := len(r.open), uint64(0)
	for g, to := range r.m.Resume {
		if q := to[x.symbol]; q >= 0 {
			if o := r.run(q, x.rest); o.kind != Dead {
				y := resumption{int32(g), o}
				r.open = append(r.open, y)
				h += y.hash()
			}
		}
	}
	id, list := int32(-1), r.open[first:]
	if len(list) > 0 {
		var ok bool
		if id, ok = r.after.find(h, list); !ok {
			row := r.resumptions.take(len(list))
			copy(row, list)
			r.after.add(h, row)
			r.kept += 2 * len(row)
		}
	}
	r.open = r.open[:first]
	r.exits[x] = id
	return id
}

// resume returns the outcome after exit k for a symbol of the call.
func (r *reader) resume(k, symbol int32) outcome {
	list := r.after.list[k]
	if i, ok := slices.BinarySearchFunc(list, symbol, func(x resumption, s int32) int { return cmp.Compare(x.symbol, s) }); ok {
		return list[i].outcome
	}
	return outcome{}
}

// enter returns the index of the start that enters state q with the remaining bytes rest,
// which must not return below q.
func (r *reader) enter(q int32, rest string) int32 {
	s := start{level: r.m.Level[q], q: -1, symbol: -1, sub: -1}
	if o := r.run(q, rest); o.kind == Inside {
		s.q = o.a
	} else {
		s.symbol, s.sub = o.a, o.b
		s.depth = r.starts[o.b].depth + 1
	}
	if i, ok := r.find[s]; ok {
		return i
	}
	i := int32(len(r.starts))
	r.starts = append(r.starts, s)
	r.find[s] = i
	return i
}
