package mcmc

import (
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Unit costs in nanoseconds, not including evaluations of the model. The test of unit costs in
// package auto fitted them over many sizes. See sampler.Costed.
const (
	flipCost     = 2.7 // to propose and draw a flip of a site and weigh the reverse
	rowCost      = 130 // to propose another level of a site from a row of levels, plus entryCost per level
	entryCost    = 5   // per level of a row from which a proposal is drawn
	matchCost    = 25  // to propose a level of a site by table look-up
	jumpCost     = 8   // to weigh a level by the jump process of DLMC
	jumpFlipCost = 4.5 // to weigh a flip by the jump process of DLMC
	weightCost   = 6   // to weigh a change of one site
	pathCost     = 15  // per level of a site, to weigh the moves of a path
	stepCost     = 25  // per site that a path may change, to choose one
	trellisCost  = 12  // to pass an edge of a trellis forward and backward
	drawCost     = 7   // to draw a hidden or visible unit
)

// proposed estimates the cost, in nanoseconds, of a step of all chains with proposal p.
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
