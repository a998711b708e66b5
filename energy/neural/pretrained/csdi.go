package pretrained

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// csdi is a network of CSDI (Tashiro et al. 2021). It predicts the noise ε̂ of a window from gated
// residual blocks, each of which attends over time and over the channels, and so the clean window
// (x_t − √(1−ᾱ)·ε̂)/√ᾱ. Unless it is unconditional, it receives known entries and which these are.
type csdi struct {
	length, channels int // of a window
	width, inputs    int // features of an entry, and numbers that it begins with
	side             int // numbers that describe an entry: its row, its channel, and whether it is known
	unconditional    bool
	levels           []float64 // signal level at each step, descending
	step1, step2     layer.Linear
	input            layer.Linear
	output1, output2 layer.Linear
	blocks           []csdiBlock

	x, y, skip           []float32 // features of all entries, time first
	turned, qkv, f       []float32
	wide, both           []float32
	described, entry     []float32
	table, mid, features []float32 // of the step
	shift, scale, out    []float32
	probs, work          []float32
	overTime, overRow    layer.Attention
}

type csdiBlock struct {
	step, side, mid, out layer.Linear
	time, feature        csdiEncoder
}

// csdiEncoder is a TransformerEncoderLayer of PyTorch, with norms after the sums.
type csdiEncoder struct {
	qkv, proj, up, down layer.Linear
	norm1, norm2        layer.Norm
}

// csdiHidden is the number of hidden units of the attention layers, which the authors' code fixes.
const csdiHidden = 64

// mostSteps is the largest number of steps of a training.
const mostSteps = 1 << 20

