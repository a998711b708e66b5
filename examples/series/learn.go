package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/training"
)

// Shape and training of the network. It has 235 000 weights for windows of 24 rows of six
// channels.
const (
	width  = 64   // width of the network
	heads  = 2    // attention heads per block
	blocks = 3    // number of blocks
	batch  = 64   // training windows per step
	rate   = 2e-3 // learning rate
	decay  = 0.01 // weight decay
)

// Losses are estimated from judged corruptions each of at most looked windows.
const (
	judged = 8   // corruptions per window for estimating a loss
	looked = 128 // maximum number of windows for estimating a loss
)

// learning holds the options of the network.
type learning struct {
	train      bool
	minutes    float64
	steps      int
	save, load string
}

// check returns an error if the options of the network do not fit together.
func (l learning) check(o *options) error {
	switch {
	case l.train && l.load != "":
		return fmt.Errorf("-train with -load = %q, want one of them: train a network or read one", l.load)
	case l.save != "" && !l.train:
		return fmt.Errorf("-save = %q without -train", l.save)
	case l.minutes != 0 && !l.train:
		return fmt.Errorf("-minutes = %v without -train", l.minutes)
	case !(l.minutes >= 0) || l.minutes > mostMinutes:
		return fmt.Errorf("-minutes = %v, want 0 … %v", l.minutes, float64(mostMinutes))
	case l.steps < 1:
		return fmt.Errorf("-train.steps = %d, want ≥ 1", l.steps)
	case o.denoiser == trainedDenoiser && !l.train && l.load == "":
		return errors.New("-denoiser trained without a network: -train one or -load it")
	case o.denoiser != trainedDenoiser && (l.train || l.load != ""):
		return fmt.Errorf("-denoiser = %q with a network, want trained", o.denoiser)
	case o.fill != "" && o.denoiser == trainedDenoiser:
		return fmt.Errorf("-fill = %q draws from the windows of the file and uses no network", o.fill)
	case o.generate > 0 && o.denoiser != "windows":
		return fmt.Errorf("-generate = %d fits its kernel density and classifier in every run and uses no network: leave out -train, -load and -denoiser", o.generate)
	}
	return nil
}

const (
	trainedDenoiser = "trained"
	mostMinutes     = 1e6
)

