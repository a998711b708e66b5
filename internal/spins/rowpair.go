package spins

import (
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RowPair holds the states of two blocks of chains of a graph side by side. It redraws them
// together; each block gets the same bits as alone.
type RowPair struct {
	*RowGraph
	rows  []simd.Row
	own   []uint64
	valid [2]uint32
	work  simd.PairScratch
}

// NewPair returns a pair whose sites are all 0.
func (g *RowGraph) NewPair() *RowPair {
	p := apart.New(RowPair{RowGraph: g})
	p.rows, p.own = apart.Make[simd.Row](g.sites+1), apart.Make[uint64](g.sites+1)
	return p
}

// Take sets the states to those of two blocks.
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

// Give sets two blocks to the states. It ends Keep there.
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

// Sweep redraws all sites once and adds the changes to the tallies of the two blocks. Each
// block draws from its own source.
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

// SweepGroups returns the number of groups of a random stream that a sweep consumes.
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