// loadCSDI reads a network from f. The configuration all is that of the file name.
func loadCSDI(name string, all map[string]any, f *neural.File) (*csdi, error) {
	fail := func(format string, args ...any) (*csdi, error) {
		return nil, fault(name, format, args...)
	}
	part := func(key string) map[string]any {
		m, _ := all[key].(map[string]any)
		return m
	}
	diffusion, model := &wholes{name: name + ": diffusion", all: part("diffusion")}, &wholes{name: name + ": model", all: part("model")}
	top := &wholes{name: name, all: all}
	c := &csdi{length: top.get("seq_length", 2, 0), width: diffusion.get("channels", 1, 0)}
	blocks, heads := diffusion.get("layers", 1, 0), diffusion.get("nheads", 1, 0)
	size, steps := diffusion.get("diffusion_embedding_dim", 4, 0), diffusion.get("num_steps", 1, 0)
	times, features := model.get("timeemb", 2, 0), model.get("featureemb", 1, 0)
	for _, w := range []*wholes{top, diffusion, model} {
		if w.err != nil {
			return nil, w.err
		}
	}
	if v := diffusion.all["is_linear"]; v != nil && v != false {
		return fail("diffusion: is_linear = %s, want false", check.Clip(fmt.Sprint(v)))
	}
	switch v := model.all["is_unconditional"].(type) {
	case bool:
		c.unconditional = v
	case float64:
		c.unconditional = v != 0
	default:
		return fail("model: is_unconditional = %s, want true or false", check.Clip(fmt.Sprint(v)))
	}
	first, _ := diffusion.all["beta_start"].(float64)
	last, _ := diffusion.all["beta_end"].(float64)
	if !(first > 0 && first <= last && last < 1) {
		return fail("diffusion: beta_start = %s and beta_end = %s, want numbers with 0 < beta_start ≤ beta_end < 1", check.Clip(fmt.Sprint(diffusion.all["beta_start"])), check.Clip(fmt.Sprint(diffusion.all["beta_end"])))
	}
	kind := diffusion.all["schedule"]
	if kind != "quad" && kind != "linear" {
		return fail("diffusion: schedule = %s, want quad or linear", check.Clip(fmt.Sprint(kind)))
	}
	if c.width%heads != 0 || size%2 != 0 || times%2 != 0 {
		return fail("diffusion: channels = %d, diffusion_embedding_dim = %d and model: timeemb = %d, want a multiple of nheads = %d and even numbers", c.width, size, times, heads)
	}
	if steps > mostSteps {
		return fail("diffusion: num_steps = %d, want ≤ %d", steps, mostSteps)
	}
	const channels = "embed_layer.weight"
	shape, ok := f.Shape(channels)
	if !ok || len(shape) != 2 || shape[0] < 1 || shape[0] > most {
		return nil, fmt.Errorf("pretrained: %s: tensor %q has shape %v, want [channels of a window, featureemb]", f.Source(channels), channels, shape)
	}
	c.channels = shape[0]
	if err := check.Entries("pretrained: OpenSeries", "seq_length × channels of a window × the widest row", c.length, max(c.channels, c.length), max(3*c.width, csdiHidden, times+features+1)); err != nil {
		return nil, err
	}
	if err := check.Entries("pretrained: OpenSeries", "seq_length or channels of a window, squared", max(c.length, c.channels), max(c.length, c.channels)); err != nil {
		return nil, err
	}
	signal := 1.0
	for i := range steps {
		u := float64(i) / float64(max(1, steps-1))
		beta := first + float64((last-first)*u)
		if kind == "quad" {
			root := math.Sqrt(first) + float64((math.Sqrt(last)-math.Sqrt(first))*u)
			beta = root * root
		}
		if signal *= 1 - beta; !(signal > 0 && signal < 1) {
			return fail("diffusion: beta_start = %v and beta_end = %v make the signal level of step %d %v, want 0 … 1 exclusive", first, last, i, signal)
		}
		c.levels = append(c.levels, signal)
	}
	c.inputs, c.side = 2, times+features+1
	if c.unconditional {
		c.inputs, c.side = 1, times+features
	}
	l := seriesLoader{loader{f: f, known: map[string]bool{}}}
	embedding := c.load(&l, blocks, size, features)
	if l.err != nil {
		return nil, l.err
	}
	if err := l.left("a CSDI network", "layers", blocks); err != nil {
		return nil, err
	}
	c.overTime = layer.Attention{Length: c.length, Width: c.width, Heads: heads}
	c.overRow = layer.Attention{Length: c.channels, Width: c.width, Heads: heads}
	c.scratch(size)
	c.describe(embedding, times, features)
	return c, nil
}

// load reads all weights and returns the embedding of the channels.
func (c *csdi) load(l *seriesLoader, blocks, size, features int) (embedding []float32) {
	one, width, twice := dim{1, "1"}, dim{c.width, "channels"}, dim{2 * c.width, "2·channels"}
	step, side, hidden := dim{size, "diffusion_embedding_dim"}, dim{c.side, "timeemb + featureemb"}, dim{csdiHidden, "64"}
	if !c.unconditional {
		side.key += " + 1"
	}
	embedding = l.numbers("embed_layer.weight", dim{c.channels, "channels of a window"}, dim{features, "featureemb"})
	const at = "diffmodel."
	c.step1, c.step2 = l.linear(at+"diffusion_embedding.projection1", step, step), l.linear(at+"diffusion_embedding.projection2", step, step)
	c.input = l.linear(at+"input_projection", width, dim{c.inputs, "inputs"}, one)
	c.output1, c.output2 = l.linear(at+"output_projection1", width, width, one), l.linear(at+"output_projection2", one, width, one)
	norm := func(name string) layer.Norm {
		return layer.Norm{Width: c.width, Gain: l.numbers(name+".weight", width), Bias: l.numbers(name+".bias", width)}
	}
	encoder := func(name string) csdiEncoder {
		name += ".layers.0."
		triple := dim{3 * c.width, "3·channels"}
		return csdiEncoder{
			qkv:  layer.Linear{In: c.width, Out: 3 * c.width, Weight: l.numbers(name+"self_attn.in_proj_weight", triple, width), Bias: l.numbers(name+"self_attn.in_proj_bias", triple)},
			proj: l.linear(name+"self_attn.out_proj", width, width), up: l.linear(name+"linear1", hidden, width), down: l.linear(name+"linear2", width, hidden),
			norm1: norm(name + "norm1"), norm2: norm(name + "norm2"),
		}
	}
	for i := 0; i < blocks && l.err == nil; i++ {
		name := fmt.Sprintf("%sresidual_layers.%d.", at, i)
		c.blocks = append(c.blocks, csdiBlock{
			step: l.linear(name+"diffusion_projection", width, step), side: l.linear(name+"cond_projection", twice, side, one),
			mid: l.linear(name+"mid_projection", twice, width, one), out: l.linear(name+"output_projection", twice, width, one),
			time: encoder(name + "time_layer"), feature: encoder(name + "feature_layer"),
		})
	}
	return embedding
}

