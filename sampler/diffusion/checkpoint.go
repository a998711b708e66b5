package diffusion

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Save writes a checkpoint to w. It holds all samples of the runner, including those that the
// runner loaded. Save returns an error unless Config.Checkpoint.Path is set, because otherwise the
// runner keeps no samples.
func (d *Runner[S]) Save(w io.Writer) error { return d.life.Save(w) }

// Load restores a checkpoint written by Save. The runner must be new, with the same model, process
// and Config. Only Count, Workers, Checkpoint, Observe and Progress may differ. If another setting
// differs, the error names the first one. Models are compared by their predictions for two states.
// These must agree within 1e-3 of the largest prediction.
//
// After Load, make the same calls of Sample and Fill as in a run from the start. These calls first
// return the samples of the checkpoint and then draw new ones. If Load fails, the runner is
// unchanged. After an error from Recall (see [Recaller]), however, it cannot be used any more.
func (d *Runner[S]) Load(ctx context.Context, r io.Reader) error { return d.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure. See [sampler.Runner.SaveFile].
func (d *Runner[S]) SaveFile(path string) error { return d.life.SaveFile(path) }

// LoadFile restores a checkpoint written by [Runner.SaveFile], under the rules of [Runner.Load]. If
// the file is missing or damaged, LoadFile restores the previous checkpoint, path.old.
func (d *Runner[S]) LoadFile(ctx context.Context, path string) error {
	return d.life.LoadFile(ctx, path)
}

// finished holds the samples that a runner keeps for its checkpoints. The runner finished these
// samples or loaded them from a checkpoint.
type finished[S energy.Site] struct {
	x []S
	// for each sample: digest of the values to which Fill clamped it; 0 for none
	given  []uint64
	weight []float64 // estimate log Ẑ of each sample; 0 for runs without particles
	fault  []fault   // errors of the abandoned samples, in order
	own    []uint64  // entries of given for the samples in progress
}

// fault is the error of an abandoned sample.
type fault struct {
	of int // index of the sample among the kept samples
	recorded
}

// why returns the error with which sample k was abandoned, or nil if it was completed.
func (f *finished[S]) why(k int) error {
	at, found := slices.BinarySearchFunc(f.fault, k, func(e fault, k int) int { return e.of - k })
	if !found {
		return nil
	}
	return &f.fault[at].recorded
}

// clamp records the values to which sample g of the batch is clamped, in addition to those of the
// configuration.
func (f *finished[S]) clamp(g int, own []S) { f.own = append(f.own[:g], digest(own)) }

// add keeps sample g of the batch: its state x, its error or nil, and its estimate log Ẑ.
func (f *finished[S]) add(g int, x []S, why error, logZ float64) {
	if why != nil {
		f.fault = append(f.fault, fault{len(f.given), record(why)})
	}
	f.x = append(f.x, x...)
	f.given = append(f.given, f.own[g])
	f.weight = append(f.weight, logZ)
}

// digest returns a hash of a row, or 0 for an empty row.
func digest[S energy.Site](row []S) uint64 {
	if len(row) == 0 {
		return 0
	}
	h := fnv.New64a()
	var b [4]byte
	for _, v := range row {
		bits := uint32(v)
		if r, real := any(v).(float32); real {
			if bits = math.Float32bits(r); r != r {
				bits = math.MaxUint32 // all NaN mean a free site
			}
		}
		binary.LittleEndian.PutUint32(b[:], bits)
		_, _ = h.Write(b[:])
	}
	return h.Sum64()
}

// remember prepares to keep samples if Config.Checkpoint is set. It returns an error if the
// projection does not allow runs in parts or checkpoints. It stores the settings now, because a
// projection with a memory changes during the run.
func (d *Runner[S]) remember(ctx context.Context) error {
	if d.committer != nil && d.cfg.First > 0 {
		return fmt.Errorf("diffusion: Config.First = %d, want 0: the projection %T remembers the samples before", d.cfg.First, d.projection)
	}
	if d.cfg.Checkpoint.Path == "" {
		return nil
	}
	if _, ok := d.committer.(Recaller); d.committer != nil && !ok {
		return fmt.Errorf("diffusion: Config.Checkpoint.Path = %q, want none with the projection %T: it has a memory and no Recall", d.cfg.Checkpoint.Path, d.projection)
	}
	d.saved = d.settings(ctx)
	d.saved.Add("Config.First", d.cfg.First)
	return nil
}

// settings returns all settings, except Config.First, that must be equal in a checkpoint and in the
// run that loads the checkpoint.
func (d *Runner[S]) settings(ctx context.Context) *fingerprint.List {
	l := &fingerprint.List{Sites: d.sites, Levels: d.levels}
	d.list(ctx, l.Add)
	return l
}

// list calls add with every setting. It asks the model for two predictions.
func (d *Runner[S]) list(ctx context.Context, add func(name string, value any)) {
	check.Must("diffusion: Settings", "add", add)
	c := &d.cfg
	for _, s := range []struct {
		name  string
		value any
	}{
		{"sites", d.sites}, {"levels", d.levels}, {"process", d.recipe},
		{"Config.Steps", c.Steps}, {"Config.Batch", c.Batch}, {"Config.Seed", c.Seed}, {"Config.Meta", meta(c.Meta)},
		{"Config.Clamp", c.Clamp}, {"Config.ClampReal", c.ClampReal},
		{"Config.Projector", c.Projector}, {"Config.ProjectStart", c.ProjectStart}, {"Config.ProjectEvery", c.ProjectEvery},
		{"Config.ProjectState", c.ProjectState}, {"Config.ProjectPower", c.ProjectPower}, {"Config.ColdStart", c.ColdStart},
		{"Config.Decode", uint8(c.Decode)}, {"Config.Retries", c.Retries},
	} {
		add(s.name, s.value)
	}
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

// row is a row of numbers that checkpoints compare bit for bit. A long row is compared by a
// digest.
type row []float64

// Described is a value of Config.Meta that checkpoints can record, such as a label or a prompt. Its
// method Settings calls add with the name and value of everything that determines the conditioning.
// A run that loads the checkpoint must have the same names and values.
type Described interface {
	Settings(add func(name string, value any))
}

// meta returns the part of a conditioning that a checkpoint records. For a number, a string, or a
// slice of either, this part is the content. For a value that has a name or settings, it is the
// name or the settings. For any other value it is the type.
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
	probes      = 256 // number of predicted entries by which denoisers are compared
	probeMiddle = 0.5 // time of the second test state
)

// probe adds entries of a denoiser's predictions for two states to the settings. The first state
// is pure noise. In the second, every other site is a random token or real.
func (d *Runner[S]) probe(ctx context.Context, add func(name string, value any), name string, model energy.Denoiser[S]) {
	size := d.sites * d.levels
	x, v := make([]S, d.sites), make([]float32, size)
	var seen fingerprint.Predictions
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
			Src: []rand.Source{r}, Meta: d.cfg.Meta, Guided: d.guided != nil, Reveals: d.e.Reveals,
		}
		if err := model.Denoise(ctx, v, q); err != nil {
			add(fmt.Sprintf("%s, state %d", name, k), "an error")
			continue
		}
		pick := sampler.NewStream(probes, 2)
		for range min(size, probes) {
			seen = append(seen, float64(v[pick.IntN(size)]))
		}
	}
	add(name, seen)
}

