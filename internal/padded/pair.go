package padded

// Pair holds two copies of per-chain data: Now for the current states, and Next for the proposed
// states loaded last, which become current if they are accepted.
type Pair[T any] struct {
	Now, Next []T
	each      int // entries per chain
}

// NewPair returns a pair for the given numbers of chains and of entries per chain. All entries are
// 0.
func NewPair[T any](chains, each int) Pair[T] {
	return Pair[T]{Make[T](chains * each), Make[T](chains * each), each}
}

// Accept makes the loaded data of the chains lo … hi−1 current. Next is undefined for these
// chains until they are loaded again.
func (p *Pair[T]) Accept(lo, hi int) {
	from, to := lo*p.each, hi*p.each
	if to-from == len(p.Now) {
		p.Now, p.Next = p.Next, p.Now
		return
	}
	copy(p.Now[from:to], p.Next[from:to])
}

// Chain returns the data of chain s: the loaded data if loaded is set, else the current data.
func (p *Pair[T]) Chain(s int, loaded bool) []T {
	if loaded {
		return p.Next[s*p.each : (s+1)*p.each]
	}
	return p.Now[s*p.each : (s+1)*p.each]
}
