package pushdown

// reach finds which starts may be called at which site, in any context, and how
// far any run comes. It ignores which call a return belongs to, so that it
// costs no more than the edges of every site. alive says which edges of a site
// have a weight; need is [site][start].
func (g *Graph) reach(need [][]bool, alive func(site int, w int32) bool) (far int) {
	n := len(g.levels)
	here, next := make([][]bool, n), make([][]bool, n)
	called := make([][]bool, n) // groups whose call lies behind
	for lv := range g.levels {
		v := &g.levels[lv]
		here[lv], next[lv] = make([]bool, len(v.states)), make([]bool, len(v.states))
		called[lv] = make([]bool, len(v.groups))
	}
	for _, x := range need {
		clear(x)
	}
	here[g.top][g.begin] = true
	for j := range need {
		any := false
		for lv := range next {
			clear(next[lv])
			for _, q := range here[lv] {
				any = any || q
			}
		}
		if !any {
			return far
		}
		far = j
		left := make([][]bool, n) // exits taken at this site
		for lv := range left {
			left[lv] = make([]bool, len(g.levels[lv].exits))
		}
		calls := make([][]bool, n)
		for lv := range g.levels {
			v := &g.levels[lv]
			calls[lv] = make([]bool, len(v.calls))
			for _, e := range v.in {
				if here[lv][e.from] && alive(j, e.w) {
					next[lv][e.to] = true
				}
			}
			for _, e := range v.call {
				if here[lv][e.from] && alive(j, e.w) {
					calls[lv][e.to] = true
				}
			}
			for _, e := range v.out {
				if here[lv][e.from] && alive(j, e.w) {
					left[lv][e.to] = true
				}
			}
		}
		g.resume(next, called, left, calls)
		for lv := range calls {
			for k, yes := range calls[lv] {
				if yes {
					g.enter(need[j], int32(lv), k, next, called)
				}
			}
		}
		here, next = next, here
	}
	return len(need)
}

// resume follows the returns of one site until nothing is new.
func (g *Graph) resume(next, called, left, calls [][]bool) {
	for again := true; again; {
		again = false
		for lv := range g.levels {
			v := &g.levels[lv]
			for i := range v.groups {
				if !called[lv][i] {
					continue
				}
				for k, to := range v.groups[i].resume {
					if !left[v.groups[i].callee][k] {
						continue
					}
					if to.state >= 0 {
						next[lv][to.state] = true
					} else if to.half >= 0 {
						h := v.halves[to.half]
						at := &calls[lv]
						n := h.call
						if n < 0 {
							at, n = &left[lv], h.exit
						}
						again = again || !(*at)[n]
						(*at)[n] = true
					}
				}
			}
		}
	}
}

// enter marks the start of a call at site j, and those it calls in turn.
func (g *Graph) enter(need []bool, lv int32, k int, next, called [][]bool) {
	for {
		c := g.levels[lv].calls[k]
		called[lv][c.group] = true
		need[c.start] = true
		s := g.starts[c.start]
		lv = s.level
		if s.q >= 0 {
			next[lv][g.local[s.q]] = true
			return
		}
		k = g.halfCall(&g.levels[lv], int(c.start))
	}
}
