package unmask_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact/problem"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

// The table of what samplers cost is printed by
//
//	go test ./sampler/diffusion/unmask -run CostTable -v -chains 12
//
// Without the flag one problem keeps the code in use.
var chains = flag.Int("chains", 1, "problems in TestCostTable")

const (
	sites = problem.ChainSites
	mask  = problem.ChainTokens
)

// subject is a problem and what samples from it.
type subject struct {
	*problem.Chain
	model   *denoise.Markov
	metered *denoise.Metered
	path    projection.Path
	seed    uint64
}

// contender draws the samples of the table.
type contender struct {
	name string
	draw func(ctx context.Context, s *subject, x []int32) error
}

// stepped is a process with the language as its projection.
func stepped(name string, p func(s *subject) diffusion.Process[int32], steps int) contender {
	return contender{name, func(ctx context.Context, s *subject, x []int32) error {
		d, err := diffusion.New(ctx, s.metered, p(s), diffusion.Config{Steps: steps, Seed: s.seed, Projector: s.path})
		if err != nil {
			return err
		}
		return d.Sample(ctx, x)
	}}
}

func always(p diffusion.Process[int32]) func(*subject) diffusion.Process[int32] {
	return func(*subject) diffusion.Process[int32] { return p }
}

func particles(n int) contender {
	return contender{fmt.Sprintf("Particles, %d", n), func(ctx context.Context, s *subject, x []int32) error {
		f, err := diffusion.NewParticles(ctx, s.metered, diffusion.Masked{Mask: mask, FirstHitting: true}, diffusion.ParticlesConfig{
			Config: diffusion.Config{Seed: s.seed, Projector: s.path}, Particles: n,
		})
		if err != nil {
			return err
		}
		return f.Sample(ctx, x)
	}}
}

func backtrack(visits int) contender {
	return contender{fmt.Sprintf("unmask.Backtrack, %d visits", visits), func(ctx context.Context, s *subject, x []int32) error {
		b, err := unmask.NewBacktrack(ctx, s.metered, unmask.BacktrackConfig{
			Config: unmask.Config{Seed: s.seed, Projector: s.path}, Mask: mask, Visits: visits,
		})
		if err != nil {
			return err
		}
		return b.Sample(ctx, x)
	}}
}

// plain draws without the language until there are enough in it.
func plain(ctx context.Context, s *subject, x []int32) error {
	d, err := diffusion.New(ctx, s.metered, diffusion.Masked{Mask: mask, FirstHitting: true}, diffusion.Config{Seed: s.seed})
	if err != nil {
		return err
	}
	for y := make([]int32, sites); len(x) > 0; {
		if err := d.Sample(ctx, y); err != nil {
			return err
		}
		if s.Accepts(y) {
			x = x[copy(x, y):]
		}
	}
	return nil
}

// rejection is the sampler that must come as near as exact draws.
func rejection(ctx context.Context, s *subject, x []int32) error {
	r, err := unmask.NewRejection(ctx, s.metered, diffusion.Masked{Mask: mask, FirstHitting: true}, unmask.RejectionConfig{
		Config: unmask.Config{Seed: s.seed, Projector: s.path},
	})
	if err != nil {
		return err
	}
	return r.Sample(ctx, x)
}

// chainPath draws from the chain itself, which it knows.
func chainPath(ctx context.Context, s *subject, x []int32) error {
	c, err := prior.Path{HMM: prior.Markov(s.Start, s.Trans), Language: s.Language}.Compile(ctx, sites, mask)
	if err != nil {
		return err
	}
	v := make([]float32, sites*mask)
	r := sampler.NewStream(s.seed, 0)
	for ; len(x) > 0; x = x[sites:] {
		if _, err := c.Draw(ctx, x[:sites], v, r); err != nil {
			return err
		}
	}
	return nil
}

// paced is the best schedule of three steps by the information curve.
func paced(s *subject) diffusion.Process[int32] {
	d, err := diffusion.New(context.Background(), s.model, unmask.Scheduled{Mask: mask}, diffusion.Config{Seed: s.seed + 1})
	if err != nil {
		panic(err)
	}
	x := make([]int32, 400*sites)
	if err := d.Sample(context.Background(), x); err != nil {
		panic(err)
	}
	curve, err := unmask.Information(context.Background(), s.model, mask, x, s.seed)
	if err != nil {
		panic(err)
	}
	counts, _, err := curve.Plan(3)
	if err != nil {
		panic(err)
	}
	return unmask.Scheduled{Mask: mask, Counts: counts}
}