// Constants of the checkpoint format. A checkpoint consists of three kinds of frames (see
// [session.Frames]). The first frame holds the settings. The next frames hold the number of samples
// and, if samples were abandoned, the number of abandoned samples and the reasons. The last frames
// hold the samples.
const (
	magic          = "gibbsite samples 1\n" // start of a checkpoint of samples
	frameSize      = 1 << 20                // approximate size of a frame of samples, in bytes
	faultsPerFrame = 256                    // number of abandoned samples in a frame
	faultSize      = 24 + mostText          // largest size of the record of an abandoned sample
)

// framesFor returns the number of frames that hold n items, per items in each.
func framesFor(n, per int) int { return (n + per - 1) / per }

var errNotKept = errors.New("Config.Checkpoint.Path = \"\", want a path: without one no samples are kept")

func (d *Runner[S]) write(w io.Writer) error {
	if d.saved == nil {
		return errNotKept
	}
	return d.frames(&d.kept).Write(w, nil)
}

func (d *Runner[S]) read(ctx context.Context, r io.Reader) error {
	switch {
	case d.saved == nil:
		return errNotKept
	case d.made > 0 || len(d.kept.given) > 0:
		return fmt.Errorf("the runner has %d samples, want a new one", d.finished())
	case d.broken != nil:
		return d.broken
	}
	var f finished[S]
	if err := d.frames(&f).Read(ctx, r, nil); err != nil {
		return err
	}
	if err := d.recall(&f); err != nil {
		d.broken = fmt.Errorf("%s: the runner cannot be used: its projection did not recall a checkpoint: %w", d.life.Who, err)
		return err
	}
	d.kept = f
	return nil
}

