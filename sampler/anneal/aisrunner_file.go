package anneal

import (
	"context"
	"fmt"
	"hash/crc64"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint of AIS is a frame with the settings, one for every block of
// chains and one for the end; see [durable.Write].
const aisMagic = "gibbsite ais 1\n"

// Save writes a checkpoint: after Load of it, Run goes on to the same bits as if
// it had not stopped.
func (a *AISRunner) Save(w io.Writer) error {
	l := a.list()
	return save("AIS", aisMagic, w, l, len(a.stage), func(b int, body []byte) ([]byte, error) {
		first := b * a.size
		last := min(first+a.size, a.cfg.Count)
		body = wire.AppendInts(body, a.stage[b])
		body = wire.AppendInt32s(body, a.x[first*a.sites:last*a.sites])
		body = wire.AppendFloat64s(body, a.logw[first:last])
		return appendStreams(body, a.streams[first:last]), nil
	}, nil)
}

// list returns the settings that a checkpoint must agree on: of the run and of its
// part.
func (a *AISRunner) list() *fingerprint.List {
	l := a.settings()
	l.Add("AISConfig.First", a.cfg.First)
	l.Add("AISConfig.Count", a.cfg.Count)
	if a.cfg.Exact != nil {
		sum := crc64.Checksum(wire.AppendInt32s(nil, a.cfg.Exact), crc64.MakeTable(crc64.ECMA))
		l.Text("checksum of AISConfig.Exact", fmt.Sprintf("%016x", sum))
	}
	return l
}

// Load restores a checkpoint into a run built with the same arguments; only
// Workers and Checkpoint may differ. The error for others names the first
// setting that differs. On an error the run is as it was.
func (a *AISRunner) Load(ctx context.Context, r io.Reader) error {
	l := a.list()
	n := AISRunner{sites: a.sites, cfg: a.cfg, size: a.size}
	n.allocate()
	limit := uint64(a.size)*uint64(4*a.sites+64) + 64
	if err := load(ctx, "AIS", aisMagic, r, l, len(n.stage), limit, func(b int, in []byte) ([]byte, error) {
		first := b * a.size
		last := min(first+a.size, a.cfg.Count)
		var stage [1]uint64
		in, err := wire.ReadUint64s(in, stage[:])
		if err == nil && stage[0] > uint64(a.cfg.Stages) {
			err = fmt.Errorf("stage = %d, want 0 … %d", stage[0], a.cfg.Stages)
		}
		if err != nil {
			return nil, err
		}
		n.stage[b] = int(stage[0])
		if in, err = readTokens(in, n.x[first*a.sites:last*a.sites], a.levels); err != nil {
			return nil, err
		}
		if in, err = wire.ReadFloat64s(in, n.logw[first:last]); err != nil {
			return nil, err
		}
		for s, v := range n.logw[first:last] {
			if !(v < math.Inf(1)) {
				return nil, fmt.Errorf("log-weight of chain %d = %v, want < +Inf", a.cfg.First+first+s, v)
			}
		}
		return readStreams(in, n.streams[first:last])
	}, nil); err != nil {
		return err
	}
	a.x, a.logw, a.streams, a.stage = n.x, n.logw, n.streams, n.stage
	a.filed = a.Stage()
	return nil
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (a *AISRunner) SaveFile(path string) error {
	return durable.SaveFile("anneal: AIS", path, a)
}

// LoadFile restores what SaveFile saved, as Load does. If the file path is
// missing or damaged, it restores the generation before it, path.old.
func (a *AISRunner) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "anneal: AIS", path, a)
}
