package pretrained

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Series is the denoiser of a published network for time series: Diffusion-TS (Yuan and Qiao 2024)
// or CSDI (Tashiro et al. 2021). A state is a window of a series: Length rows of Channels numbers,
// in the units of the training data. Any noise schedule may be used: each signal level is converted
// to the number of a training step. For CSDI this number is rounded to a whole step.
//
// Concurrent calls are safe but run one after another. Calls allocate nothing.
type Series struct {
	mu  sync.Mutex
	net seriesNet
}

// seriesNet is a network for time series, with its scratch.
type seriesNet interface {
	shape() (length, channels int)

	// predict stores in y the prediction for the window x at the signal level alpha. Entries
	// marked as clean are known; nil means none.
	predict(y, x []float32, clean []bool, alpha float64)
}

// OpenSeries reads the network in the folder dir. The folder holds model.safetensors, with the
// state_dict of the authors' model, and config.json. The file config.json holds the settings of the
// authors' configuration as JSON:
//
//   - for Diffusion-TS the members of model.params: seq_length, feature_size, n_layer_enc,
//     n_layer_dec, d_model, timesteps, n_heads, mlp_hidden_times, kernel_size and padding_size;
//   - for CSDI the objects diffusion (layers, channels, nheads, diffusion_embedding_dim,
//     beta_start, beta_end, num_steps, schedule, is_linear) and model (is_unconditional, timeemb,
//     featureemb). The authors' files have no seq_length; add the number of rows of a window.
//
// Settings that concern only training or sampling are ignored.
//
// OpenSeries returns an error if a key or tensor is missing, does not belong to the network, or has
// the wrong shape or type. The error names the file and the key or tensor.
func OpenSeries(dir string) (*Series, error) {
	return OpenSeriesFS(durable.Disk{}, filepath.ToSlash(dir))
}

// OpenSeriesFS does the same as [OpenSeries] for a folder of a file system, such as one of package
// embed. The root folder is ".".
func OpenSeriesFS(fsys fs.FS, dir string) (*Series, error) {
	if check.Nil(fsys) {
		return nil, fmt.Errorf("pretrained: OpenSeries: fsys = nil, want a file system")
	}
	name := path.Join(dir, "config.json")
	r, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("pretrained: OpenSeries: %w", err)
	}
	defer r.Close()
	all, err := readObject(name, r)
	if err != nil {
		return nil, err
	}
	f, err := neural.OpenFS(fsys, path.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, fmt.Errorf("pretrained: OpenSeries: %w", err)
	}
	var s seriesNet
	if _, ok := all["diffusion"]; ok {
		s, err = loadCSDI(name, all, f)
	} else {
		s, err = loadDiffusionTS(name, all, f)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	return &Series{net: s}, nil
}

// seriesLoader reads layers from a file until the first error.
type seriesLoader struct{ loader }

// linear reads a layer whose weights have one entry for each output and input. The matrix of a
// convolution of one row has the shape out × in × 1.
func (l *seriesLoader) linear(name string, out, in dim, conv ...dim) layer.Linear {
	return layer.Linear{In: in.n, Out: out.n, Weight: l.numbers(name+".weight", append([]dim{out, in}, conv...)...), Bias: l.numbers(name+".bias", out)}
}

// left returns an error if the file has a tensor that has not been read. The error names the
// network and a number of its blocks.
func (l *seriesLoader) left(network, key string, blocks int) error {
	for _, name := range l.f.Names() {
		if !l.known[name] {
			return fmt.Errorf("pretrained: %s: tensor %q has no place in %s with %s = %d", l.f.Source(name), name, network, key, blocks)
		}
	}
	return nil
}

// Length returns the number of rows (times) of a state, which is a window of a series.
func (s *Series) Length() int {
	length, _ := s.net.shape()
	return length
}

// Channels returns the number of channels, which is the number of values in a row.
func (s *Series) Channels() int {
	_, channels := s.net.shape()
	return channels
}

// Shape returns Length × Channels as the number of sites, and 1 as the number of levels.
func (s *Series) Shape() (sites, levels int) { return s.Length() * s.Channels(), 1 }

// Denoise stores in v the predicted clean windows of the series; it implements [energy.Denoiser].
// It returns an error that names the state if its signal level is out of range or its outputs are
// not finite.
func (s *Series) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	sites, _ := s.Shape()
	n := q.States(sites)
	check.Len("pretrained", "v", len(v), n*sites)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		if a := q.Alpha[i]; !(a >= 0 && a <= 1) {
			return fmt.Errorf("pretrained: Series: state %d: ᾱ = %v, want 0 … 1", i, a)
		}
		y := v[i*sites : (i+1)*sites]
		var clean []bool
		if q.Clean != nil {
			clean = q.Clean[i*sites : (i+1)*sites]
		}
		s.net.predict(y, q.X[i*sites:(i+1)*sites], clean, q.Alpha[i])
		if sum := simd.Sum(y); !check.Finite(sum) {
			return fmt.Errorf("pretrained: Series: state %d: the outputs add up to %v, want finite numbers", i, sum)
		}
	}
	for i, known := range q.Clean {
		if known {
			v[i] = q.X[i]
		}
	}
	return nil
}
