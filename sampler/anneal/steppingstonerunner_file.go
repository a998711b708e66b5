package anneal

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint of stepping stones is a frame with the settings, one with the
// finished terms and the states, one for the draws of every stage, empty where
// they are not kept, and what the chains of the stage under way write.
const stoneMagic = "gibbsite stepping stones 1\n"

// partSettings are those of a checkpoint.
func (r *SteppingStoneRunner) partSettings() *fingerprint.List {
	l := r.settings()
	l.Add("SteppingStoneConfig.First", r.cfg.First)
	l.Add("SteppingStoneConfig.Count", r.cfg.Count)
	return l
}

// Save writes a checkpoint: after Load of it, Run goes on to the same bits as if
// it had not stopped.
func (r *SteppingStoneRunner) Save(w io.Writer) error {
	open := 0
	inside := func(io.Writer) error { return nil }
	if r.chains != nil {
		open, inside = 1, r.chains.Save
	}
	return save("SteppingStone", stoneMagic, w, r.partSettings(), 1+len(r.rows), func(i int, body []byte) ([]byte, error) {
		if i == 0 {
			body = wire.AppendInts(body, len(r.terms), open)
			for _, t := range r.terms {
				body = wire.AppendFloat64s(body, []float64{t.value, t.relative})
			}
			return wire.AppendInt32s(body, r.x), nil
		}
		for _, row := range r.rows[i-1] {
			body = wire.AppendFloat64s(body, row)
		}
		return body, nil
	}, inside)
}

// Load restores a checkpoint into a run built with the same arguments; only
// Workers and Checkpoint may differ. The error for others names the first
// setting that differs. On an error the run is as it was.
func (r *SteppingStoneRunner) Load(ctx context.Context, in io.Reader) error {
	n := &SteppingStoneRunner{model: r.model, method: r.method, cfg: r.cfg, betas: r.betas, sites: r.sites, levels: r.levels, way: r.way}
	n.allocate()
	open := false
	limit := uint64(len(r.betas))*16 + uint64(len(n.x))*4 + uint64(r.cfg.Count)*uint64(r.cfg.Draws)*8 + 64
	err := load(ctx, "SteppingStone", stoneMagic, in, r.partSettings(), 1+len(n.rows), limit, func(i int, body []byte) ([]byte, error) {
		if i == 0 {
			var err error
			body, open, err = n.readTerms(body)
			return body, err
		}
		return n.readRows(i-1, open, body)
	}, func(in io.Reader) error {
		if !open {
			return nil
		}
		var err error
		if n.chains, err = n.stageChains(ctx, len(n.terms)); err != nil {
			return err
		}
		return n.chains.Load(ctx, in)
	})
	if err != nil {
		return err
	}
	// The observer of n's chains stores into the rows and the scratch of n, which
	// from now on are those of r.
	r.terms, r.rows, r.x, r.e, r.chains = n.terms, n.rows, n.x, n.e, n.chains
	r.filed = r.made()
	return nil
}

// readTerms reads the finished terms and the states.
func (r *SteppingStoneRunner) readTerms(body []byte) (rest []byte, open bool, err error) {
	var head [2]uint64
	if body, err = wire.ReadUint64s(body, head[:]); err != nil {
		return nil, false, err
	}
	stages := uint64(len(r.rows))
	if head[0] > stages || head[1] > 1 || head[1] == 1 && (head[0] == 0 || head[0] == stages) {
		return nil, false, fmt.Errorf("%d of %d stages finished, %d under way", head[0], stages, head[1])
	}
	for range head[0] {
		var t [2]float64
		if body, err = wire.ReadFloat64s(body, t[:]); err != nil {
			return nil, false, err
		}
		if math.IsNaN(t[0]) || !(t[1] >= 0) {
			return nil, false, fmt.Errorf("a term of log Z = %v ± %v", t[0], t[1])
		}
		r.terms = append(r.terms, term{t[0], t[1]})
	}
	body, err = readTokens(body, r.x, r.levels)
	return body, head[1] == 1, err
}

// readRows reads the draws of stage k.
func (r *SteppingStoneRunner) readRows(k int, open bool, body []byte) ([]byte, error) {
	kept := k < len(r.terms) && r.cfg.Count < r.cfg.Chains || open && k == len(r.terms)
	if !kept {
		return body, nil
	}
	r.rows[k] = r.newRows()
	var err error
	for _, row := range r.rows[k] {
		if body, err = wire.ReadFloat64s(body, row); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (r *SteppingStoneRunner) SaveFile(path string) error {
	return durable.SaveFile("anneal: SteppingStone", path, r)
}

// LoadFile restores what SaveFile saved, as Load does. If the file path is
// missing or damaged, it restores the generation before it, path.old.
func (r *SteppingStoneRunner) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "anneal: SteppingStone", path, r)
}