var contenders = []contender{
	{"until in the language", plain},
	particles(64), particles(16),
	{"unmask.Rejection", rejection},
	backtrack(1), backtrack(4), backtrack(16),
	stepped("Masked, first hitting", always(diffusion.Masked{Mask: mask, FirstHitting: true}), 0),
	stepped("Masked, 3 steps", always(diffusion.Masked{Mask: mask}), 3),
	stepped("Ordered, 6 steps", always(diffusion.Ordered{Mask: mask}), 6),
	stepped("Ordered by margin, 6 steps", always(diffusion.Ordered{Mask: mask, Score: diffusion.ScoreMargin}), 6),
	stepped("Ordered by entropy, 6 steps", always(diffusion.Ordered{Mask: mask, Score: diffusion.ScoreEntropy}), 6),
	stepped("Remask, 6 steps", always(diffusion.Remask{Mask: mask}), 6),
	stepped("Remask, 24 steps", always(diffusion.Remask{Mask: mask, Eta: 0.2}), 24),
	stepped("unmask.Scheduled, planned 3 steps", paced, 0),
	stepped("unmask.EntropyBound, .1", always(unmask.EntropyBound{Mask: mask, Bound: 0.1}), 0),
	stepped("unmask.EntropyBound, .5", always(unmask.EntropyBound{Mask: mask, Bound: 0.5}), 0),
	stepped("unmask.Threshold, .9", always(unmask.Threshold{Mask: mask}), 0),
	stepped("unmask.Planned, 3 steps", always(unmask.Planned{Mask: mask}), 3),
	stepped("unmask.Blocks, 2 sites", always(unmask.Blocks{Mask: mask, Size: 2}), 0),
	{"prior.Path, the chain known", chainPath},
}

// TestCostTable measures the total variation of 1000 draws to p(·|C), next to that
// of independent draws, and the predictions that a draw takes, with the problems
// of the reference experiment: the states that the denoiser sees, and with a
// cache of all states those that it must predict.
func TestCostTable(t *testing.T) {
	ctx := context.Background()
	tableDraws := 1000
	if *chains < 12 {
		tableDraws = 50
	}
	r := rand.New(rand.NewPCG(2026, 5))
	distance, rows := make([]float64, len(contenders)), make([]float64, len(contenders))
	asked, least := make([]float64, len(contenders)), 0.0
	for n := range *chains {
		s := &subject{Chain: problem.NewChain(t, r), seed: uint64(100 + n)}
		m, err := model.NewMarkov(sites, problem.ChainTokens, 1, s.Start, s.Trans)
		require.NoError(t, err)
		s.model, err = denoise.NewMarkov(m, denoise.Absorbing)
		require.NoError(t, err)
		s.path = projection.Path{Language: s.Language}
		x := make([]int32, tableDraws*sites)
		for k, c := range contenders {
			s.metered, err = denoise.NewMetered(s.model, mask, 4096)
			require.NoError(t, err)
			require.NoError(t, c.draw(ctx, s, x), c.name)
			for i := 0; i < len(x); i += sites {
				require.True(t, s.Accepts(x[i:i+sites]), c.name)
			}
			cost := s.metered.Cost()
			distance[k] += s.Distance(x) / float64(*chains)
			rows[k] += float64(cost.Rows-cost.Shown) / float64(tableDraws**chains)
			asked[k] += float64(cost.Asked) / float64(tableDraws**chains)
		}
		least += s.Noise(r, tableDraws) / float64(*chains)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d chains × automata, %d draws each, exact draws %.4f\n", *chains, tableDraws, least)
	fmt.Fprintf(&b, "%-36s %8s %8s %12s %12s\n", "sampler", "TV", "× exact", "predictions", "with a cache")
	for k, c := range contenders {
		fmt.Fprintf(&b, "%-36s %8.4f %8.2f %12.1f %12.2f\n", c.name, distance[k], distance[k]/least, rows[k], asked[k])
	}
	t.Log(b.String())
	if *chains < 12 {
		return
	}
	at := func(name string) int {
		for k, c := range contenders {
			if c.name == name {
				return k
			}
		}
		t.Fatal(name)
		return 0
	}
	best := at("unmask.Rejection")
	require.LessOrEqual(t, distance[best], 1.1*least)
	require.LessOrEqual(t, rows[best], rows[at("Particles, 64")]/4)
}
