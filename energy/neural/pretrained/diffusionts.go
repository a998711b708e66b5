package pretrained

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// diffusionTS is a network of Diffusion-TS (Yuan and Qiao 2024). An encoder and a decoder of
// attention layers predict the clean window as the sum of
//
//   - a trend: in every block of the decoder a polynomial of degree 3 and a mean,
//   - a season: in every block the strongest ⌊log k⌋ of the k frequencies between 0 and ½,
//   - a remainder, whose mean belongs to the trend.
//
// The number of steps that belongs to a signal level is interpolated between those of the training,
// linearly in the log-odds.
type diffusionTS struct {
	length, channels, width int
	odds                    []float64 // log-odds of the signal level at each step, descending

	embed, inverse   layer.Conv
	season           layer.Linear // of windows of season, around the ends
	kernel           int
	means            []float32 // weight of the mean of each block of the decoder
	encode, decode   []float32 // learned positions
	encoder, decoder []seriesBlock
	attention        layer.Attention

	x, context, h, o        []float32 // activations, length × width
	q, k, v, qkv            []float32
	probs, work, wide       []float32
	features, affine, scale []float32
	windows                 []float32
	parts                   []float32 // inputs of trend and season, 2·length × width
	cubic, middle           []float32 // trend: 3 × width, and transposed
	powers                  []float32 // coefficients of the trend, channels × 3
	waves                   []float32 // season, summed over blocks, length × width
	power                   []float64 // size of each frequency
	cos, sin                []float64 // of 2πk/length
	row                     []float32 // one number per channel
	rest                    []float32 // a component of the window
}

// seriesBlock holds the weights of one block. In the encoder, those of the decoder are empty.
type seriesBlock struct {
	norm, crossNorm layer.Linear // scale and shift of a norm, from the features of the step
	self, cross     seriesAttention
	norm2           layer.Norm
	up, down        layer.Linear

	split   layer.Linear // from length to 2·length rows
	trend1  layer.Conv   // over the features, whose channels are rows
	trend2  layer.Conv   // from the features to the channels, over the three powers
	average layer.Linear
}

type seriesAttention struct{ query, key, value, proj layer.Linear }

// trendPowers is the number of powers of the polynomial of a trend.
const trendPowers = 3

// loadDiffusionTS reads a network from f. The configuration all is that of the file name.
func loadDiffusionTS(name string, all map[string]any, f *neural.File) (*diffusionTS, error) {
	fail := func(format string, args ...any) (*diffusionTS, error) {
		return nil, fault(name, format, args...)
	}
	if v := all["block_activate"]; v != nil && v != "GELU" {
		return fail("block_activate = %s, want GELU", check.Clip(fmt.Sprint(v)))
	}
	w := &wholes{name: name, all: all}
	s := &diffusionTS{length: w.get("seq_length", 3, 0), channels: w.get("feature_size", 1, 0), width: w.get("d_model", 4, 0)}
	encoders, decoders := w.get("n_layer_enc", 1, 3), w.get("n_layer_dec", 1, 6)
	heads, times, steps := w.get("n_heads", 1, 4), w.get("mlp_hidden_times", 1, 4), w.get("timesteps", 1, 1000)
	s.kernel = 5
	if s.channels < 32 && s.length < 64 {
		s.kernel = 1
	}
	s.kernel = w.get("kernel_size", 1, s.kernel)
	padding := s.kernel / 2
	if s.kernel > 1 {
		padding = w.get("padding_size", 0, padding)
	}
	if w.err != nil {
		return nil, w.err
	}
	switch {
	case s.width%2 != 0 || s.width%heads != 0:
		return fail("d_model = %d, want an even multiple of n_heads = %d", s.width, heads)
	case s.kernel%2 == 0 || padding != s.kernel/2 || padding > s.length:
		return fail("kernel_size = %d with padding_size = %d, want an odd number ≤ 2·seq_length, and half of it", s.kernel, padding)
	}
	if err := check.Entries("pretrained: OpenSeries", "the larger of seq_length and n_heads × the largest of mlp_hidden_times, kernel_size and 3 × d_model", max(s.length, heads), max(times, s.kernel, 3), s.width); err != nil {
		return nil, err
	}
	if err := check.Entries("pretrained: OpenSeries", "3 × seq_length × the larger of seq_length and feature_size", 3, s.length, max(s.length, s.channels)); err != nil {
		return nil, err
	}
	l := seriesLoader{loader{f: f, known: map[string]bool{}}}
	s.load(&l, encoders, decoders, times, steps)
	if l.err != nil {
		return nil, l.err
	}
	for _, buffer := range buffers {
		l.known[buffer] = true
	}
	if err := l.left("a Diffusion-TS network", "n_layer_dec", decoders); err != nil {
		return nil, err
	}
	for i, o := range s.odds {
		if !check.Finite(o) || i > 0 && !(o < s.odds[i-1]) {
			return nil, fmt.Errorf("pretrained: %s: tensor %q: the number of step %d is not between 0 and the one before", f.Source("alphas_cumprod"), "alphas_cumprod", i)
		}
	}
	s.attention = layer.Attention{Length: s.length, Width: s.width, Heads: heads}
	s.scratch(times)
	return s, nil
}

