package train

import (
	"fmt"
	"math"
	"runtime"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Config holds the settings of a [Trainer]. Steps must be set. The zero value of every other
// field is the recommended setting.
type Config struct {
	// Steps is the number of steps of the whole training. The schedule of the learning rate depends
	// on it.
	Steps int

	// Batch is the number of states per step; 0 means 64.
	Batch int

	// Rate is the learning rate after Warmup steps. It then falls along a cosine, to a
	// hundredth of Rate at the end (Loshchilov and Hutter 2017). A Rate of 0 means 1e-3. A
	// Warmup of 0 means 5 % of Steps, and −1 means none.
	Rate   float64
	Warmup int

	// Decay is the weight decay of matrices (AdamW; Loshchilov and Hutter 2019). Each step
	// shrinks them by the factor 1 − rate·Decay. 0 means none.
	Decay float64

	// Clip is the largest norm of the gradient; larger gradients are scaled down. It applies to the
	// gradient of the mean loss per position, or per state if the objective is [Pooled]. 0 means 1.
	Clip float64

	// Average is the decay of the moving average of the weights; 0 means 0.999. Early steps
	// use (1+step)/(10+step) if that is smaller.
	Average float64

	// Rank, if not 0, trains only low-rank changes to the matrices of linear layers (LoRA; Hu et
	// al. 2022). The matrices are W = W_0 + B·A, where A is Rank × inputs and B is outputs × Rank.
	// Decay then applies to A and B. The changes are merged into the weights after every step. Rate
	// should then be about ten times as large as for training all weights.
	Rank int

	// Shards is the number of parts into which a batch is split; 0 means 8. The gradients of
	// the parts are summed in order, so Shards affects the bits of the result. Each part takes
	// the memory of a pass. More workers than Shards do not help.
	Shards int

	// Seed determines the batches and the noise.
	Seed uint64

	// Workers is the number of goroutines; 0 means GOMAXPROCS. It affects only speed.
	Workers int

	// Checkpoint, if its Path is set, saves the training to that file and keeps the previous file
	// as Path.old. The training is saved at the end of every Run, even if the context ended the
	// Run. Every is the number of steps between saves within a Run; 0 means no saves within a Run.
	// A failure to save ends the Run.
	Checkpoint struct {
		Path  string
		Every int
	}
}

// Constants of Adam (Kingma and Ba 2015): decays of the moments, and ε. beta2 is that used to
// train MDLM and other transformers. finalRate is the final learning rate relative to Rate.
const (
	beta1     = 0.9  // decay of the first moment
	beta2     = 0.98 // decay of the second moment, as for MDLM and other transformers
	epsilon   = 1e-8 // ε in the denominator of an update
	finalRate = 0.01 // final learning rate, relative to Rate
)

func (c Config) resolve() (Config, error) {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&c.Batch, 64)
	set(&c.Shards, 8)
	set(&c.Workers, runtime.GOMAXPROCS(0))
	set(&c.Warmup, c.Steps/20)
	if c.Rate == 0 {
		c.Rate = 1e-3
	}
	if c.Clip == 0 {
		c.Clip = 1
	}
	if c.Average == 0 {
		c.Average = 0.999
	}
	switch {
	case c.Steps < 1:
		return c, fmt.Errorf("train: Steps = %d, want ≥ 1", c.Steps)
	case c.Batch < 1 || c.Shards < 1 || c.Workers < 1:
		return c, fmt.Errorf("train: Batch = %d, Shards = %d, Workers = %d, want ≥ 1", c.Batch, c.Shards, c.Workers)
	case !(c.Rate > 0) || math.IsInf(c.Rate, 1):
		return c, fmt.Errorf("train: Rate = %v, want > 0 and finite", c.Rate)
	case !(c.Decay >= 0) || !(c.Clip > 0):
		return c, fmt.Errorf("train: Decay = %v, Clip = %v, want ≥ 0 and > 0", c.Decay, c.Clip)
	case c.Rank < 0:
		return c, fmt.Errorf("train: Rank = %d, want ≥ 0", c.Rank)
	case !(c.Average >= 0 && c.Average < 1):
		return c, fmt.Errorf("train: Average = %v, want 0 ≤ Average < 1", c.Average)
	}
	c.Shards = min(c.Shards, c.Batch)
	return c, check.Defaults("train: Config.", check.Number("Checkpoint.Every", &c.Checkpoint.Every, 0, 0))
}

// rate returns the learning rate of a step, counted from 0.
func (c Config) rate(step int) float64 {
	warm := max(c.Warmup, 0)
	if step < warm {
		return float64(c.Rate*float64(step+1)) / float64(warm+1)
	}
	done := min(1, float64(step-warm)/float64(max(1, c.Steps-warm)))
	return c.Rate * (finalRate + float64((1-finalRate)*0.5*(1+math.Cos(math.Pi*done))))
}
