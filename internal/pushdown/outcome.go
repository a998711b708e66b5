package pushdown

import "encoding/binary"

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

// reader runs texts through a machine and numbers starts and exits.
type reader struct {
	m     *Machine
	exits map[exit]int32
	// outcome of the remaining bytes after a return, by exit and symbol of the call
	after  [][]outcome
	same   map[string]int32 // exits by their row in the field after, to merge equal exits
	starts []start
	find   map[start]int32
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

// exit returns the index of the exit x, or −1 if every continuation after it is dead. Exits
// with equal outcomes for every symbol share an index.
func (r *reader) exit(x exit) int32 {
	if i, ok := r.exits[x]; ok {
		return i
	}
	after := make([]outcome, len(r.m.Resume))
	alive := false
	for g, to := range r.m.Resume {
		if q := to[x.symbol]; q >= 0 {
			after[g] = r.run(q, x.rest)
			alive = alive || after[g].kind != Dead
		}
	}
	id := int32(-1)
	if alive {
		var key []byte
		for _, o := range after {
			key = append(key, byte(o.kind))
			key = binary.LittleEndian.AppendUint32(key, uint32(o.a))
			key = binary.LittleEndian.AppendUint32(key, uint32(o.b))
		}
		var ok bool
		if id, ok = r.same[string(key)]; !ok {
			id = int32(len(r.after))
			r.same[string(key)] = id
			r.after = append(r.after, after)
		}
	}
	r.exits[x] = id
	return id
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
