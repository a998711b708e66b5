package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/seriesdata"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// generation is the output of -generate.
type generation struct {
	Data     string   `json:"data"`
	Windows  int      `json:"windows"`
	Length   int      `json:"length"`
	Channels []string `json:"channels"`
	Training int      `json:"training"`
	// kernel width in standard deviations, chosen by held-out likelihood
	Width     float64   `json:"width"`
	Bars      *barShare `json:"bars,omitempty"` // shares of bars; nil if the series is not a market
	Relations []string  `json:"relations,omitempty"`
	// the classifier that corrects the density; nil for windows with too many traits
	Correction *correctionReport `json:"correction,omitempty"`
	// |accuracy − ½| of a classifier on held-out windows and windows of models, neither of which saw
	// them
	Apart float64 `json:"discriminative"`
	// discriminative score of real windows in place of generated ones, the noise level of the score
	ApartReal float64  `json:"discriminative_real"`
	ApartErr  float64  `json:"discriminative_stderr"`
	HeldOut   int      `json:"heldout"`
	Left      []string `json:"left_out,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	Wrote     []string `json:"wrote,omitempty"`
}

// barShare holds shares of bars with special shapes, for real and for generated windows.
type barShare struct {
	RealEdge  float64 `json:"boundary_real"` // share of bars whose open or close equals high or low
	DrawnEdge float64 `json:"boundary_generated"`
	RealFlat  float64 `json:"flat_real"` // share of bars whose high equals low
	DrawnFlat float64 `json:"flat_generated"`
}

// path is a coordinate of the windows. It is the channel transformed according to its kind,
// minus its location and divided by its scale in the window, and then mapped to normal scores
// over all windows.
type path struct {
	channel int
	// whether the coordinate is the difference of successive values or of their logarithms, for
	// a drifting level
	changes bool
	log     bool    // whether the coordinate is a logarithm
	of      barPart // part of the bar; noBar for other channels
	sorted  []float64
}

// barPart identifies a coordinate of a bar.
type barPart uint8

const (
	noBar     barPart = iota
	overnight         // logarithm of open over the previous close
	extent            // logarithm of high over low
	opens             // relative position of open between low and high, in logarithms: 0 … 1
	closes
	barParts = iota - 1 // number of parts
)

// windowModel is a kernel density of windows in the coordinates of [path]. A kernel has the
// covariance of all windows times width². The kernel centres are shrunk towards the mean, so
// that the density has the covariance of the windows for every width. Normal scores do not describe
// how the parts of a bar depend on each other: in a long bar, open and close are far apart on either
// side. So the scores of a bar are replaced by those of the nearest bar of the windows whose open and
// close lie on the same of high and low.
type windowModel struct {
	f          *seriesdata.Frame
	length     int
	paths      []path
	bars       [4]int
	barred     bool
	ratio      [][2]int // channels with a constant ratio to close, such as adjusted prices
	relations  []relation
	fixed      map[int]float64 // constant channels with their values
	pick       []int
	starts     [][2]int  // series and first row of each window
	y          []float64 // normal scores, windows × rows × paths
	place      []float64 // locations of the coordinates, windows × paths
	scale      []float64
	dims       int
	root       []float64 // Cholesky factor L of the covariance of windows, row by row
	width      float64
	correction *logistic // separates real windows from candidates; nil for windows with too many traits
	learnt     int       // number of real windows that it was trained on
	seen       [][]bool  // rows of the windows, by series and row, and the rows before them
	tick       []float64
	effective  float64                    // sum over windows of the effective share of candidates
	shapes     map[[2]float64][][]float64 // scores of bars of the windows, by edges
}

// widths lists the kernel widths to choose from.
var widths = []float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5}

// shrinkage is the weight of the diagonal in the covariance of windows. It is needed because
// there are about as many windows as entries.
const shrinkage = 0.1

// generateWindows draws windows from the default model without conditions.
func generateWindows(ctx context.Context, o options) (*generation, error) {
	f, err := seriesOf(o)
	if err != nil {
		return nil, err
	}
	pick, left := choose(f, o.columns != "")
	r := &generation{Data: o.csv, Windows: o.generate, Length: o.length, Notes: f.Notes}
	if r.Data == "" {
		r.Data = "synthetic " + o.data
	}
	for _, l := range append(slices.Clone(f.LeftOut), left...) {
		r.Left = append(r.Left, fmt.Sprintf("%s (%s)", l.Column, l.Why))
	}
	for _, c := range pick {
		r.Channels = append(r.Channels, f.Channels[c].Name)
	}
	all, parts := windowsOf(f, o.length, pick)
	if len(all) < leastTraining {
		return nil, fmt.Errorf("%s: %d windows of %d rows without a gap, want ≥ %d to learn from; lower -length, or fill gaps first (-fill)", r.Data, len(all), o.length, leastTraining)
	}
	if err := r.judge(ctx, f, o, pick, parts); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Data, err)
	}
	m, err := newWindowModel(f, o, pick, all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Data, err)
	}
	r.Training, r.Width = len(all), m.width
	start := time.Now()
	if err := m.correct(ctx, o.seed); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Data, err)
	}
	if m.correction != nil {
		r.Correction = &correctionReport{Traits: len(m.correction.mean), Windows: m.learnt, Seconds: time.Since(start).Seconds()}
	} else {
		r.Notes = append(r.Notes, fmt.Sprintf("not corrected by a classifier, which would need more than %d traits of %d channels; -columns chooses fewer", mostTraits, len(pick)))
	}
	for _, rel := range m.relations {
		g := gapModel{f: f}
		r.Relations = append(r.Relations, g.spoken(rel))
	}
	random := rand.New(rand.NewPCG(o.seed, 22))
	out := make([][]float64, o.generate)
	for k := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[k] = m.draw(random)
	}
	if r.Correction != nil {
		r.Correction.Effective = m.effective / float64(o.generate)
	}
	if m.barred {
		r.Bars = &barShare{}
		var real [][]float64
		for _, s := range all {
			real = append(real, m.values(s))
		}
		r.Bars.RealEdge, r.Bars.RealFlat = m.edges(real)
		r.Bars.DrawnEdge, r.Bars.DrawnFlat = m.edges(out)
	}
	if o.write != "" {
		if err := m.save(o.write, out); err != nil {
			return nil, err
		}
		r.Wrote = append(r.Wrote, o.write)
	}
	return r, nil
}

// seriesOf reads -csv, or generates the synthetic market with prices in cents.
func seriesOf(o options) (*seriesdata.Frame, error) {
	if o.csv != "" {
		return readFrame(o.csv, o.reading())
	}
	t := generators[o.data](o.rows, o.length, o.seed)
	var b strings.Builder
	b.WriteString(strings.Join(t.names, ",") + "\n")
	for row := range t.rows() {
		for c := range t.names {
			if c > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatFloat(t.at(row, c), 'f', 4, 64))
		}
		b.WriteByte('\n')
	}
	return seriesdata.Read(strings.NewReader(b.String()), o.reading())
}

// part is one fold of the windows. held are the windows that lie within certain stretches of the
// series, free those that share no row with these stretches.
type part struct{ held, free [][2]int }

// stretches is the number of runs of rows into which a series is divided. Every fifth run
// belongs to the same fold.
const stretches = 2 * folds

// shown is the number of windows of a model, or real ones for the reference, for every held-out window.
const shown = 4

// mostJudged is the maximum number of windows per fold that are evaluated.
const mostJudged = 60

// windowsOf lists the windows without missing numbers and assigns them to folds. A window that
// lies within a stretch is held out in exactly one fold.
func windowsOf(f *seriesdata.Frame, length int, pick []int) (all [][2]int, parts []part) {
	n := len(f.Channels)
	parts = make([]part, folds)
	for e := range f.Entities {
		rows, last := len(f.Entities[e].Times), -1 // with a missing number
		stretch := func(r int) int { return r * stretches / rows }
		for r := range rows {
			for _, c := range pick {
				if math.IsNaN(f.Entities[e].Values[r*n+c]) {
					last = r
				}
			}
			s := r - length + 1
			if s < 1 || s-1 <= last { // the row before says where prices come from
				continue
			}
			all = append(all, [2]int{e, s})
			a, b := stretch(s-1), stretch(r)
			for k := range parts {
				switch {
				case a == b && a%folds == k:
					parts[k].held = append(parts[k].held, [2]int{e, s})
				case a%folds != k && b%folds != k && b-a <= 1:
					parts[k].free = append(parts[k].free, [2]int{e, s})
				}
			}
		}
	}
	for k := range parts {
		held := parts[k].held
		parts[k].held = nil
		for i := range min(len(held), mostJudged) {
			parts[k].held = append(parts[k].held, held[i*len(held)/min(len(held), mostJudged)])
		}
	}
	return all, parts
}

// without returns the windows of part j for training that are for training in part k, too.
func without(parts []part, j, k int) (free [][2]int) {
	in := map[[2]int]bool{}
	for _, s := range parts[k].free {
		in[s] = true
	}
	for _, s := range parts[j].free {
		if in[s] {
			free = append(free, s)
		}
	}
	return free
}

// judge computes the discriminative scores. A classifier is tested on the held-out windows of a part
// and windows of a model of the other parts. It is trained on the held-out windows of every other part
// and windows of a model without both parts. For the reference, real windows that the model was
// trained on replace its windows. Every held-out window is compared with several others (shown), which
// halves the share of the draws in the variance of the score.
//
// If the models for the training of the classifier were to know the part of the test, their windows
// would have the levels of that part more often than the real windows there. The classifier would
// take these levels as a mark of generated windows, and err more often than by chance where levels
// drift.
func (r *generation) judge(ctx context.Context, f *seriesdata.Frame, o options, pick []int, parts []part) error {
	n, random := len(pick), rand.New(rand.NewPCG(o.seed, 21))
	var all []float64 // real windows held out, for their standard deviations
	models := make([][]*windowModel, len(parts))
	for j := range parts {
		for k := range j + 1 {
			free := without(parts, j, k)
			if len(parts[j].held) < 2 || len(free) < leastTraining {
				r.Notes = append(r.Notes, "too short to hold out windows: no discriminative score")
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := newWindowModel(f, o, pick, free)
			if err != nil {
				return err
			}
			if err := m.correct(ctx, o.seed); err != nil {
				return err
			}
			models[j] = append(models[j], m)
		}
		for _, s := range parts[j].held {
			all = append(all, models[j][j].values(s)...)
		}
		r.HeldOut += len(parts[j].held)
	}
	inputs := func(x []float64) []float64 { return traits(standardLike(x, all, n), o.length, n) }
	var right [2][]float64 // for generated and for real windows
	for k := range parts {
		var training, test [2][][]float64
		for j := range parts {
			if err := ctx.Err(); err != nil {
				return err
			}
			m := models[max(j, k)][min(j, k)]
			for _, s := range parts[j].held {
				for c := range right {
					to := &training[c]
					if j == k {
						to = &test[c]
					}
					*to = append(*to, inputs(m.values(s)))
					for range shown {
						x := m.values(m.starts[random.IntN(len(m.starts))])
						if c == 0 {
							x = m.draw(random)
						}
						*to = append(*to, inputs(x))
					}
				}
			}
		}
		for c := range right {
			l, err := fitLogistic(training[c], 1+shown)
			if err != nil {
				return err
			}
			for i := range test[c] {
				if i%(1+shown) == 0 {
					right[c] = append(right[c], 0)
				}
				right[c][len(right[c])-1] += weight(i%(1+shown), shown) * hit(l.margin(test[c][i]), i%(1+shown) == 0) / 2
			}
		}
	}
	var a [2]float64
	a[0], r.ApartErr = meanError(right[0])
	a[1], _ = meanError(right[1])
	r.Apart, r.ApartReal = math.Abs(a[0]-0.5), math.Abs(a[1]-0.5)
	return nil
}

// wanders is a threshold: a level counts as drifting if the standard deviation of its changes is
// below this share of the standard deviation of the level.
const wanders = 0.25

// newWindowModel fits a model to the windows that begin at starts.
func newWindowModel(f *seriesdata.Frame, o options, pick []int, starts [][2]int) (*windowModel, error) {
	m := &windowModel{f: f, length: o.length, pick: pick, starts: starts, fixed: map[int]float64{}}
	n := len(f.Channels)
	for _, c := range f.Channels {
		tick := c.Tick
		if o.tick > 0 && c.Kind == "price" {
			tick = o.tick
		}
		m.tick = append(m.tick, tick)
	}
	var rows [][]float64
	for e := range f.Entities {
		for r := range f.Entities[e].Times {
			rows = append(rows, f.Entities[e].Values[r*n:(r+1)*n])
		}
	}
	half := make([]float64, n)
	for c := range half {
		half[c] = max(f.Channels[c].Tick/2, 1e-12)
	}
	m.relations = relations(rows, pick, half)
	dependent := func(c int) bool {
		return slices.ContainsFunc(m.relations, func(r relation) bool { return r.channel == c })
	}
	m.barred = isMarket(f) && o.ohlc
	for k, name := range priceNames {
		if m.barred {
			m.bars[k] = slices.IndexFunc(f.Channels, func(c seriesdata.Channel) bool { return plain(c.Name) == name })
			m.barred = slices.Contains(pick, m.bars[k]) && !dependent(m.bars[k]) && f.Channels[m.bars[k]].Kind != "constant"
		}
	}
	if m.barred {
		for _, row := range rows {
			if open, high, low, last := row[m.bars[0]], row[m.bars[1]], row[m.bars[2]], row[m.bars[3]]; low <= 0 || high < max(open, last) || low > min(open, last) {
				m.barred = false
			}
		}
	}
	if m.barred {
		for _, of := range []barPart{overnight, extent, opens, closes} {
			m.paths = append(m.paths, path{channel: m.bars[3], of: of})
		}
	}
	for _, c := range pick {
		switch {
		case f.Channels[c].Kind == "constant":
			m.fixed[c] = f.Entities[starts[0][0]].Values[starts[0][1]*n+c]
		case dependent(c), m.barred && slices.Contains(m.bars[:], c):
		case m.barred && f.Channels[c].Kind == "price":
			m.ratio = append(m.ratio, [2]int{c, m.bars[3]})
		default:
			m.paths = append(m.paths, m.kind(c))
		}
	}
	if len(m.paths) == 0 {
		return nil, errors.New("no channel changes; a constant needs no model")
	}
	for e := range f.Entities {
		m.seen = append(m.seen, make([]bool, len(f.Entities[e].Times)))
	}
	for _, s := range starts {
		for t := s[1] - 1; t < s[1]+m.length; t++ {
			m.seen[s[0]][t] = true
		}
	}
	return m, m.learn()
}

// kind chooses the coordinate of a channel that is not a price of a bar.
func (m *windowModel) kind(c int) path {
	n := len(m.f.Channels)
	p := path{channel: c}
	var x []float64
	for e := range m.f.Entities {
		for r := range m.f.Entities[e].Times {
			if v := m.f.Entities[e].Values[r*n+c]; v == v {
				x = append(x, v)
			}
		}
	}
	p.log = shapeOf(m.f.Channels[c].Kind, x) == logarithm
	level, change, k := 0.0, 0.0, 0.0
	for e := range m.f.Entities {
		sum, square, count, last := 0.0, 0.0, 0.0, math.NaN()
		for r := range m.f.Entities[e].Times {
			v := p.level(m.f.Entities[e].Values[r*n+c])
			if v != v {
				last = v
				continue
			}
			sum, square, count = sum+v, square+v*v, count+1
			if last == last {
				change += (v - last) * (v - last)
				k++
			}
			last = v
		}
		if count > 0 {
			level += square - sum*sum/count
		}
	}
	p.changes = k > 0 && change/k < wanders*wanders*level/k
	return p
}

func (p *path) level(v float64) float64 {
	if p.log {
		return math.Log(v)
	}
	return v
}

// raw returns a row's coordinate before standardisation.
func (m *windowModel) raw(p *path, e, r int) float64 {
	n := len(m.f.Channels)
	v := m.f.Entities[e].Values
	row := v[r*n : (r+1)*n]
	if p.of != noBar {
		open, high, low, last := row[m.bars[0]], row[m.bars[1]], row[m.bars[2]], row[m.bars[3]]
		switch p.of {
		case overnight:
			return math.Log(open / v[(r-1)*n+m.bars[3]])
		case extent:
			return math.Log(high / low)
		case opens:
			last = open
		}
		if last == high { // exactly
			return 1
		}
		if last == low {
			return 0
		}
		return math.Log(last/low) / math.Log(high/low)
	}
	if p.changes {
		return p.level(row[p.channel]) - p.level(v[(r-1)*n+p.channel])
	}
	return p.level(row[p.channel])
}

// normalise returns the location and scale of a coordinate in a window. The location is the mean for
// a level and 0 for other coordinates. The scale is the root mean square of what remains. Positions
// within a bar are not scaled.
func (m *windowModel) normalise(p *path, e, at int) (place, scale float64) {
	if p.of == opens || p.of == closes {
		return 0, 1
	}
	if p.of == noBar && !p.changes {
		for t := range m.length {
			place += m.raw(p, e, at+t) / float64(m.length)
		}
	}
	for t := range m.length {
		v := m.raw(p, e, at+t) - place
		scale += v * v / float64(m.length)
	}
	if scale = math.Sqrt(scale); scale <= 1e-12*math.Abs(place) {
		scale = 1
	}
	return place, scale
}

// learn computes location and scale of every window, converts the remainder to normal scores and
// chooses the kernel width.
func (m *windowModel) learn() error {
	k := len(m.paths)
	m.dims = k * m.length
	m.y = make([]float64, len(m.starts)*m.dims)
	m.place, m.scale = make([]float64, len(m.starts)*k), make([]float64, len(m.starts)*k)
	random := rand.New(rand.NewPCG(1, 20))
	for j := range m.paths {
		p := &m.paths[j]
		p.sorted = nil
		for i, s := range m.starts {
			place, scale := m.normalise(p, s[0], s[1])
			m.place[i*k+j], m.scale[i*k+j] = place, scale
			for t := range m.length {
				v := (m.raw(p, s[0], s[1]+t) - place) / scale
				m.y[i*m.dims+t*k+j] = v
				p.sorted = append(p.sorted, v)
			}
		}
		slices.Sort(p.sorted)
		for i := j; i < len(m.y); i += k {
			from, _ := slices.BinarySearch(p.sorted, m.y[i])
			to := from + 1
			for to < len(p.sorted) && p.sorted[to] == m.y[i] {
				to++
			}
			u := (float64(from) + float64(to-from)*random.Float64()) / float64(len(p.sorted))
			m.y[i] = quantile(min(max(u, 1e-5), 1-1e-5))
		}
	}
	if m.barred {
		rows := len(m.y) / k
		m.shapes = map[[2]float64][][]float64{}
		for i := range min(mostShapes, rows) {
			at := i * rows / min(mostShapes, rows) * k
			bar := m.y[at : at+barParts]
			m.shapes[m.onEdge(bar)] = append(m.shapes[m.onEdge(bar)], bar)
		}
		for _, all := range m.shapes {
			slices.SortFunc(all, func(a, b []float64) int { return cmp.Compare(a[0], b[0]) })
		}
	}
	if err := m.choose(); err != nil {
		return err
	}
	chol, err := covarianceRoot(m.y, m.dims)
	if err != nil {
		return err
	}
	var l mat.TriDense
	chol.LTo(&l)
	m.root = make([]float64, m.dims*m.dims)
	for i := range m.dims {
		for j := range i + 1 {
			m.root[i*m.dims+j] = l.At(i, j)
		}
	}
	return nil
}

// mostShapes is the maximum number of bars whose shapes generated bars take.
const mostShapes = 2000

// onEdge returns, for open and close of a bar with the given scores, 1 at the high, 0 at the low,
// and ½ between them.
func (m *windowModel) onEdge(bar []float64) (edge [2]float64) {
	for i := range edge {
		at := barParts - len(edge) + i
		c := coordinate{kind: scores, sorted: m.paths[at].sorted}
		if edge[i] = c.from(bar[at]); edge[i] != 0 && edge[i] != 1 {
			edge[i] = 0.5
		}
	}
	return edge
}

// shape replaces the scores of a bar by those of the nearest bar of the windows with the same edges.
// If there is none, it leaves them as they are.
func (m *windowModel) shape(bar []float64) {
	shapes := m.shapes[m.onEdge(bar)]
	best, near := math.Inf(1), bar
	consider := func(s []float64) bool {
		if (s[0]-bar[0])*(s[0]-bar[0]) >= best {
			return false // so are all beyond it
		}
		d := 0.0
		for i, v := range s {
			d += (v - bar[i]) * (v - bar[i])
		}
		if d < best {
			best, near = d, s
		}
		return true
	}
	from, _ := slices.BinarySearchFunc(shapes, bar[0], func(s []float64, v float64) int { return cmp.Compare(s[0], v) })
	for i := from; i < len(shapes) && consider(shapes[i]); i++ {
	}
	for i := from - 1; i >= 0 && consider(shapes[i]); i-- {
	}
	copy(bar, near)
}

// mostLikely is the maximum number of windows for choosing the kernel width.
const mostLikely = 400

// choose sets the kernel width that maximises the likelihood of the last fifth of the windows,
// under the density of the earlier windows that share no row with them.
func (m *windowModel) choose() error {
	n, d := len(m.starts), m.dims
	border := n * 4 / 5
	before := max(border-m.length, 1)
	chol, err := covarianceRoot(m.y[:before*d], d)
	if err != nil {
		return err
	}
	var l mat.TriDense
	chol.LTo(&l)
	whiten := func(i int) []float64 {
		v := mat.NewVecDense(d, slices.Clone(m.y[i*d:(i+1)*d]))
		_ = v.SolveVec(&l, v)
		return v.RawVector().Data
	}
	thin := func(from, to int) (out [][]float64) {
		k := min(mostLikely, to-from)
		for i := range k {
			out = append(out, whiten(from+i*(to-from)/k))
		}
		return out
	}
	centres, tests := thin(0, before), thin(border, n)
	dots := make([]float64, len(tests)*len(centres))
	xx, cc := make([]float64, len(tests)), make([]float64, len(centres))
	for j, c := range centres {
		cc[j] = floats.Dot(c, c)
	}
	for i, x := range tests {
		xx[i] = floats.Dot(x, x)
		for j, c := range centres {
			dots[i*len(centres)+j] = floats.Dot(x, c)
		}
	}
	best, likelihoods := math.Inf(-1), make([]float64, len(centres))
	for _, h := range widths {
		shrink, s2 := 1/math.Sqrt(1+h*h), h*h/(1+h*h)
		total := 0.0
		for i := range tests {
			for j := range centres {
				likelihoods[j] = -(xx[i] - 2*shrink*dots[i*len(centres)+j] + shrink*shrink*cc[j]) / 2 / s2
			}
			total += floats.LogSumExp(likelihoods) - float64(d)/2*math.Log(s2)
		}
		if total > best {
			best, m.width = total, h
		}
	}
	return nil
}

// covarianceRoot returns the Cholesky factor of the shrunken covariance of the rows of y.
func covarianceRoot(y []float64, d int) (*mat.Cholesky, error) {
	n := len(y) / d
	x := mat.NewDense(n, d, y)
	cov := mat.NewSymDense(d, nil)
	cov.SymOuterK((1-shrinkage)/float64(n), x.T())
	for i := range d {
		cov.SetSym(i, i, cov.At(i, i)/(1-shrinkage)+1e-6)
	}
	var c mat.Cholesky
	if !c.Factorize(cov) {
		return nil, errCovariance
	}
	return &c, nil
}

// values returns a window of the file, length × chosen channels.
func (m *windowModel) values(s [2]int) (x []float64) {
	n := len(m.f.Channels)
	for t := range m.length {
		for _, c := range m.pick {
			x = append(x, m.f.Entities[s[0]].Values[(s[1]+t)*n+c])
		}
	}
	return x
}

// candidate draws a window from the kernel density, length × chosen channels, with values as they
// are written to a file.
func (m *windowModel) candidate(r *rand.Rand) []float64 {
	d, k := m.dims, len(m.paths)
	centre := r.IntN(len(m.starts))
	e, at := m.starts[centre][0], m.starts[centre][1]
	y := make([]float64, d)
	for j := range y {
		y[j] = m.width * r.NormFloat64()
	}
	for i := d - 1; i >= 0; i-- { // y ← L·y
		row := m.root[i*d : i*d+i+1]
		sum := 0.0
		for j, v := range row {
			sum += v * y[j]
		}
		y[i] = sum
	}
	shrink := 1 / math.Sqrt(1+m.width*m.width)
	for j := range y {
		y[j] = shrink * (m.y[centre*d+j] + y[j])
	}
	if m.barred { // the parts of bars are the first paths
		for t := range m.length {
			m.shape(y[t*k : t*k+barParts])
		}
	}
	// Levels are those of a row of the windows nearby.
	rows := len(m.f.Entities[e].Times)
	channels := len(m.f.Channels)
	start := min(max(at-1+r.IntN(2*m.length+1)-m.length, 0), rows-1)
	before := m.f.Entities[e].Values[start*channels : (start+1)*channels]
	if !m.seen[e][start] || slices.ContainsFunc(m.pick, func(c int) bool { return math.IsNaN(before[c]) }) {
		before = m.f.Entities[e].Values[(at-1)*channels : at*channels]
	}
	last := slices.Clone(before)
	var out []float64
	row := make([]float64, channels)
	for c, v := range m.fixed {
		row[c] = v
	}
	for t := range m.length {
		part := map[barPart]float64{}
		for i := range m.paths {
			p := &m.paths[i]
			c := coordinate{kind: scores, sorted: p.sorted}
			v := m.place[centre*k+i] + m.scale[centre*k+i]*c.from(y[t*k+i])
			switch {
			case p.of != noBar:
				part[p.of] = v
				continue
			case p.changes:
				v += p.level(last[p.channel])
			}
			if p.log {
				v = math.Exp(v)
			}
			last[p.channel] = v
			row[p.channel] = m.round(p.channel, v)
		}
		if m.barred {
			open := last[m.bars[3]] * math.Exp(part[overnight])
			low := open * math.Exp(-part[extent]*part[opens])
			end := low * math.Exp(part[extent]*part[closes])
			last[m.bars[3]] = end
			m.bar(row, open, end, part[extent]*(1-max(part[opens], part[closes])), part[extent]*min(part[opens], part[closes]))
		}
		for _, c := range m.ratio {
			v := m.f.Entities[e].Values[(at+t)*channels:]
			row[c[0]] = m.round(c[0], row[c[1]]*v[c[0]]/v[c[1]])
			if v[c[0]] == v[c[1]] {
				row[c[0]] = row[c[1]]
			}
		}
		for _, rel := range m.relations {
			row[rel.channel] = m.round(rel.channel, rel.value(row))
		}
		for _, c := range m.pick {
			out = append(out, row[c])
		}
	}
	return out
}

// bar stores the prices of a bar. A wick that is not 0 is at least one tick long.
func (m *windowModel) bar(row []float64, open, last, above, below float64) {
	o, h, l, c := m.bars[0], m.bars[1], m.bars[2], m.bars[3]
	row[o], row[c] = m.round(o, open), m.round(c, last)
	upper, lower := max(row[o], row[c]), min(row[o], row[c])
	row[h], row[l] = m.round(h, upper*math.Exp(above)), m.round(l, lower*math.Exp(-below))
	if above > 0 && row[h] <= upper {
		row[h] = m.round(h, upper+m.tick[h])
	}
	if below > 0 && row[l] >= lower {
		row[l] = m.round(l, lower-m.tick[l])
	}
	row[h], row[l] = max(row[h], upper), min(row[l], lower)
}

func (m *windowModel) round(c int, v float64) float64 {
	g := gapModel{tick: m.tick}
	return g.round(c, v)
}

// edges returns the share of bars whose open or close equals high or low, and the share of flat
// bars.
func (m *windowModel) edges(windows [][]float64) (edge, flat float64) {
	at := func(c int) int { return slices.Index(m.pick, c) }
	o, h, l, c := at(m.bars[0]), at(m.bars[1]), at(m.bars[2]), at(m.bars[3])
	n, count := len(m.pick), 0.0
	for _, x := range windows {
		for t := range m.length {
			row := x[t*n : (t+1)*n]
			count++
			if row[o] == row[h] || row[o] == row[l] || row[c] == row[h] || row[c] == row[l] {
				edge++
			}
			if row[h] == row[l] {
				flat++
			}
		}
	}
	return edge / count, flat / count
}

// standardLike returns the values x, rows × channels, centred and in standard deviations of the
// channels of like, which has n of them.
func standardLike(x, like []float64, n int) []float32 {
	out := make([]float32, len(x))
	for c := range n {
		sum, square, k := 0.0, 0.0, float64(len(like)/n)
		for i := c; i < len(like); i += n {
			sum += like[i] / k
		}
		for i := c; i < len(like); i += n {
			square += (like[i] - sum) * (like[i] - sum) / k
		}
		sd := math.Sqrt(square)
		if sd == 0 {
			sd = 1
		}
		for i := c; i < len(x); i += n {
			out[i] = float32((x[i] - sum) / sd)
		}
	}
	return out
}

// save writes windows as a table with one line per row of a window.
func (m *windowModel) save(path string, windows [][]float64) error {
	return saveCSV(path, ',', func(w *csv.Writer) error {
		head := []string{"window", "row"}
		for _, c := range m.pick {
			head = append(head, m.f.Channels[c].Name)
		}
		if err := w.Write(head); err != nil {
			return err
		}
		n := len(m.pick)
		for k, x := range windows {
			for t := range m.length {
				line := []string{strconv.Itoa(k + 1), strconv.Itoa(t + 1)}
				for i, c := range m.pick {
					line = append(line, m.f.Spell(c, x[t*n+i]))
				}
				if err := w.Write(line); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (r *generation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d windows of %d rows of %s; kernel density of %d windows in the coordinates of each kind, width %v by held-out likelihood\n",
		r.Data, r.Windows, r.Length, strings.Join(r.Channels, ", "), r.Training, r.Width)
	if r.Correction != nil {
		fmt.Fprintln(&b, r.Correction)
	}
	for _, s := range r.Left {
		fmt.Fprintln(&b, "left out:", s)
	}
	for _, s := range r.Notes {
		fmt.Fprintln(&b, s)
	}
	for _, s := range r.Relations {
		fmt.Fprintln(&b, "kept in every row:", s)
	}
	if r.Bars != nil {
		fmt.Fprintf(&b, "bars with open or close on high or low: %.1f %% (in the file %.1f %%); flat: %.2f %% (%.2f %%)\n", 100*r.Bars.DrawnEdge, 100*r.Bars.RealEdge, 100*r.Bars.DrawnFlat, 100*r.Bars.RealFlat)
	}
	if r.HeldOut > 0 {
		fmt.Fprintf(&b, "discriminative score against %d windows held out, by models of the other parts of the series: %.3f ± %.3f (of real windows of these, its noise level: %.3f)\n", r.HeldOut, r.Apart, r.ApartErr, r.ApartReal)
	}
	for _, path := range r.Wrote {
		fmt.Fprintln(&b, "wrote", path)
	}
	return b.String()
}
