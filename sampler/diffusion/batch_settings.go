package diffusion

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// remember checks what parts and checkpoints ask of the projection, and makes
// ready to keep samples if Config.Checkpoint asks for it. The settings are those
// at the start: a projection with a memory changes.
func (d *batch[S]) remember(ctx context.Context) error {
	if d.committer != nil && d.cfg.First > 0 {
		return fmt.Errorf("diffusion: Config.First = %d, want 0: the projection %T remembers the samples before", d.cfg.First, d.projection)
	}
	if d.cfg.Checkpoint.Path == "" {
		return nil
	}
	if _, ok := d.committer.(Recaller); d.committer != nil && !ok {
		return fmt.Errorf("diffusion: Config.Checkpoint.Path = %q, want none with the projection %T: it has a memory and no Recall", d.cfg.Checkpoint.Path, d.projection)
	}
	d.kept.settings = d.settings(ctx)
	d.kept.settings.Add("Config.First", d.cfg.First)
	return nil
}

// settings is what a checkpoint must agree on but for the part of the run.
func (d *batch[S]) settings(ctx context.Context) *fingerprint.List {
	l := &fingerprint.List{Sites: d.sites, Levels: d.levels}
	d.list(ctx, l.Add)
	return l
}

// list adds the settings, for which it asks the model for two predictions.
func (d *batch[S]) list(ctx context.Context, add func(name string, value any)) {
	check.Must("diffusion: Settings", "add", add)
	add("sites", d.sites)
	add("levels", d.levels)
	add("process", d.recipe)
	c := &d.cfg
	add("Config.Steps", c.Steps)
	add("Config.Batch", c.Batch)
	add("Config.Seed", c.Seed)
	add("Config.Meta", meta(c.Meta))
	add("Config.Clamp", c.Clamp)
	add("Config.ClampReal", c.ClampReal)
	add("Config.Projector", c.Projector)
	add("Config.ProjectStart", c.ProjectStart)
	add("Config.ProjectEvery", c.ProjectEvery)
	add("Config.ProjectState", c.ProjectState)
	add("Config.ProjectPower", c.ProjectPower)
	add("Config.ColdStart", c.ColdStart)
	add("Config.Decode", uint8(c.Decode))
	add("Config.Retries", c.Retries)
	if n, ok := d.model.(sampler.Named); ok {
		add("model", n.Name())
	}
	if d.guided != nil {
		add("guidance at the posterior", d.guided.scale)
		if other, ok := any(d.guided.other).(energy.Denoiser[S]); ok {
			d.probe(ctx, add, "unconditional predictions for test states", other)
		}
		if d.guided.classifier != nil {
			add("classifier", fmt.Sprintf("%T", d.guided.classifier))
		}
	}
	d.probe(ctx, add, "predictions for test states", d.model)
}

// row is numbers that count to the bit, and by a digest if they are many.
type row []float64

// Described is a conditioning (Config.Meta) that says what of it a checkpoint must agree
// on: Settings calls add for every such value, with a name.
type Described interface {
	Settings(add func(name string, value any))
}

// meta is what a checkpoint says of a conditioning: numbers, texts and slices of
// them by content, what has a name or settings by these, the rest by its type.
func meta(v any) any {
	switch v := v.(type) {
	case []float64:
		return row(v)
	case nil, sampler.Named, Described:
		return v
	}
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if k := t.Kind(); k >= reflect.Bool && k <= reflect.Complex128 || k == reflect.String {
		return v
	}
	return fmt.Sprintf("%T", v)
}

const (
	probes      = 256  // predictions by which denoisers are told apart
	probeScale  = 1e-3 // of what is compared, to 1e-6: networks round to about 1e-5
	probeMiddle = 0.5  // the time of the second test state
)

// probe adds some predictions of a denoiser for two states: pure noise, and noise
// at every other site among tokens or reals.
func (d *batch[S]) probe(ctx context.Context, add func(name string, value any), name string, model energy.Denoiser[S]) {
	size := d.sites * d.levels
	x, v := make([]S, d.sites), make([]float32, size)
	var seen []float64
	for k, t := range []float64{1, probeMiddle} {
		r := sampler.NewStream(probes, uint64(k))
		d.process[0].Prior(x, r)
		if k > 0 {
			for i := 0; i < d.sites; i += 2 {
				x[i] = S(r.IntN(max(d.levels, 2)))
			}
		}
		q := energy.Noised[S]{
			X: x, Time: []float64{t}, Alpha: []float64{d.process[0].Alpha(t)}, Sample: []int{0},
			Src: []rand.Source{r}, Meta: d.cfg.Meta, Guided: d.guided != nil,
		}
		if err := model.Denoise(ctx, v, q); err != nil {
			add(fmt.Sprintf("%s, state %d", name, k), "an error")
			continue
		}
		pick := sampler.NewStream(probes, 2)
		for range min(size, probes) {
			seen = append(seen, probeScale*float64(v[pick.IntN(size)]))
		}
	}
	add(name, seen)
}