// scratch allocates the memory of a prediction.
func (c *csdi) scratch(size int) {
	mk := func(n int) []float32 { return make([]float32, n) }
	entries := c.length * c.channels
	all := entries * c.width
	c.x, c.y, c.skip, c.turned, c.f = mk(all), mk(all), mk(all), mk(all), mk(all)
	c.qkv, c.both, c.wide = mk(3*all), mk(2*all), mk(max(entries*csdiHidden, 2*all))
	c.described, c.entry = mk(entries*c.side), mk(entries*c.inputs)
	c.table, c.mid, c.features = mk(size), mk(size), mk(size)
	c.shift, c.scale, c.out = mk(c.width), mk(entries), mk(entries)
	longest := max(c.length, c.channels)
	forward1, _ := c.overTime.Work()
	forward2, _ := c.overRow.Work()
	c.probs, c.work = mk(longest*longest), mk(max(forward1, forward2))
}

// describe stores what the network knows of every entry: sines and cosines of its row, and the
// embedding of its channel.
func (c *csdi) describe(embedding []float32, times, features int) {
	for t := range c.length {
		for k := range c.channels {
			d := c.described[(t*c.channels+k)*c.side:][:c.side]
			for i := 0; i < times; i += 2 {
				sin, cos := math.Sincos(float64(t) / math.Pow(10000, float64(i)/float64(times)))
				d[i], d[i+1] = float32(sin), float32(cos)
			}
			copy(d[times:], embedding[k*features:(k+1)*features])
		}
	}
}

// shape implements [seriesNet].
func (c *csdi) shape() (length, channels int) { return c.length, c.channels }

// nearest returns the step whose signal level is nearest to alpha, by log-odds.
func (c *csdi) nearest(alpha float64) (step int) {
	odds := func(a float64) float64 { return math.Log(a / (1 - a)) }
	best, target := math.Inf(1), min(max(odds(alpha), odds(c.levels[len(c.levels)-1])), odds(c.levels[0]))
	for i, a := range c.levels {
		if d := math.Abs(odds(a) - target); d < best {
			best, step = d, i
		}
	}
	return step
}

// predict implements [seriesNet].
func (c *csdi) predict(y, x []float32, clean []bool, alpha float64) {
	c.embed(c.nearest(alpha))
	for i, v := range x {
		known := clean != nil && clean[i]
		d := c.described[i*c.side : (i+1)*c.side]
		switch e := c.entry[i*c.inputs : (i+1)*c.inputs]; {
		case c.unconditional:
			e[0] = v
		case known:
			e[0], e[1], d[c.side-1] = v, 0, 1
		default:
			e[0], e[1], d[c.side-1] = 0, v, 0
		}
	}
	c.input.Forward(c.x, c.entry)
	rectify(c.x)
	clear(c.skip)
	for i := range c.blocks {
		c.block(&c.blocks[i])
	}
	simd.Scale(float32(1/math.Sqrt(float64(len(c.blocks)))), c.skip)
	c.output1.Forward(c.f, c.skip)
	rectify(c.f)
	c.output2.Forward(c.out, c.f)
	// At ᾱ = 0 a noise says nothing; the mean of the clean window is unknown, and 0 in the units
	// of the training.
	signal, noise := math.Sqrt(alpha), math.Sqrt(1-alpha)
	for i, e := range c.out {
		if y[i] = 0; signal > 0 {
			y[i] = float32((float64(x[i]) - float64(noise*float64(e))) / signal)
		}
	}
}