// buffers lists the tensors of a Diffusion_TS that follow from its signal levels.
var buffers = []string{
	"betas", "alphas_cumprod_prev", "sqrt_alphas_cumprod", "sqrt_one_minus_alphas_cumprod", "log_one_minus_alphas_cumprod",
	"sqrt_recip_alphas_cumprod", "sqrt_recipm1_alphas_cumprod", "posterior_variance", "posterior_log_variance_clipped",
	"posterior_mean_coef1", "posterior_mean_coef2", "loss_weight",
}

// convolution reads a convolution of three positions over cols positions.
func (l *seriesLoader) convolution(name string, out, in dim, cols int) layer.Conv {
	c := layer.Conv{Cols: cols, In: in.n, Out: out.n, Kernel: 3}
	c.Weight = taps(l.numbers(name+".weight", out, in, dim{3, "3"}), in.n, 3)
	c.Bias = l.numbers(name+".bias", out)
	return c
}

// taps reorders the weights of a convolution from out × in × taps to out × taps × in.
func taps(w []float32, in, taps int) []float32 {
	v := make([]float32, len(w))
	for i, x := range w {
		o, c, k := i/(in*taps), i/taps%in, i%taps
		v[(o*taps+k)*in+c] = x
	}
	return v
}

// load reads all weights.
func (s *diffusionTS) load(l *seriesLoader, encoders, decoders, times, steps int) {
	one := dim{1, "1"}
	rows, channels, width := dim{s.length, "seq_length"}, dim{s.channels, "feature_size"}, dim{s.width, "d_model"}
	twice, hidden := dim{2 * s.width, "2·d_model"}, dim{times * s.width, "mlp_hidden_times·d_model"}
	levels := l.numbers("alphas_cumprod", dim{steps, "timesteps"})
	for _, a := range levels {
		s.odds = append(s.odds, math.Log(float64(a)/(1-float64(a))))
	}
	s.embed = l.convolution("model.emb.sequential.1", width, channels, s.length)
	s.inverse = l.convolution("model.inverse.sequential.1", channels, width, s.length)
	s.season = layer.Linear{In: s.kernel * s.width, Out: s.channels, Weight: taps(l.numbers("model.combine_s.weight", channels, width, dim{s.kernel, "kernel_size"}), s.width, s.kernel)}
	s.means = l.numbers("model.combine_m.weight", one, dim{decoders, "n_layer_dec"}, one)
	s.encode, s.decode = l.numbers("model.pos_enc.pe", one, rows, width), l.numbers("model.pos_dec.pe", one, rows, width)
	attention := func(name string) seriesAttention {
		return seriesAttention{l.linear(name+".query", width, width), l.linear(name+".key", width, width), l.linear(name+".value", width, width), l.linear(name+".proj", width, width)}
	}
	block := func(name, self string) seriesBlock {
		return seriesBlock{
			norm: l.linear(name+"ln1.linear", twice, width), self: attention(name + self),
			norm2: layer.Norm{Width: s.width, Gain: l.numbers(name+"ln2.weight", width), Bias: l.numbers(name+"ln2.bias", width)},
			up:    l.linear(name+"mlp.0", hidden, width), down: l.linear(name+"mlp.2", width, hidden),
		}
	}
	for i := 0; i < encoders && l.err == nil; i++ {
		s.encoder = append(s.encoder, block(fmt.Sprintf("model.encoder.blocks.%d.", i), "attn"))
	}
	powers := dim{trendPowers, "3"}
	for i := 0; i < decoders && l.err == nil; i++ {
		name := fmt.Sprintf("model.decoder.blocks.%d.", i)
		b := block(name, "attn1")
		b.crossNorm, b.cross = l.linear(name+"ln1_1.linear", twice, width), attention(name+"attn2")
		b.split = l.linear(name+"proj", dim{2 * s.length, "2·seq_length"}, rows, one)
		b.trend1 = l.convolution(name+"trend.trend.0", powers, rows, s.width)
		b.trend2 = l.convolution(name+"trend.trend.3", channels, width, trendPowers)
		b.average = l.linear(name+"linear", channels, width)
		s.decoder = append(s.decoder, b)
	}
}