// lesson is the part of the report that describes the network.
type lesson struct {
	Weights int `json:"weights"`
	// training steps; 0 if the network was read from a file
	Steps int `json:"steps,omitempty"`
	// training steps made in this run, after those of a checkpoint
	Made int `json:"made,omitempty"`
	// mean squared error per entry of the velocity, on training windows
	Training float64 `json:"training_loss,omitempty"`
	HeldOut  float64 `json:"heldout_loss,omitempty"` // the same error on held-out windows
	Error    float64 `json:"heldout_loss_stderr,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// network trains a network on the training windows, or reads one, and returns its denoiser.
func (p *problem) network(ctx context.Context, o options) (energy.Denoiser[float32], error) {
	if info, err := os.Stat(o.load); err == nil && info.IsDir() {
		return p.published(o.load)
	}
	l := &lesson{}
	p.lesson = l
	shape := neural.Config{Length: p.length, Channels: p.channels(), Width: width, Heads: heads, Blocks: blocks, Cond: width, Positions: true}
	var net *neural.Transformer
	var err error
	if o.load != "" {
		net, err = p.read(o.load, shape)
	} else {
		net, err = p.learn(ctx, o, shape, l)
	}
	if err != nil {
		return nil, err
	}
	l.Weights = len(net.Weights())
	if l.Training, _, err = train.EvaluateReals(ctx, net, train.Flow{}, p.some(p.training), judged, o.seed, runtime.GOMAXPROCS(0)); err != nil {
		return nil, err
	}
	if l.HeldOut, l.Error, err = train.EvaluateReals(ctx, net, train.Flow{}, p.some(p.held), judged, o.seed, runtime.GOMAXPROCS(0)); err != nil {
		return nil, err
	}
	d, err := neural.NewReals(net, neural.Options{})
	if err != nil {
		return nil, err
	}
	return denoise.Velocity{Denoiser: d}, nil
}

// some returns at most looked windows, evenly spread over x.
func (p *problem) some(x []float32) (few []float32) {
	all := len(x) / p.sites()
	count := min(looked, all)
	for k := range count {
		few = append(few, p.window(x, k*all/count)...)
	}
	return few
}

// learn trains the network of -train, or continues from a checkpoint, and saves it.
func (p *problem) learn(ctx context.Context, o options, shape neural.Config, l *lesson) (*neural.Transformer, error) {
	average, err := p.fit(ctx, o, "train", shape, train.Flow{}, p.training, l)
	if err != nil || o.save == "" {
		return average, err
	}
	return average, checkpoint.Write(o.save, func(w io.Writer) error {
		c := average.Config()
		return neural.WriteFile(w, neural.F32, average.Tensors(), map[string]string{
			"length": strconv.Itoa(c.Length), "heads": strconv.Itoa(c.Heads), "block": strconv.Itoa(c.Block), windowsKey: p.digest(),
		})
	})
}

// fit trains a network on data. The name identifies the training in its checkpoint.
func (p *problem) fit(ctx context.Context, o options, name string, shape neural.Config, objective train.RealObjective, data []float32, l *lesson) (*neural.Transformer, error) {
	net, err := neural.New(shape, rand.NewPCG(o.seed, 0))
	if err != nil {
		return nil, err
	}
	t, err := train.NewReals(net, objective, data, train.Config{Steps: o.learning.steps, Batch: batch, Rate: rate, Decay: decay, Seed: o.seed})
	if err != nil {
		return nil, err
	}
	cfg := training.Config{Name: name, Steps: o.learning.steps, Checkpoint: o.Path(name)}
	if err := o.Load(ctx, name, func(context.Context, string) error { return nil }); err != nil { // what is there is gone on from below
		return nil, err
	}
	if o.minutes > 0 {
		cfg.Until = time.Now().Add(time.Duration(o.minutes * float64(time.Minute)))
	}
	start := time.Now()
	if l.Made, err = training.Run(ctx, t, cfg); err != nil {
		return nil, err
	}
	l.Weights, l.Steps, l.Seconds = len(net.Weights()), t.Step(), time.Since(start).Seconds()
	return t.Average(), nil
}

// published reads a network of Diffusion-TS or CSDI from a folder, for windows of this size.
func (p *problem) published(dir string) (energy.Denoiser[float32], error) {
	s, err := pretrained.OpenSeries(dir)
	if err != nil {
		return nil, err
	}
	if s.Length() != p.length || s.Channels() != p.channels() {
		return nil, fmt.Errorf("%s: a network for windows of %d rows of %d channels, the data have %d of %d", dir, s.Length(), s.Channels(), p.length, p.channels())
	}
	p.notes = append(p.notes, fmt.Sprintf("%s does not name the windows that the network was trained on: held-out windows may be among them; they should be in standard deviations from the mean, as here", dir))
	return s, nil
}

// windowsKey is the key of the digest of the training windows in a file of weights.
const windowsKey = "windows"

// digest returns a hash of the training windows.
func (p *problem) digest() string {
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	_ = binary.Write(h, binary.LittleEndian, p.training) // a hash never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// read reads a network for windows of this size. It adds a note if the network was trained on other
// windows, or if the file does not say on which.
func (p *problem) read(path string, shape neural.Config) (*neural.Transformer, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, err
	}
	f, err := neural.ReadFile(path, r, info.Size())
	if err != nil {
		return nil, err
	}
	net, err := neural.Load(f, neural.Config{})
	if err != nil {
		return nil, err
	}
	c := net.Config()
	switch {
	case c.Length != shape.Length || c.Channels != shape.Channels || c.Cond == 0:
		return nil, fmt.Errorf("%s: a network for windows of %d rows of %d channels, the data have %d of %d", path, c.Length, c.Channels, shape.Length, shape.Channels)
	case f.Metadata(windowsKey) == "":
		p.notes = append(p.notes, fmt.Sprintf("%s does not name the windows that the network was trained on: held-out windows may be among them, and their units may differ", path))
	case f.Metadata(windowsKey) != p.digest():
		p.notes = append(p.notes, fmt.Sprintf("%s: the network was trained on other windows than these: held-out windows may be among them, and their units may differ", path))
	}
	return net, nil
}

// history describes the network and its training.
func (l *lesson) history() string {
	s := fmt.Sprintf("network of %d weights", l.Weights)
	switch {
	case l.Made < l.Steps:
		s += fmt.Sprintf(", trained for %d steps, %d of them now in %.0f s", l.Steps, l.Made, l.Seconds)
	case l.Steps > 0:
		s += fmt.Sprintf(", trained for %d steps in %.0f s", l.Steps, l.Seconds)
	}
	return s
}

func (l *lesson) String() string {
	return l.history() + fmt.Sprintf("; squared error of the velocity %.4f on windows for training, %.4f ± %.4f on those held out", l.Training, l.HeldOut, l.Error)
}
