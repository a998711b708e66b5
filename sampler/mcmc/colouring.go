package mcmc

// colouring gives every site of a graph in compressed rows the smallest colour
// that no earlier neighbour has; at most one more than the largest degree.
func colouring(start, adj []int32) (colour []int32, colours int) {
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
