package sampler

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tune"
)

// langevinBlock is what one worker moves: up to BlockSize consecutive chains.
type langevinBlock struct {
	first, chains int
	h             float64
	tune          *tune.Tuner // nil: fixed step
	steps         int
	stats         Stats
	err           error

	e, f []float64 // energies of x and of the proposals
	s, r []float32 // their scores
	y    []float32
	xi   []float32
}

func newLangevinBlock(first, chains, sites int, h float64) langevinBlock {
	n := chains * sites
	return langevinBlock{first: first, chains: chains, h: h,
		e: make([]float64, chains), f: make([]float64, chains),
		s: make([]float32, n), r: make([]float32, n), y: make([]float32, n), xi: make([]float32, sites)}
}

// Run makes n draws per chain, LangevinConfig.Thin steps apart, and tells the
// observer of each; the first Run warms up before that.
//
// If the context ends, Run returns its error with every chain at the same step,
// a few milliseconds later; a later Run goes on from there. Unadjusted chains
// whose state is no longer finite end it with an error that names chain and
// step, and stay there until Reset.
func (l *Langevin) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("sampler: Run: n = %d, want ≥ 0", n)
	}
	if !l.ready {
		if err := l.Reset(); err != nil {
			return err
		}
	}
	target := l.cfg.Warmup + (l.kept+n)*l.cfg.Thin
	round := 1
	for l.blocks[0].steps < target {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(l.blocks[0].steps+round, target)
		start := time.Now()
		l.each(func(b *langevinBlock) { l.stepTo(b, end) })
		for i := range l.blocks {
			if err := l.blocks[i].err; err != nil {
				return err
			}
		}
		l.kept = max(l.kept, (end-l.cfg.Warmup)/l.cfg.Thin)
		switch took := time.Since(start); {
		case took < roundTime/2:
			round = min(2*round, maxRound)
		case took > 2*roundTime:
			round = max(round/2, 1)
		}
	}
	return nil
}

// each calls f for every block, from LangevinConfig.Workers goroutines.
func (l *Langevin) each(f func(*langevinBlock)) {
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(l.blocks) {
				return
			}
			f(&l.blocks[i])
		}
	}
	workers := min(l.cfg.Workers, len(l.blocks))
	if workers == 1 {
		work()
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
}

// Reset tells the chains that the target or the states changed. States, random
// streams and step sizes stay; an earlier failure is forgotten. A state without
// probability or score is a [*StartError].
func (l *Langevin) Reset() error {
	last := 0
	for i := range l.blocks {
		last = max(last, l.blocks[i].steps)
	}
	for i := range l.blocks {
		b := &l.blocks[i]
		x := l.x[b.first*l.sites : (b.first+b.chains)*l.sites]
		b.steps, b.err = last, nil
		l.target.Energy(b.e, x)
		l.target.Score(b.s, x)
		for c, e := range b.e {
			if math.IsNaN(e) || math.IsInf(e, 0) {
				return &StartError{Chain: b.first + c, Energy: e}
			}
			if !finite32(b.s[c*l.sites : (c+1)*l.sites]) {
				return &StartError{Chain: b.first + c, Energy: math.NaN()}
			}
		}
	}
	l.ready = true
	return nil
}

// stepTo moves one block to the given number of steps.
func (l *Langevin) stepTo(b *langevinBlock, end int) {
	last := b.first + b.chains
	x := l.x[b.first*l.sites : last*l.sites]
	info, streams := l.info[b.first:last], l.streams[b.first:last]
	for b.steps < end && b.err == nil {
		l.step(b, x, info, streams)
		step := b.steps
		for c := range info {
			if info[c].Err != nil {
				b.err = fmt.Errorf("sampler: Langevin: chain %d, step %d: %w", b.first+c, step, info[c].Err)
				return
			}
		}
		b.steps++
		if step < l.cfg.Warmup {
			if b.tune != nil {
				b.h = b.tune.Adapt(MeanAccept(info), step, l.cfg.Warmup)
			}
			continue
		}
		b.stats.add(info)
		if after := b.steps - l.cfg.Warmup; l.cfg.Observe != nil && after%l.cfg.Thin == 0 {
			for c := range info {
				l.cfg.Observe(b.first+c, after/l.cfg.Thin-1, x[c*l.sites:(c+1)*l.sites], &info[c])
			}
		}
	}
}

// step moves every chain of a block once.
func (l *Langevin) step(b *langevinBlock, x []float32, info []Info, r []Stream) {
	n := l.sites
	noise := math.Sqrt(2 * b.h)
	for c := range info {
		normal.Fill(b.xi, &r[c])
		for i, xi := range b.xi {
			at := c*n + i
			b.y[at] = float32(float64(x[at]) + float64(b.h*float64(b.s[at])) + float64(noise*float64(xi)))
		}
		if l.cfg.Project != nil {
			l.cfg.Project(b.y[c*n : (c+1)*n])
		}
	}
	l.target.Energy(b.f, b.y)
	l.target.Score(b.r, b.y)
	for c := range info {
		row := func(v []float32) []float32 { return v[c*n : (c+1)*n] }
		valid := !math.IsNaN(b.f[c]) && !math.IsInf(b.f[c], 0) && finite32(row(b.r))
		accept := 1.0
		info[c] = Info{}
		switch {
		case l.cfg.Unadjusted && !valid:
			info[c].Err = fmt.Errorf("energy %v: %w", b.f[c], ErrNaN)
			continue
		case !valid:
			accept = 0
			if !math.IsInf(b.f[c], 1) {
				info[c].Invalid = 1
			}
		case !l.cfg.Unadjusted:
			back := langevinLogProb(row(x), row(b.y), row(b.r), b.h)
			forth := langevinLogProb(row(b.y), row(x), row(b.s), b.h)
			accept = min(1, simd.Exp(b.e[c]-b.f[c]+(back-forth)))
		}
		if l.cfg.Unadjusted || r[c].Float64() < accept {
			copy(row(x), row(b.y))
			copy(row(b.s), row(b.r))
			b.e[c] = b.f[c]
			info[c].Moved = n
		}
		info[c].Energy, info[c].Accept = b.e[c], accept
	}
}

// langevinLogProb returns log q(y|x) up to a constant, −‖y − x − h·s(x)‖²/4h.
func langevinLogProb(y, x, s []float32, h float64) float64 {
	sum := 0.0
	for i, v := range y {
		d := float64(v) - float64(x[i]) - float64(h*float64(s[i]))
		sum += float64(d * d)
	}
	return 0 - sum/(4*h)
}

// finite32 reports whether all of v is finite.
func finite32(v []float32) bool {
	for _, f := range v {
		if f-f != 0 { // Inf − Inf and NaN
			return false
		}
	}
	return true
}
