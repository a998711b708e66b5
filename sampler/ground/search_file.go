package ground

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// A checkpoint is a frame with the settings, one with the position and the best
// states, and one per search.
const magic = "gibbsite ground 1\n"

// method is the part of a Config that says how a search moves.
type method struct{ Sweeps int }

func (method) Name() string { return "Config" }

func (s *Search) settings() *fingerprint.List {
	l := &fingerprint.List{}
	l.Sites, l.Levels = s.model.Shape()
	l.Add("sites", l.Sites)
	probe.Target(l.Add, s.model, method{s.cfg.Sweeps}, sampler.NewStream(probe.States, 0).IntN)
	l.Add("Config.Chains", s.cfg.Chains)
	return l
}

// Save writes a checkpoint, also in the middle of a round that a context has ended.
func (s *Search) Save(w io.Writer) error {
	if check.Nil(w) {
		return fmt.Errorf("ground: Search: Save: w = nil")
	}
	err := durable.Write(w, magic, s.settings(), 1+len(s.seekers), func(i int, body []byte) ([]byte, error) {
		if i > 0 {
			return s.seekers[i-1].append(body), nil
		}
		body = wire.AppendInts(body, s.rounds, s.lent)
		body = wire.AppendFloat64s(body, s.e)
		return wire.AppendInt32s(body, s.x), nil
	}, nil)
	if err != nil {
		return fmt.Errorf("ground: Search: Save: %w", err)
	}
	return nil
}

// Load restores a checkpoint into a search built with the same arguments; only Seed,
// Init, Workers, Stop, Checkpoint and Progress may differ. The error for others names
// the first setting that differs. On an error the search is as it was.
func (s *Search) Load(ctx context.Context, r io.Reader) error {
	if check.Nil(r) {
		return fmt.Errorf("ground: Search: Load: r = nil")
	}
	n, err := New(s.model, s.cfg)
	if err != nil {
		return err
	}
	limit := uint64(64*s.sites + 4*len(s.x) + 8*len(s.e) + 4096)
	frames := func() int { return 1 + len(s.seekers) }
	if err := durable.Read(ctx, r, magic, s.settings(), frames, limit, n.frame, nil); err != nil {
		return fmt.Errorf("ground: Search: Load: %w", err)
	}
	s.rounds, s.lent, s.e, s.x, s.seekers = n.rounds, n.lent, n.e, n.x, n.seekers
	s.filed = s.rounds
	return nil
}

// frame reads frame i of a checkpoint.
func (s *Search) frame(i int, body []byte) ([]byte, error) {
	if i > 0 {
		body, err := s.seekers[i-1].read(body, s.sweeps())
		if made := s.seekers[i-1].rounds(); err == nil && made != s.rounds && made != s.rounds+1 {
			return nil, fmt.Errorf("a search has made %d rounds, want %d or one more", made, s.rounds)
		}
		return body, err
	}
	var at [2]uint64
	body, err := wire.ReadUint64s(body, at[:])
	if err != nil {
		return nil, err
	}
	if at[0] >= math.MaxInt || at[1] >= uint64(len(s.seekers)) {
		return nil, fmt.Errorf("%d rounds and %d searches more, want < %d searches", at[0], at[1], len(s.seekers))
	}
	s.rounds, s.lent = int(at[0]), int(at[1])
	if body, err = wire.ReadFloat64s(body, s.e); err != nil {
		return nil, err
	}
	if body, err = wire.ReadInt32s(body, s.x); err != nil {
		return nil, err
	}
	for k, v := range s.x {
		if v != 0 && v != 1 {
			return nil, fmt.Errorf("token %d = %d, want 0 or 1", k, v)
		}
	}
	energies := make([]float64, len(s.e))
	s.model.Energy(energies, s.x)
	if err := fingerprint.Energies("energies of the best states", s.e, energies, 1); err != nil {
		return nil, err
	}
	return body, sampler.CheckStart(s.e)
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it and
// the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (s *Search) SaveFile(path string) error { return durable.SaveFile("ground: Search", path, s) }

// LoadFile restores what SaveFile saved, as Load does. If the file path is missing or
// damaged, it restores the generation before it, path.old.
func (s *Search) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "ground: Search", path, s)
}
