package mcmc

import "github.com/gibbsite-go/gibbsite/internal/apart"

// placed holds the states of chains beside x, in the order in which a sweep visits them:
// sites that are redrawn at the same time lie together, so that no worker reads lines that
// another one is writing, and a large state is nearer to the processor.
type placed struct {
	place  []int32 // of each site
	all    []placedLevel
	held   bool // the levels are up to date
	stale  bool // x does not have them yet
	hidden bool // it need not have them
}

// placedLevel is a level of up to placedLevels.
type placedLevel = uint16

const placedLevels = 1 << 16

// newPlaced returns states of so many chains whose sites have these places.
func newPlaced(place []int32, chains int) *placed {
	return apart.New(placed{place: place, all: apart.Make[placedLevel](chains * len(place))})
}

// lose says that x has the states.
func (p *placed) lose() { p.held, p.stale = false, false }

// hold takes the states from x, if need be.
func (p *placed) hold(x []int32) {
	if p.held {
		return
	}
	for s := range len(x) / len(p.place) {
		levels, x := p.chain(s), x[s*len(p.place):]
		for i, at := range p.place {
			levels[at] = placedLevel(x[i])
		}
	}
	p.held, p.stale = true, false
}

// chain returns the states of a chain by place.
func (p *placed) chain(s int) []placedLevel { return p.all[s*len(p.place) : (s+1)*len(p.place)] }

// Show implements [sampler.Lazy].
func (p *placed) Show(x []int32) {
	if !p.stale {
		return
	}
	for s := range len(x) / len(p.place) {
		levels, x := p.chain(s), x[s*len(p.place):]
		for i, at := range p.place {
			x[i] = int32(levels[at])
		}
	}
	p.stale = false
}

// shown stores the states in x, unless that is deferred.
func (p *placed) shown(x []int32) {
	if p.stale = true; !p.hidden {
		p.Show(x)
	}
}
