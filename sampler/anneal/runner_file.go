package anneal

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// A checkpoint of annealing is a frame with the settings, one with the position
// and the best states, and what the chains write.
const annealMagic = "gibbsite anneal 1\n"

// scheduleParts is how finely a checkpoint looks at a schedule.
const scheduleParts = 1 << 10

func (a *Runner) settings() *fingerprint.List {
	l := newSettings(a.model, a.method)
	l.Add("Config.Chains", a.cfg.Chains)
	l.Add("Config.First", a.cfg.First)
	l.Add("Config.Count", len(a.e))
	l.Add("Config.Stages", a.cfg.Stages)
	betas := make([]float64, scheduleParts+1)
	for i := range betas {
		betas[i] = a.cfg.Schedule(float64(i) / scheduleParts)
	}
	l.Add("Config.Schedule", digest(betas))
	return l
}

// Save writes a checkpoint: after Load of it, Run of the same number of steps
// goes on to the same bits as if it had not stopped.
func (a *Runner) Save(w io.Writer) error {
	return save("Runner", annealMagic, w, a.settings(), 1, func(_ int, body []byte) ([]byte, error) {
		flags := 0
		if a.way.open {
			flags |= 1
		}
		if a.way.begun {
			flags |= 2
		}
		body = wire.AppendInts(body, flags, a.way.n, a.way.from, a.way.stage)
		body = wire.AppendFloat64s(body, []float64{a.beta})
		body = wire.AppendFloat64s(body, a.e)
		return wire.AppendInt32s(body, a.x), nil
	}, a.chains.Save)
}

// Load restores a checkpoint into a run built with the same arguments; only
// Seed, Init, Workers, Checkpoint and Progress may differ, and the schedule must
// have been the same one. The error for others names the first setting that
// differs. On an error the run is as it was.
func (a *Runner) Load(ctx context.Context, r io.Reader) error {
	n := &Runner{model: a.model, method: a.method, cfg: a.cfg, sites: a.sites, x: make([]int32, len(a.x)), e: make([]float64, len(a.e))}
	limit := uint64(4*len(a.x) + 8*len(a.e) + 64)
	if err := load(ctx, "Runner", annealMagic, r, a.settings(), 1, limit, func(_ int, body []byte) ([]byte, error) {
		return n.readState(body)
	}, func(r io.Reader) error {
		var err error
		if n.chains, err = a.newChains(ctx); err != nil {
			return err
		}
		if n.beta != untargeted {
			if err := n.retarget(ctx, n.chains, n.beta); err != nil {
				return err
			}
		}
		return n.chains.Load(ctx, r)
	}); err != nil {
		return err
	}
	a.x, a.e, a.beta, a.way, a.chains = n.x, n.e, n.beta, n.way, n.chains
	a.filed = a.chains.Len()
	return nil
}

func (a *Runner) readState(body []byte) ([]byte, error) {
	var head [4]uint64
	body, err := wire.ReadUint64s(body, head[:])
	if err != nil {
		return nil, err
	}
	for _, v := range head {
		if v > math.MaxInt {
			return nil, fmt.Errorf("a count of steps = %d, want ≤ %d", v, math.MaxInt)
		}
	}
	if head[0] > 3 || head[3] >= uint64(a.cfg.Stages) || head[1] > math.MaxInt-head[2] {
		return nil, fmt.Errorf("stage %d of %d of a pass of %d steps after %d (%d)", head[3], a.cfg.Stages, head[1], head[2], head[0])
	}
	a.way = way{open: head[0]&1 != 0, begun: head[0]&2 != 0, n: int(head[1]), from: int(head[2]), stage: int(head[3])}
	var beta [1]float64
	if body, err = wire.ReadFloat64s(body, beta[:]); err != nil {
		return nil, err
	}
	if a.beta = beta[0]; a.beta != untargeted && !(a.beta >= 0) {
		return nil, fmt.Errorf("β = %v, want ≥ 0", a.beta)
	}
	if body, err = wire.ReadFloat64s(body, a.e); err != nil {
		return nil, err
	}
	_, levels := a.model.Shape()
	if body, err = readTokens(body, a.x, levels); err != nil {
		return nil, err
	}
	energies := make([]float64, len(a.e))
	a.model.Energy(energies, a.x)
	if err := fingerprint.Energies("energies of the best states", a.e, energies, 1); err != nil {
		return nil, err
	}
	return body, sampler.CheckStart(a.e)
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (a *Runner) SaveFile(path string) error { return durable.SaveFile("anneal: Runner", path, a) }

// LoadFile restores what SaveFile saved, as Load does. If the file path is
// missing or damaged, it restores the generation before it, path.old.
func (a *Runner) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "anneal: Runner", path, a)
}