// scratch allocates the memory of a prediction.
func (s *diffusionTS) scratch(times int) {
	mk := func(n int) []float32 { return make([]float32, n) }
	size := s.length * s.width
	s.x, s.context, s.h, s.o, s.q, s.k, s.v, s.waves = mk(size), mk(size), mk(size), mk(size), mk(size), mk(size), mk(size), mk(size)
	s.qkv, s.probs, s.wide, s.parts = mk(3*size), mk(s.length*s.length), mk(times*size), mk(2*size)
	forward, _ := s.attention.Work()
	s.work, s.features, s.affine, s.scale = mk(forward), mk(s.width), mk(2*s.width), mk(s.length)
	s.windows = mk(max(3*size, 3*s.length*s.channels, s.kernel*size, 3*trendPowers*s.width))
	s.cubic, s.middle, s.powers, s.row = mk(trendPowers*s.width), mk(trendPowers*s.width), mk(trendPowers*s.channels), mk(s.channels)
	s.rest = mk(s.length * s.channels)
	s.power, s.cos, s.sin = make([]float64, (s.length+1)/2), make([]float64, s.length), make([]float64, s.length)
	for k := range s.cos {
		s.sin[k], s.cos[k] = math.Sincos(2 * math.Pi * float64(k) / float64(s.length))
	}
}

// step returns the index of the step whose signal level is alpha, between steps if there is none.
func (s *diffusionTS) step(alpha float64) float64 {
	odds := math.Log(alpha / (1 - alpha))
	i, _ := slices.BinarySearchFunc(s.odds, odds, func(o, target float64) int {
		if o > target {
			return -1
		}
		return 1
	})
	switch i {
	case 0:
		return 0
	case len(s.odds):
		return float64(len(s.odds) - 1)
	}
	return float64(i) - (odds-s.odds[i])/(s.odds[i-1]-s.odds[i])
}

// shape implements [seriesNet].
func (s *diffusionTS) shape() (length, channels int) { return s.length, s.channels }

// predict implements [seriesNet].
func (s *diffusionTS) predict(y, x []float32, _ []bool, alpha float64) {
	step, half := s.step(alpha), s.width/2
	for i := range half {
		sin, cos := math.Sincos(step * math.Exp(-math.Log(10000)*float64(i)/float64(half-1)))
		s.features[i], s.features[half+i] = float32(sin), float32(cos)
	}
	layer.SiLU.Forward(s.features, s.features)

	s.embed.Forward(s.x, s.windows[:3*s.length*s.channels], x)
	copy(s.context, s.x)
	simd.Axpy(1, s.encode, s.context)
	simd.Axpy(1, s.decode, s.x)
	for i := range s.encoder {
		b := &s.encoder[i]
		s.attend(s.context, b.norm, b.self, nil)
		s.mlp(s.context, b)
	}
	clear(s.waves)
	clear(y)
	for i := range s.decoder {
		b := &s.decoder[i]
		s.attend(s.x, b.norm, b.self, nil)
		s.attend(s.x, b.crossNorm, b.cross, s.context)
		s.components(y, b)
		s.mlp(s.x, b)
		s.centre(y, b, s.means[i])
	}
	s.inverse.Forward(s.rest, s.windows[:3*s.length*s.width], s.x)
	simd.Axpy(1, s.rest, y)
	windows := s.windows[:s.kernel*len(s.waves)]
	for i := range s.length * s.kernel {
		t := (i/s.kernel + i%s.kernel - s.kernel/2 + s.length) % s.length
		copy(windows[i*s.width:(i+1)*s.width], s.waves[t*s.width:])
	}
	s.season.Forward(s.rest, windows)
	simd.Axpy(1, s.rest, y)
}

