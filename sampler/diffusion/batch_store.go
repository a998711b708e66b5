package diffusion

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings, one with the number of samples and, if
// some were given up, the number of those, these with the reasons in frames of
// faultsPerFrame, and the samples, in frames of about frameSize bytes; see
// [durable.Write].
const (
	magic          = "gibbsite samples 1\n"
	frameSize      = 1 << 20
	faultsPerFrame = 256
	faultSize      = 24 + mostText
)

// framesFor returns the number of frames that hold n things.
func framesFor(n, per int) int { return (n + per - 1) / per }

// write writes a checkpoint: all samples that are kept.
func (d *batch[S]) write(w io.Writer) error {
	switch {
	case d.kept.settings == nil:
		return fmt.Errorf("diffusion: Save: Config.Checkpoint.Path = %q, want a path: without one no samples are kept", "")
	case check.Nil(w):
		return fmt.Errorf("diffusion: Save: w = nil")
	}
	f := &d.kept
	n := len(f.given)
	per, faults := d.perFrame(), framesFor(len(f.fault), faultsPerFrame)
	err := durable.Write(w, magic, f.settings, 1+faults+framesFor(n, per), func(i int, body []byte) ([]byte, error) {
		switch {
		case i == 0 && faults == 0:
			return wire.AppendInts(body, n), nil
		case i == 0:
			return wire.AppendInts(body, n, len(f.fault)), nil
		case i <= faults:
			return appendFaults(body, f.fault[(i-1)*faultsPerFrame:min(i*faultsPerFrame, len(f.fault))]), nil
		}
		i -= faults
		from, to := (i-1)*per, min(i*per, n)
		body = wire.AppendUint64s(body, f.given[from:to]...)
		if len(f.weight) > 0 {
			body = wire.AppendFloat64s(body, f.weight[from:to])
		}
		switch x := any(f.x).(type) {
		case []int32:
			body = wire.AppendInt32s(body, x[from*d.sites:to*d.sites])
		case []float32:
			body = wire.AppendFloat32s(body, x[from*d.sites:to*d.sites])
		}
		return body, nil
	}, nil)
	if err != nil {
		return fmt.Errorf("diffusion: Save: %w", err)
	}
	return nil
}

// perFrame returns the number of samples in a frame.
func (d *batch[S]) perFrame() int { return max(1, frameSize/(4*d.sites+16)) }

// read reads what write wrote.
func (d *batch[S]) read(ctx context.Context, r io.Reader, weighed bool) error {
	switch {
	case d.kept.settings == nil:
		return fmt.Errorf("Config.Checkpoint.Path = %q, want a path", "")
	case check.Nil(r):
		return fmt.Errorf("r = nil")
	case d.made > 0 || len(d.kept.given) > 0:
		return fmt.Errorf("the runner has %d samples, want a new one", max(d.made, len(d.kept.given)))
	case d.kept.broken != nil:
		return d.kept.broken
	}
	f := finished[S]{settings: d.kept.settings}
	frames, left, faults, per := 1, 0, 0, d.perFrame()
	limit := max(uint64(per)*uint64(4*d.sites+16), faultsPerFrame*faultSize)
	err := durable.Read(ctx, r, magic, f.settings, func() int { return frames }, limit, func(i int, body []byte) (rest []byte, err error) {
		switch {
		case i == 0:
			if left, faults, body, err = d.readNumbers(body); err == nil {
				frames += framesFor(faults, faultsPerFrame) + framesFor(left, per)
			}
			return body, err
		case faults > 0:
			n := min(faults, faultsPerFrame)
			faults -= n
			return readFaults(&f.fault, n, left, body)
		}
		n := min(left, per)
		left -= n
		return d.readSamples(&f, n, body, weighed)
	}, nil)
	if err != nil {
		return err
	}
	if d.committer != nil {
		x, _ := any(f.x).([]int32)
		if err := d.recall(&f, x); err != nil {
			d.kept.broken = fmt.Errorf("diffusion: the runner cannot be used: its projection did not recall a checkpoint: %w", err)
			return err
		}
	}
	f.filed = len(f.given)
	d.kept = f
	return nil
}

// readNumbers reads the number of samples and of those that were given up.
func (d *batch[S]) readNumbers(body []byte) (samples, faults int, rest []byte, err error) {
	var n [2]uint64
	if body, err = wire.ReadUint64s(body, n[:1]); err == nil && len(body) > 0 {
		body, err = wire.ReadUint64s(body, n[1:])
	}
	if err == nil && (n[0] > uint64(math.MaxInt/(4*d.sites+16)) || n[1] > n[0]) {
		err = fmt.Errorf("%d samples of %d sites, %d of them given up", n[0], d.sites, n[1])
	}
	return int(n[0]), int(n[1]), body, err
}

// readSamples reads n samples.
func (d *batch[S]) readSamples(f *finished[S], n int, body []byte, weighed bool) (rest []byte, err error) {
	given, x := make([]uint64, n), make([]S, n*d.sites)
	if body, err = wire.ReadUint64s(body, given); err != nil {
		return nil, err
	}
	if weighed {
		weight := make([]float64, n)
		if body, err = wire.ReadFloat64s(body, weight); err != nil {
			return nil, err
		}
		f.weight = append(f.weight, weight...)
	}
	switch x := any(x).(type) {
	case []int32:
		body, err = wire.ReadInt32s(body, x)
		for i, l := range x {
			if ok := l == -1 && f.why(len(f.given)+i/d.sites) != nil; !ok && (l < 0 || int(l) >= d.levels) {
				return nil, fmt.Errorf("token of site %d of sample %d = %d, want 0 … %d", i%d.sites, d.cfg.First+len(f.given)+i/d.sites, l, d.levels-1)
			}
		}
	case []float32:
		body, err = wire.ReadFloat32s(body, x)
	}
	f.given, f.x = append(f.given, given...), append(f.x, x...)
	return body, err
}

// recall tells the projection of the samples x of f, but for those given up.
func (d *batch[S]) recall(f *finished[S], x []int32) error {
	memory, _ := d.projection.(Recaller) // New has asked
	for i := 0; i < len(x); i += d.sites {
		if f.why(i/d.sites) != nil {
			continue
		}
		if err := memory.Recall(x[i : i+d.sites]); err != nil {
			return fmt.Errorf("sample %d: %w", i/d.sites, err)
		}
	}
	return nil
}
