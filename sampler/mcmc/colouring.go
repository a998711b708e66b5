package mcmc

// fewSites is up to how many sites a colour less is worth looking for.
const fewSites = 256

// colouring gives every site of a graph in compressed rows a colour that no neighbour
// has, few of them.
func colouring(start, adj []int32) (colour []int32, colours int) {
	colour, colours = greedy(start, adj)
	if len(colour) <= fewSites && colours > 2 {
		if other, fewer := saturated(start, adj); fewer < colours {
			return other, fewer
		}
	}
	return colour, colours
}

// greedy gives every site the smallest colour that no earlier neighbour has; at most
// one more than the largest degree.
func greedy(start, adj []int32) (colour []int32, colours int) {
	colour = make([]int32, len(start)-1)
	taken := make([]int, len(colour)+1) // taken[c] = i+1: a neighbour of i has c
	for i := range colour {
		for _, j := range adj[start[i]:start[i+1]] {
			if int(j) < i {
				taken[colour[j]] = i + 1
			}
		}
		c := 0
		for taken[c] == i+1 {
			c++
		}
		colour[i] = int32(c)
		colours = max(colours, c+1)
	}
	return colour, colours
}

// saturated is greedy in the order of Brélaz 1979, which takes the site with the most
// colours among its neighbours next, the one of more neighbours of equals, the first of
// these: fewer colours, in time that grows with the square of the sites.
func saturated(start, adj []int32) (colour []int32, colours int) {
	n := len(start) - 1
	colour = make([]int32, n)
	near := make([]map[int32]bool, n) // colours of the neighbours
	for i := range colour {
		colour[i], near[i] = -1, map[int32]bool{}
	}
	for range n {
		best := -1
		for i, c := range colour {
			if c < 0 && (best < 0 || len(near[i]) > len(near[best]) || len(near[i]) == len(near[best]) && start[i+1]-start[i] > start[best+1]-start[best]) {
				best = i
			}
		}
		c := int32(0)
		for near[best][c] {
			c++
		}
		colour[best] = c
		colours = max(colours, int(c)+1)
		for _, j := range adj[start[best]:start[best+1]] {
			near[j][c] = true
		}
	}
	return colour, colours
}
