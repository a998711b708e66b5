package ground

// clusters finds the connected clusters of sites at which two states differ.
type clusters[T number] struct {
	differs []bool  // per site: the states differ, and the site is not yet in a cluster
	sites   []int32 // sites of the current cluster
	inside  []bool  // per site: it is in the current cluster
	take    []int32 // sites to flip
}

func newClusters[T number](sites int) *clusters[T] {
	return &clusters[T]{differs: make([]bool, sites), inside: make([]bool, sites)}
}

// takeOver flips in x each cluster of sites at which x and y differ, if this flip lowers the energy
// of x. If flat is true, it also flips clusters that leave the energy equal. It returns the
// decrease of the energy. It calls stop with the amount of work done. If stop returns true,
// takeOver returns ok = false and leaves x unchanged. Without fields, y and its mirror image count
// as the same state.
//
// Clusters do not interact, so each changes the energy independently. x becomes the best of all
// states that exchanging clusters between the two states can produce. (Houdayer 2001 exchanges
// such clusters between replicas; Whitley, Hains and Howe 2009 choose among them.)
func (c *clusters[T]) takeOver(g *system[T], x, y *spins[T], flat bool, stop func(work int) bool) (gain float64, ok bool) {
	apart, nought := 0, float64(g.nought)
	for i, s := range x.s {
		c.differs[i] = s != y.s[i]
		if c.differs[i] {
			apart++
		}
	}
	if g.mirrored && apart > len(x.s)/2 {
		for i, d := range c.differs {
			c.differs[i] = !d
		}
	}
	c.take = c.take[:0]
	for i := range c.differs {
		if !c.differs[i] {
			if stop(1) {
				return 0, false
			}
			continue
		}
		sum, work := c.grow(g, x, int32(i))
		if stop(work) {
			return 0, false
		}
		if sum < -nought || flat && sum <= nought {
			gain -= sum
			c.take = append(c.take, c.sites...)
		}
	}
	for _, i := range c.take {
		x.flip(g, int(i))
	}
	return gain, true
}

// grow finds the cluster of site i. It returns the amount by which flipping the cluster changes the
// energy of x, and the work done. The energy change is the sum of the losses of the sites, without
// the interactions inside the cluster, which stay the same.
func (c *clusters[T]) grow(g *system[T], x *spins[T], i int32) (sum float64, work int) {
	c.sites = append(c.sites[:0], i)
	c.differs[i], c.inside[i] = false, true
	for at := 0; at < len(c.sites); at++ {
		v := c.sites[at]
		sum += float64(x.loss[v])
		row := g.row(int(v))
		work += 1 + len(row)
		for _, a := range row {
			if c.differs[a.to] {
				c.differs[a.to], c.inside[a.to] = false, true
				c.sites = append(c.sites, a.to)
			}
			if c.inside[a.to] && v < a.to {
				// the losses of both sites contain this interaction
				sum += float64(T(x.s[v]*x.s[a.to]) * a.w)
			}
		}
	}
	for _, v := range c.sites {
		c.inside[v] = false
	}
	return sum, work
}
