package spins

import (
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RowPair are the states of two blocks of chains of a graph side by side, which are redrawn
// together, to the bits that each gets alone.
type RowPair struct {
	*RowGraph
	rows  []simd.Row
	own   []uint64
	valid [2]uint32
	work  simd.PairScratch
}

// NewPair returns room for states.
func (g *RowGraph) NewPair() *RowPair {
	p := apart.New(RowPair{RowGraph: g})
	p.rows, p.own = apart.Make[simd.Row](g.sites+1), apart.Make[uint64](g.sites+1)
	return p
}

// Take stores the states of two blocks.
func (p *RowPair) Take(first, second *RowChains) {
	p.valid = [2]uint32{first.valid, second.valid}
	for at := range p.sites {
		row, a, b := &p.rows[at], &first.rows[at], &second.rows[at]
		for c := range row {
			row[c] = a[c] | b[c]<<4
		}
		p.own[at] = uint64(first.lane(at)) | uint64(second.lane(at))<<32
	}
}

// Give stores the states in two blocks, whose sums are not kept then.
func (p *RowPair) Give(first, second *RowChains) {
	for at := range p.sites {
		row, a, b := &p.rows[at], &first.rows[at], &second.rows[at]
		for c, v := range row {
			a[c], b[c] = v&1, v>>4
		}
		first.setLane(at, uint32(p.own[at]))
		second.setLane(at, uint32(p.own[at]>>32))
	}
	first.kept, second.kept = nil, nil
}

// Sweep redraws all sites once, each block from the groups of its stream that begin with
// the given one, and adds what changed to tallies.
func (p *RowPair) Sweep(t *[2]simd.RowTally, from [2]Source) {
	stream, group := [2]uint64{from[0].Chain, from[1].Chain}, [2]uint64{from[0].Group, from[1].Group}
	for at := range p.parts {
		part := &p.parts[at]
		simd.HeatPairs(p.rows, p.own, p.visits[part.visit:part.visit+part.visits], p.near[part.near:part.near+part.entries], p.odds, p.valid, t, &p.work,
			from[0].ARS, from[0].Seed, stream, group)
		for b := range group {
			group[b] += p.Groups(at)
		}
	}
}

// SweepGroups returns the number of groups of a random stream that a sweep takes.
func (g *RowGraph) SweepGroups() (n uint64) {
	for part := range g.parts {
		n += g.Groups(part)
	}
	return n
}

// lane returns the states of a row, a bit each.
func (c *RowChains) lane(row int) uint32 { return uint32(c.own[row>>1] >> (uint(row&1) * 32)) }

// setLane is the opposite of lane.
func (c *RowChains) setLane(row int, states uint32) {
	lane, shift := &c.own[row>>1], uint(row&1)*32
	*lane = *lane&^((1<<32-1)<<shift) | uint64(states)<<shift
}
