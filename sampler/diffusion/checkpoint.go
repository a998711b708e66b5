package diffusion

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Save writes a checkpoint: all samples of the runner, those that it has loaded
// included. It needs a Config.Checkpoint.Path, without which none are kept.
func (d *Runner[S]) Save(w io.Writer) error {
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
		if d.crowd != nil {
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

// Load reads what Save wrote, into a new runner of the same model, process and
// Config; Count, Workers, Checkpoint, Observe and Progress may differ, and the
// error for others names the first that differs. Models are compared by their
// predictions for some states, to 1e-3. Sample and Fill then give out the samples
// of the checkpoint before they draw more, so they are called as in a run from the
// start. On an error the runner is as it was; if the error is that of a Recall
// (see [Committer]), the runner cannot be used.
func (d *Runner[S]) Load(ctx context.Context, r io.Reader) error {
	if err := d.read(ctx, r); err != nil {
		return fmt.Errorf("diffusion: Load: %w", err)
	}
	return nil
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (d *Runner[S]) SaveFile(path string) error { return durable.SaveFile("diffusion", path, d) }

// LoadFile reads what SaveFile saved, as Load does. If the file path is missing
// or damaged, it reads the generation before it, path.old.
func (d *Runner[S]) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "diffusion", path, d)
}

// finished is what a runner keeps for its checkpoints: the samples that it has
// finished, or that a checkpoint had. It keeps nothing without settings.
type finished[S energy.Site] struct {
	settings *fingerprint.List
	x        []S
	given    []uint64  // digest of what each was clamped to by Fill, 0 for nothing
	weight   []float64 // estimate of each, 0 unless it has particles
	fault    []fault   // of those that were given up, in order
	filed    int       // samples that the last file has
	own      []uint64  // given of the samples under way
	broken   error     // why there can be no more samples
}

// fault is why a sample was given up.
type fault struct {
	of  int // the sample, counted among those kept
	why error
}

// why returns why sample k was given up, nil if it was made.
func (f *finished[S]) why(k int) error {
	at, found := slices.BinarySearchFunc(f.fault, k, func(e fault, k int) int { return e.of - k })
	if !found {
		return nil
	}
	return f.fault[at].why
}

// unfiled returns the number of samples that the last file has not.
func (f *finished[S]) unfiled() int { return len(f.given) - f.filed }

// clamp notes what sample g of the batch is clamped to beside the configuration.
func (f *finished[S]) clamp(g int, own []S) {
	if f.settings != nil {
		f.own = append(f.own[:g], digest(own))
	}
}

// add keeps sample g of the batch: what was made of it, its error or nil, and its
// estimate.
func (f *finished[S]) add(g int, x []S, why error, logZ float64) {
	if f.settings == nil {
		return
	}
	if why != nil {
		f.fault = append(f.fault, fault{len(f.given), why})
	}
	f.x = append(f.x, x...)
	f.given = append(f.given, f.own[g])
	f.weight = append(f.weight, logZ)
}

// digest is a number that differs between rows; 0 for none.
func digest[S energy.Site](row []S) uint64 {
	if len(row) == 0 {
		return 0
	}
	h := uint64(14695981039346656037) // FNV-1a
	for _, v := range row {
		bits := uint32(v)
		if r, real := any(v).(float32); real {
			if bits = math.Float32bits(r); r != r {
				bits = math.MaxUint32 // all NaN are blanks
			}
		}
		for range 4 {
			h = (h ^ uint64(bits&0xff)) * 1099511628211
			bits >>= 8
		}
	}
	return h
}

// remember checks what parts and checkpoints ask of the projection, and makes
// ready to keep samples if Config.Checkpoint asks for it. The settings are those
// at the start: a projection with a memory changes.
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
	d.kept.settings = d.settings(ctx)
	d.kept.settings.Add("Config.First", d.cfg.First)
	return nil
}

// settings is what a checkpoint must agree on but for the part of the run.
func (d *Runner[S]) settings(ctx context.Context) *fingerprint.List {
	l := &fingerprint.List{Sites: d.sites, Levels: d.levels}
	d.list(ctx, l.Add)
	return l
}

// list adds the settings, for which it asks the model for two predictions.
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
func (d *Runner[S]) probe(ctx context.Context, add func(name string, value any), name string, model energy.Denoiser[S]) {
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

// perFrame returns the number of samples in a frame.
func (d *Runner[S]) perFrame() int { return max(1, frameSize/(4*d.sites+16)) }

// read reads what Save wrote.
func (d *Runner[S]) read(ctx context.Context, r io.Reader) error {
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
		return d.readSamples(&f, n, body)
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
func (d *Runner[S]) readNumbers(body []byte) (samples, faults int, rest []byte, err error) {
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
func (d *Runner[S]) readSamples(f *finished[S], n int, body []byte) (rest []byte, err error) {
	given, x := make([]uint64, n), make([]S, n*d.sites)
	if body, err = wire.ReadUint64s(body, given); err != nil {
		return nil, err
	}
	weight := make([]float64, n)
	if d.crowd != nil {
		if body, err = wire.ReadFloat64s(body, weight); err != nil {
			return nil, err
		}
	}
	f.weight = append(f.weight, weight...)
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

// recall passes the samples x of f to the projection, but for those given up.
func (d *Runner[S]) recall(f *finished[S], x []int32) error {
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

// appendFaults appends why samples were given up: the sample, the length of the
// text, 1 if the error wrapped constraint.ErrInfeasible, and the text.
func appendFaults(b []byte, faults []fault) []byte {
	for _, f := range faults {
		e, infeasible := record(f.why), 0
		if e.infeasible {
			infeasible = 1
		}
		b = wire.AppendInts(b, f.of, len(e.text), infeasible)
		b = append(b, e.text...)
	}
	return b
}

// readFaults reads why n of the samples of a checkpoint were given up.
func readFaults(dst *[]fault, n, samples int, b []byte) (rest []byte, err error) {
	for range n {
		var head [3]uint64
		if b, err = wire.ReadUint64s(b, head[:]); err != nil {
			return nil, err
		}
		least := uint64(0)
		if k := len(*dst); k > 0 {
			least = uint64((*dst)[k-1].of) + 1
		}
		if head[0] < least || head[0] >= uint64(samples) || head[1] > min(mostText, uint64(len(b))) || head[2] > 1 {
			return nil, fmt.Errorf("sample %d of %d was given up for %d bytes of reasons", head[0], samples, head[1])
		}
		*dst = append(*dst, fault{int(head[0]), &recorded{string(b[:head[1]]), head[2] == 1}})
		b = b[head[1]:]
	}
	return b, nil
}