// embed stores the features of a step. Frequencies reach 10⁴, so that sines depend on how the
// authors' code rounds to float32.
func (c *csdi) embed(step int) {
	half := len(c.table) / 2
	for i := range half {
		power := float32(i) / float32(half-1) * 4
		angle := float32(step) * float32(math.Pow(10, float64(power)))
		sin, cos := math.Sincos(float64(angle))
		c.table[i], c.table[half+i] = float32(sin), float32(cos)
	}
	c.step1.Forward(c.mid, c.table)
	layer.SiLU.Forward(c.mid, c.mid)
	c.step2.Forward(c.features, c.mid)
	layer.SiLU.Forward(c.features, c.features)
}

// block replaces c.x by the output of a residual block, and adds to c.skip.
func (c *csdi) block(b *csdiBlock) {
	b.step.Forward(c.shift, c.features)
	copy(c.y, c.x)
	for at := 0; at < len(c.y); at += c.width {
		simd.Axpy(1, c.shift, c.y[at:at+c.width])
	}
	if c.length > 1 { // attention over time, channel by channel
		c.turn(c.turned, c.y, c.length, c.channels)
		c.encode(c.turned, &b.time, c.overTime)
		c.turn(c.y, c.turned, c.channels, c.length)
	}
	if c.channels > 1 {
		c.encode(c.y, &b.feature, c.overRow)
	}
	b.mid.Forward(c.both, c.y)
	wide := c.wide[:len(c.both)]
	b.side.Forward(wide, c.described)
	simd.Axpy(1, wide, c.both)
	w := c.width
	for i := range c.y {
		gate, filter := c.both[i/w*2*w+i%w], c.both[i/w*2*w+w+i%w]
		c.y[i] = float32(math.Tanh(float64(filter)) / (1 + math.Exp(-float64(gate))))
	}
	b.out.Forward(c.both, c.y)
	for i := range c.x {
		c.x[i] = (c.x[i] + c.both[i/w*2*w+i%w]) * float32(1/math.Sqrt2)
		c.skip[i] += c.both[i/w*2*w+w+i%w]
	}
}

// turn stores in dst the rows × cols entries of x by column.
func (c *csdi) turn(dst, x []float32, rows, cols int) {
	for i := range rows {
		for j := range cols {
			copy(dst[(j*rows+i)*c.width:][:c.width], x[(i*cols+j)*c.width:])
		}
	}
}

// encode replaces x, sequences of the attention's length, by the output of an encoder layer.
func (c *csdi) encode(x []float32, e *csdiEncoder, a layer.Attention) {
	e.qkv.Forward(c.qkv, x)
	size := a.Length * a.Width
	for at := 0; at < len(x); at += size {
		a.Forward(c.f[at:at+size], c.probs[:a.Length*a.Length], c.qkv[3*at:3*(at+size)], c.work)
	}
	sum := c.wide[:len(x)]
	e.proj.Forward(sum, c.f)
	simd.Axpy(1, sum, x)
	e.norm1.Forward(x, x, c.scale, x)
	hidden := c.wide[:len(x)/c.width*csdiHidden]
	e.up.Forward(hidden, x)
	gelu(hidden)
	e.down.Forward(c.f, hidden)
	simd.Axpy(1, c.f, x)
	e.norm2.Forward(x, x, c.scale, x)
}

// rectify replaces negative numbers by 0.
func rectify(x []float32) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}
