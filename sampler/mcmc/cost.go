package mcmc

import (
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Unit costs of the work of kernels without evaluations of the model, in nanoseconds, fitted over
// many sizes by the test of unit costs in package auto; see sampler.Costed.
const (
	flipCost     = 2.7 // a site proposed to flip, drawn and weighed back
	rowCost      = 130 // a site proposed another level of a row
	entryCost    = 5   // and a level of the row
	matchCost    = 25  // a site proposed a level of a table
	jumpCost     = 8   // a level weighed as a jump
	jumpFlipCost = 4.5 // a flip weighed so
	weightCost   = 6   // a change weighed
	pathCost     = 15  // and for a path
	stepCost     = 25  // a site that a path may go to
	trellisCost  = 12  // an edge of a trellis, forth and back
	drawCost     = 7   // a hidden or visible unit drawn
)

// proposed returns the cost of a step by a proposal.
func proposed(p proposal, m cost.Model, info []sampler.Info) float64 {
	n, table, changes := float64(m.Sites), m.Table, 0.0
	extra := n * flipCost
	switch p := p.(type) {
	case *gwg:
		extra = weightCost * float64(p.sites*p.cols)
	case *paths:
		extra = float64(p.sites) * (stepCost + float64(pathCost*float64(p.levels)))
	case *flips:
		table, changes = m.Field, float64(sweep.Moves(info)*m.Changed)
		if p.jumps {
			extra = n * jumpFlipCost
		}
	case *confined:
		_, _, edges := p.within.graph.Size()
		extra = float64(n*(rowCost+float64(entryCost*float64(p.levels)))) + float64(trellisCost*float64(edges))
	case *matches:
		table, extra = m.Energy, n*matchCost
	case *rows:
		extra = float64(n * (rowCost + float64(entryCost*float64(p.cols))))
		if p.jumps != nil {
			extra = float64(n * (rowCost + float64(jumpCost*float64(p.cols))))
		}
	}
	return float64(float64(len(info))*(sweep.WholeCost+table+extra)) + changes
}
