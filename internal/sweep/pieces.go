package sweep

import (
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// pieces divides the sweeps of one state among workers. Sites that do not interact may be redrawn
// at the same time. Each site has two random words, whose position in the stream follows from the
// position of the site in the sweep.
type pieces struct {
	all   []piece // pieces in the order of a sweep
	most  int     // largest number of pieces of one colour
	sites int

	// method of the kernel that redraws some positions of a piece
	draw    func(worker, piece, from, to int, words []uint32)
	workers workers[pieceWorker]
	first   int            // index of the piece of job 0
	from    int            // position in the sweep at which that piece starts
	base    sampler.Stream // random stream at that position
	job     func(worker, job int)
}

// piece is the range of positions first … end−1 of a sweep, within one stretch. The pieces up to
// index next−1 have the same colour.
type piece struct{ first, end, stretch, next int }

// pieceWorker is the workspace of one worker: its random stream and random words.
type pieceWorker struct {
	stream sampler.Stream
	words  []uint32
}

// pieceSites is the maximum number of sites of a piece. Redrawing them takes a few dozen
// microseconds.
const pieceSites = 2048

// newPieces divides a sweep into pieces. A stretch is a range of sites that are drawn alike. The
// slice ends holds the end of each stretch, and colours holds its colour. Stretches of one colour
// are adjacent.
func newPieces(ends, colours []int, draw func(worker, piece, from, to int, words []uint32)) *pieces {
	p := padded.New(pieces{sites: ends[len(ends)-1], draw: draw})
	first := 0
	for n, end := range ends {
		for ; first < end; first = min(first+pieceSites, end) {
			p.all = append(p.all, piece{first: first, end: min(first+pieceSites, end), stretch: n})
		}
	}
	for at := len(p.all) - 1; at >= 0; at-- {
		if p.all[at].next = at + 1; at+1 < len(p.all) && colours[p.all[at+1].stretch] == colours[p.all[at].stretch] {
			p.all[at].next = p.all[at+1].next
		}
		p.most = max(p.most, p.all[at].next-at)
	}
	p.job = func(worker, job int) {
		w, at := p.workers.each[worker], p.first+job
		from := max(p.from, p.all[at].first)
		w.stream = p.base
		w.stream.Skip(2 * uint64(from-p.from))
		p.redraw(worker, at, from, &w.stream)
	}
	p.share(1)
	return p
}

// share allocates workspaces for n workers, or for as many as a sweep can use, and returns their
// number.
func (p *pieces) share(n int) int {
	p.workers.share(n, p.most, func(w *pieceWorker) { w.words = padded.Make[uint32](2 * chunk) })
	return len(p.workers.each)
}

// redraw redraws one piece, beginning at a given position.
func (p *pieces) redraw(worker, at, from int, r *sampler.Stream) {
	for end := p.all[at].end; from < end; {
		to := min(from+chunk, end)
		words := p.workers.each[worker].words[:2*(to-from)]
		r.Uint32s(words)
		p.draw(worker, at, from, to, words)
		from = to
	}
}

// sweep continues a sweep at a given position, as far as fits between two checks for a stop. It
// then calls settled with each redrawn piece, in order. It returns the next position.
func (p *pieces) sweep(from int, r *sampler.Stream, settled func(piece int)) (next int) {
	first := sort.Search(len(p.all), func(n int) bool { return p.all[n].end > from })
	end := min(p.all[first].next, first+max(1, len(p.workers.each)*PollWork/(SiteWork*pieceSites)))
	if len(p.workers.each) > 1 && end-first > 1 {
		p.first, p.from, p.base = first, from, *r
		p.workers.burst.Each(end-first, p.job)
		r.Skip(2 * uint64(p.all[end-1].end-from))
	} else {
		for n := first; n < end; n++ {
			p.redraw(0, n, max(from, p.all[n].first), r)
		}
	}
	for n := first; n < end; n++ {
		settled(n)
	}
	return p.all[end-1].end
}
