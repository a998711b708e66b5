package automata

// partition divides 0…n−1 into sets; marking elements and then splitting
// separates the marked from the unmarked elements of each set.
type partition struct {
	elem        []int32 // elements, set by set
	place       []int32 // elem[place[e]] = e
	set         []int32 // set of each element
	first, past []int32 // set s is elem[first[s]:past[s]]
	marked      []int32 // the first marked[s] of them are marked
	touched     []int32 // sets with marks
}

func newPartition(n int) *partition {
	p := &partition{elem: make([]int32, n), place: make([]int32, n), set: make([]int32, n)}
	for i := range n {
		p.elem[i], p.place[i] = int32(i), int32(i)
	}
	if n > 0 {
		p.first, p.past, p.marked = []int32{0}, []int32{int32(n)}, []int32{0}
	}
	return p
}

func (p *partition) sets() int { return len(p.first) }

func (p *partition) members(s int) []int32 { return p.elem[p.first[s]:p.past[s]] }

// mark marks an element that has no mark yet.
func (p *partition) mark(e int32) {
	s := p.set[e]
	i, j := p.place[e], p.first[s]+p.marked[s]
	other := p.elem[j]
	p.elem[i], p.place[other] = other, i
	p.elem[j], p.place[e] = e, j
	if p.marked[s] == 0 {
		p.touched = append(p.touched, s)
	}
	p.marked[s]++
}

// split makes the smaller part of every set with marks a set of its own and
// clears all marks.
func (p *partition) split() {
	for _, s := range p.touched {
		cut := p.first[s] + p.marked[s]
		p.marked[s] = 0
		if cut == p.past[s] {
			continue
		}
		fresh := int32(len(p.first))
		if cut-p.first[s] <= p.past[s]-cut {
			p.first, p.past = append(p.first, p.first[s]), append(p.past, cut)
			p.first[s] = cut
		} else {
			p.first, p.past = append(p.first, cut), append(p.past, p.past[s])
			p.past[s] = cut
		}
		p.marked = append(p.marked, 0)
		for _, e := range p.members(int(fresh)) {
			p.set[e] = fresh
		}
	}
	p.touched = p.touched[:0]
}

// sortBy makes one set of the elements of each key < keys that occurs.
func (p *partition) sortBy(key []int32, keys int) {
	start := make([]int32, keys+1)
	for _, k := range key {
		start[k+1]++
	}
	for k := range keys {
		start[k+1] += start[k]
	}
	fill := append([]int32(nil), start[:keys]...)
	for e, k := range key {
		p.elem[fill[k]], p.place[e] = int32(e), fill[k]
		fill[k]++
	}
	p.first, p.past, p.marked = nil, nil, nil
	for k := range keys {
		if start[k] == start[k+1] {
			continue
		}
		for _, e := range p.elem[start[k]:start[k+1]] {
			p.set[e] = int32(len(p.first))
		}
		p.first, p.past, p.marked = append(p.first, start[k]), append(p.past, start[k+1]), append(p.marked, 0)
	}
}
