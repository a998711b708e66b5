package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
)

func prepared(t *testing.T, args ...string) (*problem, options) {
	t.Helper()
	o, err := parse(slices.Concat(little, args))
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p, o
}

// one is a batch of one noisy window.
func one(x []float32, alpha float64) energy.Noised[float32] {
	return energy.Noised[float32]{X: x, Time: []float64{0.5}, Alpha: []float64{alpha}}
}

func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// slopeBy is the derivative of f along a direction, by differences.
func slopeBy(f func(x []float32) float64, x, along []float32, step float32) float64 {
	move := func(by float32) float64 {
		y := slices.Clone(x)
		for i, d := range along {
			y[i] += by * d
		}
		return f(y)
	}
	return (move(step) - move(-step)) / float64(2*step)
}

// randomNet is a network whose weights are all random, so that no output is 0.
func randomNet(t *testing.T, c neural.Config) *neural.Reals {
	t.Helper()
	net, err := neural.New(c, rand.NewPCG(5, 0))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(6, 0))
	for i := range net.Weights() {
		net.Weights()[i] += float32(0.1 * r.NormFloat64())
	}
	d, err := neural.NewReals(net, neural.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The guidance of a prediction is the gradient of the penalty with respect to the noisy window,
// for a density and for a network.
func TestGuideFollowsTheGradient(t *testing.T) {
	p, _ := prepared(t, "-data", "waveforms", "-denoiser", "gaussian")
	n := p.channels()
	d := newDecomposition(p.length, n)
	net := restored{randomNet(t, neural.Config{Length: p.length, Channels: components * n, Width: 8, Heads: 2, Blocks: 1, Cond: 8}), d}
	r := rand.New(rand.NewPCG(1, 1))
	for _, model := range []energy.Denoiser[float32]{p.model, net} {
		const alpha, weight = 0.6, 0.3
		x, v, guided := normals(r, p.sites()), make([]float32, p.sites()), make([]float32, p.sites())
		f := func(x []float32) float64 {
			if err := model.Denoise(context.Background(), v, one(x, alpha)); err != nil {
				t.Fatal(err)
			}
			return penalty(make([]float32, len(v)), v, p.sets[0])
		}
		for range 3 {
			along := normals(r, p.sites())
			want := slopeBy(f, x, along, 5e-3)
			f(x)
			if err := (guide{model, p.sets[0], weight, p.prior}).Denoise(context.Background(), guided, one(x, alpha)); err != nil {
				t.Fatal(err)
			}
			got := 0.0
			for i, a := range along {
				got += float64(v[i]-guided[i]) / weight * math.Sqrt(alpha) / (1 - alpha) * float64(a)
			}
			if !(math.Abs(got-want) <= 0.02*(1+math.Abs(want))) {
				t.Errorf("%T: slope %v, by differences %v", model, got, want)
			}
		}
	}
	if err := (guide{net, p.sets[0], 1, p.prior}).Denoise(context.Background(), make([]float32, p.sites()), one(normals(r, p.sites()), 0)); err == nil || !strings.Contains(err.Error(), "ᾱ = 0, want > 0") {
		t.Errorf("at ᾱ = 0: %v", err)
	}
	if a := schedule.Alpha(1); !(a > 0) {
		t.Errorf("the noise schedule ends at %v", a)
	}
	// A model that knows neither is guided by the covariance of Gaussian windows.
	x := normals(r, p.sites())
	plain := energy.DenoiserFunc[float32]{Sites: p.sites(), Levels: 1, F: p.model.Denoise}
	var both [2][]float32
	for k, model := range []energy.Denoiser[float32]{p.model, plain} {
		both[k] = make([]float32, p.sites())
		if err := (guide{model, p.sets[0], 1, p.prior}).Denoise(context.Background(), both[k], one(x, 0.5)); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range both[0] {
		if math.Abs(float64(v-both[1][i])) > 1e-3 {
			t.Errorf("entry %d: %v, without a covariance of its own %v", i, v, both[1][i])
		}
	}
}

// Losses of the two objectives have the gradients that they state.
func TestGradientsOfLosses(t *testing.T) {
	p, _ := prepared(t, "-data", "waveforms")
	n, r := p.channels(), rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		train.RealLoss
		all int
	}{
		{informed{n: n, all: n * (1 + hints), sets: p.sets[1:2], weight: 0.5}, n * (1 + hints)},
		{restoring{newDecomposition(p.length, n)}, n * components},
	} {
		o, all := c.RealLoss, c.all
		clean := make([]float32, p.length*all)
		widen(clean, p.window(p.held, 1), n, all)
		x, target := make([]float32, len(clean)), make([]float32, len(clean))
		level := o.Corrupt(x, target, clean, 0.4, r)
		for range 3 {
			y, along, d := normals(r, len(clean)), normals(r, len(clean)), make([]float32, len(clean))
			want := slopeBy(func(y []float32) float64 { return o.Loss(slices.Clone(y), y, target, x, level, 0) }, y, along, 3e-4)
			o.Loss(d, y, target, x, level, 0)
			got := 0.0
			for i, a := range along {
				got += float64(d[i]) * float64(a)
			}
			if !(math.Abs(got-want) <= 0.02*(0.1+math.Abs(want))) {
				t.Errorf("%v: slope %v, by differences %v", o, got, want)
			}
		}
		y, d := slices.Clone(target), make([]float32, len(target))
		if loss := o.Loss(d, y, target, x, level, 0); all == n*(1+hints) && loss > 1e-9 {
			t.Errorf("%v: loss %v of the target, whose window meets its limits", o, loss)
		}
	}
}

// A window of a cubic, a tone and a remainder is put together from outputs that hold each of them
// with something else.
func TestDecomposition(t *testing.T) {
	const length = 24
	d := newDecomposition(length, 1)
	if len(d.trend) != 4 || len(d.season) != 11 || d.top != 2 {
		t.Fatalf("%d powers, %d frequencies, %d of them in a season", len(d.trend), len(d.season), d.top)
	}
	y, want := make([]float32, 3*length), make([]float64, length)
	for i := range length {
		u := float64(i) / length
		cubic, tones := 1-u+u*u*u, math.Sin(2*math.Pi*3*u)+0.5*math.Cos(2*math.Pi*5*u)
		want[i] = cubic + tones
		if i == 7 {
			want[i]++
			y[3*i+2] = 1
		}
		y[3*i] = float32(cubic)
		y[3*i+1] = float32(tones + 0.1*math.Cos(2*math.Pi*9*u)) // too weak for a season
	}
	v := make([]float32, length)
	d.compose(v, y)
	for i, w := range want {
		if math.Abs(float64(v[i])-w) > 1e-5 {
			t.Errorf("row %d: %v, want %v", i, v[i], w)
		}
	}
	if d := newDecomposition(3, 1); len(d.trend) != 3 || d.top != 1 {
		t.Errorf("of three rows: %+v", d)
	}
}

func TestHints(t *testing.T) {
	p, _ := prepared(t, "-data", "waveforms", "-features", "mean,change,argmax,argmin,values")
	x := p.window(p.held, 0)
	rows, n := p.hinted(x, nil), p.channels()
	all := n * (1 + hints)
	for c := range n {
		sum, top, bottom := 0.0, 0, 0
		for i := range p.length {
			v := x[i*n+c]
			if rows[i*all+c] != v {
				t.Errorf("row %d: %v, want %v", i, rows[i*all+c], v)
			}
			sum += float64(v) / float64(p.length)
			if v > x[top*n+c] {
				top = i
			}
			if v < x[bottom*n+c] {
				bottom = i
			}
		}
		for i := range p.length {
			h := rows[i*all+n+c*hints:][:hints]
			given := i == 0 || i == p.length/2 || i == p.length-1
			mark := float32(0)
			switch i {
			case top:
				mark = 1
			case bottom:
				mark = -1
			}
			if math.Abs(float64(h[0])-sum) > 1e-6 || h[1] != float32(float64(x[(p.length-1)*n+c])-float64(x[c])) || h[2] != mark || (h[4] == 1) != given || given && h[3] != x[i*n+c] || !given && h[3] != 0 {
				t.Errorf("channel %d, row %d: %v", c, i, h)
			}
		}
	}
	p, _ = prepared(t, "-data", "waveforms", "-hide", "0.5")
	rows = p.hinted(p.window(p.held, 0), p.hidden(0))
	for j, hidden := range p.hidden(0) {
		h := rows[j/n*all+n+j%n*hints:][:hints]
		if want := p.held[j]; hidden && (h[3] != 0 || h[4] != 0) || !hidden && (h[3] != want || h[4] != 1) {
			t.Errorf("entry %d, hidden %t: %v", j, hidden, h)
		}
	}
}

// Methods with a network of their own run where they are named, and go on from a checkpoint.
func TestNetworksOfTheirOwn(t *testing.T) {
	args := slices.Concat(little, []string{"-heldout", "2", "-training", "64", "-steps", "3", "-data", "waveforms", "-train.steps", "2", "-method", "loss-difftime,diffusion-ts"})
	file := filepath.Join(t.TempDir(), "run")
	first := do(t, slices.Concat(args, []string{"-checkpoint", file})...)
	again := do(t, slices.Concat(args, []string{"-checkpoint", file, "-resume"})...)
	for i, f := range first.Methods {
		if g := again.Methods[i]; !(f.Violation > 1e-3 && f.FTSD > 0) || f.Violation != g.Violation || f.DTW != g.DTW {
			t.Errorf("%+v, from the checkpoint %+v", f, g)
		}
	}
	for _, name := range []string{"loss-difftime", "diffusion-ts"} {
		if l := first.Networks[name]; l == nil || l.Steps != 2 || l.Made != 2 || again.Networks[name].Made != 0 || !strings.Contains(first.String(), name+": network of ") {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if b, err := json.Marshal(first); err != nil || !strings.Contains(string(b), `"networks":{"diffusion-ts":{"weights":`) || strings.Contains(string(b), "loss_stderr") {
		t.Errorf("%s %v", b, err)
	}
	if len(do(t, slices.Concat(args, []string{"-hide", "0.5", "-method", "loss-difftime"})...).Methods) != 1 {
		t.Error("imputation")
	}
}

// A transformer learns what the next row is, where rows tell it, and nothing else.
func TestTransformerForecasts(t *testing.T) {
	const length, n = 12, 2
	r := rand.New(rand.NewPCG(3, 3))
	windows := func(count int) (x []float32) {
		for range count {
			u, rate := r.Float64(), 0.3+0.2*r.Float64()
			for i := range length {
				x = append(x, float32(math.Sin(6*u+rate*float64(i))), float32(math.Cos(6*u+rate*float64(i))))
			}
		}
		return x
	}
	train, test := windows(40), windows(20)
	good, e, err := attend(context.Background(), train, test, length, n, 150, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.Shuffle(len(train)/n, func(i, j int) {
		for c := range n {
			train[i*n+c], train[j*n+c] = train[j*n+c], train[i*n+c]
		}
	})
	bad, _, err := attend(context.Background(), train, test, length, n, 150, 1)
	if err != nil || good > 0.1 || !(e > 0 && e < good) || bad < 3*good {
		t.Errorf("error %v ± %v, from rows in any order %v, %v", good, e, bad, err)
	}
	two := do(t, slices.Concat(little, []string{"-heldout", "5", "-method", "real", "-transformer", "-seeds", "2"})...)
	if f := two.Methods[0]; !(f.Attended > 0 && f.AttendedErr > 0 && f.Seeds.Attended > 0) || f.Attended == f.TSTR || !strings.Contains(two.String(), "TSTR transformer") {
		t.Errorf("%+v", f)
	}
}

// seriesFolder writes a network of Diffusion-TS for windows of the given size. What tensors it needs
// is what the errors about those that are missing say.
func seriesFolder(t *testing.T, length, channels int) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf(`{"seq_length": %d, "feature_size": %d, "d_model": 4, "n_layer_enc": 1, "n_layer_dec": 1, "n_heads": 1, "timesteps": 2}`, length, channels)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	missing := regexp.MustCompile(`no tensor "(.*)", want one of shape \[([0-9 ]*)\]`)
	r := rand.New(rand.NewPCG(8, 8))
	var all []neural.Tensor
	for {
		var b bytes.Buffer
		if err := neural.WriteFile(&b, neural.F32, all, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := pretrained.OpenSeries(dir)
		if err == nil {
			return dir
		}
		m := missing.FindStringSubmatch(err.Error())
		if m == nil {
			t.Fatal(err)
		}
		tensor, size := neural.Tensor{Name: m[1]}, 1
		for s := range strings.FieldsSeq(m[2]) {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			tensor.Shape, size = append(tensor.Shape, n), size*n
		}
		if tensor.Data = normals(r, size); m[1] == "alphas_cumprod" {
			copy(tensor.Data, []float32{0.9, 0.001})
		}
		for i := range tensor.Data {
			tensor.Data[i] *= 0.3
		}
		all = append(all, tensor)
	}
}

// A network of Diffusion-TS from a folder takes the place of the model.
func TestPublishedNetwork(t *testing.T) {
	dir := seriesFolder(t, 12, 2)
	args := slices.Concat(little, []string{"-heldout", "2", "-data", "waveforms", "-load", dir})
	r := do(t, slices.Concat(args, []string{"-method", "cps,guided-difftime"})...)
	if f := r.Methods[0]; f.Violation > 1e-6 || r.Methods[1].Violation < 1e-3 || !strings.Contains(strings.Join(r.Warnings(), "\n"), "does not name the windows") || r.Denoiser != "trained" {
		t.Errorf("%+v %q", r.Methods, r.Warnings())
	}
	if _, err := try(slices.Concat(args, []string{"-length", "13"})...); err == nil || !strings.Contains(err.Error(), "a network for windows of 12 rows of 2 channels, the data have 13 of 2") {
		t.Error(err)
	}
	if _, err := try(slices.Concat(args, []string{"-load", t.TempDir()})...); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Error(err)
	}
}
