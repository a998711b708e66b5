package padded

// Pair holds two copies of data that depend on the states of chains. Now holds the data of the
// current states, and Next the data of the latest proposed states. If a proposal is accepted, the
// data of its chain in Next become current.
type Pair[T any] struct {
	Now, Next []T
	each      int // entries per chain
}

// NewPair returns a pair for the given numbers of chains and of entries per chain. All entries are
// 0.
func NewPair[T any](chains, each int) Pair[T] {
	return Pair[T]{Make[T](chains * each), Make[T](chains * each), each}
}

// Accept makes the data in Next current for the chains lo, …, hi−1. Until proposed states are
// loaded again, Next is undefined for these chains.
func (p *Pair[T]) Accept(lo, hi int) {
	from, to := lo*p.each, hi*p.each
	if to-from == len(p.Now) {
		p.Now, p.Next = p.Next, p.Now
		return
	}
	copy(p.Now[from:to], p.Next[from:to])
}

// Chain returns the data of chain s, from the field Next if proposed is true, and from the field
// Now otherwise.
func (p *Pair[T]) Chain(s int, proposed bool) []T {
	if proposed {
		return p.Next[s*p.each : (s+1)*p.each]
	}
	return p.Now[s*p.each : (s+1)*p.each]
}