// attend adds to x the attention of its rows to those of the context, or to themselves if that is
// nil, after a norm that depends on the step.
func (s *diffusionTS) attend(x []float32, norm layer.Linear, a seriesAttention, context []float32) {
	w := s.width
	layer.Norm{Width: w}.Forward(s.h, s.h, s.scale, x)
	norm.Forward(s.affine, s.features)
	layer.Modulate(s.h, s.h, s.affine[w:], s.affine[:w])
	if context == nil {
		context = s.h
	}
	a.query.Forward(s.q, s.h)
	a.key.Forward(s.k, context)
	a.value.Forward(s.v, context)
	for t := range s.length {
		row := s.qkv[3*t*w : 3*(t+1)*w]
		copy(row, s.q[t*w:(t+1)*w])
		copy(row[w:], s.k[t*w:(t+1)*w])
		copy(row[2*w:], s.v[t*w:(t+1)*w])
	}
	s.attention.Forward(s.o, s.probs, s.qkv, s.work)
	a.proj.Forward(s.h, s.o)
	simd.Axpy(1, s.h, x)
}

// mlp adds to x the perceptron of a block.
func (s *diffusionTS) mlp(x []float32, b *seriesBlock) {
	b.norm2.Forward(s.h, s.h, s.scale, x)
	b.up.Forward(s.wide, s.h)
	gelu(s.wide)
	b.down.Forward(s.h, s.wide)
	simd.Axpy(1, s.h, x)
}

// gelu applies x·½(1 + erf(x/√2)), which is not the tanh form of [layer.GELU].
func gelu(x []float32) {
	for i, v := range x {
		x[i] = float32(0.5 * float64(v) * (1 + math.Erf(float64(v)/math.Sqrt2)))
	}
}

// components adds to y the trend of a block of the decoder, and to s.waves its season.
func (s *diffusionTS) components(y []float32, b *seriesBlock) {
	size, w := s.length*s.width, s.width
	for t, v := range b.split.Bias {
		row := s.parts[t*w : (t+1)*w]
		for i := range row {
			row[i] = v
		}
	}
	simd.Gemm(s.parts, b.split.Weight, s.x, 2*s.length, w, s.length)

	transpose(s.h, s.parts[:size], s.length, w) // rows are the channels of this convolution
	b.trend1.Forward(s.cubic, s.windows[:3*size], s.h)
	gelu(s.cubic)
	transpose(s.middle, s.cubic, w, trendPowers)
	b.trend2.Forward(s.powers, s.windows[:3*trendPowers*w], s.middle)
	for t := range s.length {
		u := float32(float64(t+1) / float64(s.length+1))
		power := float32(1)
		for p := range trendPowers {
			power *= u
			simd.Axpy(power, s.powers[p*s.channels:(p+1)*s.channels], y[t*s.channels:(t+1)*s.channels])
		}
	}

	count := len(s.power) - 1 // s.power[0] belongs to the mean, which is no season
	for i := range w {
		for k := 1; k <= count; k++ {
			re, im := s.wave(i, k)
			s.power[k] = float64(re*re) + float64(im*im)
		}
		for range int(math.Log(float64(max(1, count)))) {
			best := 1
			for k := 2; k <= count; k++ {
				if s.power[k] > s.power[best] {
					best = k
				}
			}
			re, im := s.wave(i, best)
			s.power[best] = -1
			for t := range s.length {
				at := best * t % s.length
				s.waves[t*w+i] += float32(2 * (float64(re*s.cos[at]) + float64(im*s.sin[at])))
			}
		}
	}
}

// wave returns the sums of feature i of the season's input times the cosine and the sine of
// frequency k.
func (s *diffusionTS) wave(i, k int) (re, im float64) {
	x := s.parts[s.length*s.width+i:]
	for t := range s.length {
		v, at := float64(x[t*s.width]), k*t%s.length
		re += float64(v * s.cos[at])
		im += float64(v * s.sin[at])
	}
	return re, im
}

// transpose stores in dst the transpose of x, rows × cols.
func transpose(dst, x []float32, rows, cols int) {
	for i := range rows {
		for j := range cols {
			dst[j*rows+i] = x[i*cols+j]
		}
	}
}

// centre subtracts the means of the features from s.x, and adds to y the means of the channels that
// they give, times a weight.
func (s *diffusionTS) centre(y []float32, b *seriesBlock, weight float32) {
	w := s.width
	m := s.q[:w]
	clear(m)
	for t := range s.length {
		simd.Axpy(1/float32(s.length), s.x[t*w:(t+1)*w], m)
	}
	for t := range s.length {
		simd.Axpy(-1, m, s.x[t*w:(t+1)*w])
	}
	b.average.Forward(s.row, m)
	for t := range s.length {
		simd.Axpy(weight, s.row, y[t*s.channels:(t+1)*s.channels])
	}
}