// frames describes the checkpoint frames of k. When a checkpoint is loaded, reading the frames
// fills k.
func (d *Runner[S]) frames(k *finished[S]) *session.Frames {
	size := 4*d.sites + 16
	n, faults, per := len(k.given), len(k.fault), max(1, frameSize/size)
	f := &session.Frames{Magic: magic, Settings: d.saved, Limit: max(per*size, faultsPerFrame*faultSize)}
	first := 1 // index of the first frame with samples
	count := func() {
		first = 1 + framesFor(faults, faultsPerFrame)
		f.Count = first + framesFor(n, per)
	}
	count()
	f.Frame = func(w *wire.Fields, i int) {
		switch {
		case i == 0:
			w.Int("samples", &n, 0, math.MaxInt/size)
			if rest, _ := w.Rest(); faults > 0 || w.Reading() && len(rest) > 0 {
				w.Int("samples given up", &faults, 0, n)
			}
			count()
		case i < first:
			k.reasons(w, (i-1)*faultsPerFrame, min(i*faultsPerFrame, faults), n)
		default:
			d.samples(w, k, (i-first)*per, min((i-first+1)*per, n))
		}
	}
	return f
}

// reasons reads or writes the reasons why samples were abandoned, for the abandoned samples with
// indices in [from, to). n is the number of all samples.
func (f *finished[S]) reasons(w *wire.Fields, from, to, n int) {
	if w.Reading() {
		f.fault = append(f.fault, make([]fault, to-from)...)
	}
	for k := from; k < to; k++ {
		e, least := &f.fault[k], 0
		if k > 0 {
			least = f.fault[k-1].of + 1
		}
		size := len(e.text)
		w.Int("sample given up", &e.of, least, n-1)
		w.Int("bytes of its reason", &size, 0, mostText)
		w.Bool("an infeasible sample", &e.infeasible)
		w.Binary(&e.text, size)
	}
}

// samples reads or writes the samples of k with indices in [from, to).
func (d *Runner[S]) samples(w *wire.Fields, k *finished[S], from, to int) {
	if n := to - from; w.Reading() {
		k.given, k.weight, k.x = append(k.given, make([]uint64, n)...), append(k.weight, make([]float64, n)...), append(k.x, make([]S, n*d.sites)...)
	}
	w.Uint64s(k.given[from:to])
	if d.crowd != nil {
		w.Float64s(k.weight[from:to])
	}
	switch x := any(k.x[from*d.sites : to*d.sites]).(type) {
	case []int32:
		w.Int32s(x)
		for i, l := range x {
			if s := from + i/d.sites; (l < 0 || int(l) >= d.levels) && (l != -1 || k.why(s) == nil) {
				w.Fail(fmt.Errorf("token of site %d of sample %d = %d, want 0 … %d", i%d.sites, d.cfg.First+s, l, d.levels-1))
			}
		}
	case []float32:
		w.Float32s(x)
	}
}

// recall passes the samples of f, except abandoned ones, to a projection with a memory.
func (d *Runner[S]) recall(f *finished[S]) error {
	memory, _ := d.committer.(Recaller) // New has checked this
	x, _ := any(f.x).([]int32)
	for i := 0; memory != nil && i < len(x); i += d.sites {
		if f.why(i/d.sites) != nil {
			continue
		}
		if err := memory.Recall(x[i : i+d.sites]); err != nil {
			return fmt.Errorf("sample %d: %w", i/d.sites, err)
		}
	}
	return nil
}
