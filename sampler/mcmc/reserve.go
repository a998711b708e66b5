package mcmc

import (
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/generator"
)

// reserve reserves groups of a stream for sites that are bits.
func reserve(r *sampler.Stream, groups uint64) spins.Source {
	g, seed, chain, group := r.Reserve(groups)
	return spins.Source{ARS: g == generator.ARS4x32, Seed: seed, Chain: chain, Group: group}
}
