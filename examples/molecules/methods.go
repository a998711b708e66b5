package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/layer"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"gonum.org/v1/gonum/stat"
)

// method is an unlearning method. Its function changes the weights of net and returns λ, or 0 if
// the method has none. If pretraining is set, the method takes as many steps as pre-training.
type method struct {
	name, what  string
	pretraining bool
	forget      func(t *task, ctx context.Context, net *neural.Transformer, seed uint64) (lambda float64, err error)
}

// primalDual is the name of package finetune's method.
const primalDual = "bound"

// methods lists the methods of -method. Only bound and data aim at the required share; with the
// others it is not controlled. Methods that train anew start from random weights.
var methods = []method{
	{primalDual, "λ follows what the network generates", false, (*task).tune},
	{"data", "λ of the data alone", false, (*task).reweighted},
	{"keep", "training on the rest of the data", false, (*task).keeping},
	{"fixed0.5", "half of the loss of the concept's rows taken away", false, signed(0.5)},
	{"fixed1.5", "half of the loss of the concept's rows the other way round", false, signed(1.5)},
	{"ascent", "gradient ascent on the concept's rows", false, (*task).ascend},
	{"esd", "ESD: negative guidance, learned", false, (*task).erase},
	{"siss0", "SISS, λ = 0", false, siss(0)},
	{"siss0.5", "SISS, λ = ½", false, siss(0.5)},
	{"siss1", "SISS, λ = 1", false, siss(1)},
	{"mdu0", "MDU without a prompt, τ = 0", false, flatten(0)},
	{"mdu0.5", "MDU without a prompt, τ = ½", false, flatten(0.5)},
	{"tilted", "trained anew, λ of the data", true, (*task).retilted},
	{"without", "trained anew, without the concept's rows", true, (*task).retrained},
}

const (
	tuning  = 5e-4 // learning rate of unlearning, the default of package finetune
	negates = 1.0  // strength η of negative guidance
	// norm to which the gradient of the forgotten rows is scaled, relative to the gradient of
	// the kept rows
	clipped = 0.1
)

// part returns the share of training rows with the concept.
func (t *task) part() float64 {
	n := 0
	for _, h := range t.has {
		if h {
			n++
		}
	}
	return fraction(n, len(t.has))
}

// weights returns a weight per row: with for rows with the concept, without for the others.
func (t *task) weights(with, without float64) []float64 {
	w := make([]float64, len(t.has))
	for i, h := range t.has {
		w[i] = without
		if h {
			w[i] = with
		}
	}
	return w
}

// odds returns the λ at which weighting the concept's rows by e^(−λ) reduces their share to
// -share.
func (t *task) odds() float64 {
	logit := func(p float64) float64 { return math.Log(p) - math.Log1p(-p) }
	return max(0, logit(t.part())-logit(t.share))
}

// fit trains net on the weighted rows and stores the averaged network weights in it.
func (t *task) fit(ctx context.Context, net *neural.Transformer, cfg train.Config, weight []float64) error {
	cfg.Batch, cfg.Decay = t.batch, decay
	tr, err := train.New(net, t.objective(), t.rows, cfg)
	if err != nil {
		return err
	}
	if err := tr.Reweight(weight); err != nil {
		return err
	}
	bar := progress.New("train")
	defer bar.Done()
	for tr.Step() < cfg.Steps {
		if err := tr.Run(ctx, min(100, cfg.Steps-tr.Step())); err != nil {
			return err
		}
		bar.Set(tr.Step(), cfg.Steps)
	}
	copy(net.Weights(), tr.Average().Weights())
	return nil
}

func (t *task) reweighted(ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	l := t.odds()
	return l, t.fit(ctx, net, train.Config{Steps: t.fewer(), Rate: tuning, Seed: seed}, t.weights(math.Exp(-l), 1))
}

func (t *task) keeping(ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	return 0, t.fit(ctx, net, train.Config{Steps: t.fewer(), Rate: tuning, Seed: seed}, t.weights(0, 1))
}

func (t *task) retilted(ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	l := t.odds()
	return l, t.anew(ctx, net, seed, t.weights(math.Exp(-l), 1))
}

func (t *task) retrained(ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	return 0, t.anew(ctx, net, seed, t.weights(0, 1))
}

// anew trains a new network of the same shape with the settings of pre-training.
func (t *task) anew(ctx context.Context, net *neural.Transformer, seed uint64, weight []float64) error {
	begun, err := neural.New(net.Config(), rand.NewPCG(seed, 0))
	if err != nil {
		return err
	}
	copy(net.Weights(), begun.Weights())
	return t.fit(ctx, net, train.Config{Steps: t.steps, Rate: t.rate, Seed: seed}, weight)
}

// lessons is a batch of partly masked states, with the tokens that a network should predict in
// them.
type lessons struct {
	t      *task
	pass   *neural.Pass
	x      []int32 // states, one row after another
	level  []float64
	asked  []int32 // positions to predict, over all states
	target []int32
	weight []float64 // weights of −log p of the targets
	y      []float32
	each   []float64 // loss weights that hide computes and discards
}

func (t *task) lessons(net *neural.Transformer) *lessons {
	n := t.batch * t.c.Sites
	return &lessons{
		t: t, pass: net.NewTraining(t.batch), x: make([]int32, n), level: make([]float64, t.batch),
		y: make([]float32, n*(t.c.Levels+1)), each: make([]float64, t.c.Sites),
	}
}

// clear removes all positions to predict.
func (l *lessons) clear() { l.asked, l.target, l.weight = l.asked[:0], l.target[:0], l.weight[:0] }

// hide stores row in state i with some tokens masked as in training: more of them for a greater
// u. It returns the state.
func (l *lessons) hide(i int, row []int32, u float64, r *rand.Rand) (x []int32) {
	n := l.t.c.Sites
	l.t.objective().Corrupt(l.x[i*n:(i+1)*n], l.each, row, u, r)
	return l.x[i*n : (i+1)*n]
}

// ask adds the masked positions of state i to the batch, with the tokens of row as targets.
// Their weight is that of training, times k. The sum of the losses is then k times the bound on
// −log p of the row.
func (l *lessons) ask(i int, row []int32, k float64) {
	n, hidden := l.t.c.Sites, 0
	x := l.x[i*n : (i+1)*n]
	for _, v := range x {
		if v == mask(l.t.c) {
			hidden++
		}
	}
	for j, v := range x {
		if v == mask(l.t.c) && k != 0 {
			l.asked, l.target = append(l.asked, int32(i*n+j)), append(l.target, row[j])
			l.weight = append(l.weight, k*float64(n)/float64(hidden)/float64(len(l.x)))
		}
	}
}

// answer runs the network and returns rows of log-weights for the positions to predict.
func (l *lessons) answer(p *neural.Pass, y []float32) []float32 {
	p.Forward(neural.Input{Tokens: l.x, Level: l.level})
	y = y[:len(l.asked)*(l.t.c.Levels+1)]
	p.Output(y, l.asked)
	return y
}

// teach adds the gradient of the losses at the positions to predict.
func (l *lessons) teach() {
	if len(l.asked) == 0 {
		return
	}
	y := l.answer(l.pass, l.y)
	layer.CrossEntropy(y, y, l.target, l.weight, l.t.c.Levels+1)
	l.pass.Backward(y)
}

// descend makes the unlearning steps by Adam, in the form of package train. Before each step, it
// calls step to compute the gradient.
func (t *task) descend(ctx context.Context, net *neural.Transformer, l *lessons, seed uint64, step func(r *rand.Rand) error) error {
	const beta1, beta2, epsilon = 0.9, 0.98, 1e-8
	w, g, steps := net.Weights(), l.pass.Gradient(), t.fewer()
	m, v := make([]float64, len(w)), make([]float64, len(w))
	bar := progress.New("forget " + t.forget)
	defer bar.Done()
	for k := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		clear(g)
		if err := step(rand.New(rand.NewPCG(seed, uint64(k)))); err != nil {
			return err
		}
		size := norm(g)
		if math.IsNaN(size) || math.IsInf(size, 0) {
			return fmt.Errorf("step %d: norm of the gradient = %v", k, size)
		}
		clip := min(1, 1/max(size, 1e-30))
		rate := tuning * (0.01 + 0.99*0.5*(1+math.Cos(math.Pi*float64(k)/float64(steps))))
		b1, b2 := 1-math.Pow(beta1, float64(k+1)), 1-math.Pow(beta2, float64(k+1))
		for i := range w {
			d := float64(g[i]) * clip
			m[i] = beta1*m[i] + (1-beta1)*d
			v[i] = beta2*v[i] + (1-beta2)*d*d
			w[i] -= float32(rate * m[i] / b1 / (math.Sqrt(v[i]/b2) + epsilon))
		}
		bar.Set(k+1, steps)
	}
	return nil
}

func norm(g []float32) float64 {
	s := 0.0
	for _, v := range g {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// row returns the tokens of row i of the data.
func (t *task) row(i int) []int32 { return t.rows[i*t.c.Sites : (i+1)*t.c.Sites] }

// concerned returns the rows with the concept.
func (t *task) concerned() (rows []int) {
	for i, h := range t.has {
		if h {
			rows = append(rows, i)
		}
	}
	return rows
}

// signed returns the method with fixed weights: 1 − k for rows with the concept and 1 for the
// others.
func signed(k float64) func(t *task, ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	return func(t *task, ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
		l := t.lessons(net)
		return k, t.descend(ctx, net, l, seed, func(r *rand.Rand) error {
			l.clear()
			u := r.Float64()
			for i := range t.batch {
				chosen, w := r.IntN(len(t.has)), 1.0
				if t.has[chosen] {
					w = 1 - k
				}
				l.hide(i, t.row(chosen), (float64(i)+u)/float64(t.batch), r)
				l.ask(i, t.row(chosen), w)
			}
			l.teach()
			return nil
		})
	}
}

// ascend is the method of gradient ascent on the loss of the concept's rows.
func (t *task) ascend(ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	l, forget := t.lessons(net), t.concerned()
	return 0, t.descend(ctx, net, l, seed, func(r *rand.Rand) error {
		l.clear()
		u := r.Float64()
		for i := range t.batch {
			row := t.row(forget[r.IntN(len(forget))])
			l.hide(i, row, (float64(i)+u)/float64(t.batch), r)
			l.ask(i, row, -1)
		}
		l.teach()
		return nil
	})
}

// siss returns the method of subtracted importance-sampled scores (Alberti, Hasanaliyev, Shah
// and Ermon 2025). A state is masked from a row x of the data with probability 1 − λ, and from a
// row a of the concept otherwise. The loss of each row is weighted by the probability of the
// state given the row, relative to its probability given the mixture. The gradient of a's loss
// is scaled to a tenth of the norm of x's and subtracted. A row's weight is 0 if a visible token
// of the state differs from the row.
func siss(lambda float64) func(t *task, ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	return func(t *task, ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
		l, forget := t.lessons(net), t.concerned()
		kept := make([]float32, len(net.Weights()))
		rows := make([][2][]int32, t.batch) // x and a
		weight := make([][2]float64, t.batch)
		return 0, t.descend(ctx, net, l, seed, func(r *rand.Rand) error {
			u := r.Float64()
			for i := range t.batch {
				pair := [2][]int32{t.row(r.IntN(len(t.has))), t.row(forget[r.IntN(len(forget))])}
				from := pair[0]
				if r.Float64() < lambda {
					from = pair[1]
				}
				x := l.hide(i, from, (float64(i)+u)/float64(t.batch), r)
				rows[i], weight[i] = pair, mixture(lambda, agrees(x, pair[0], mask(t.c)), agrees(x, pair[1], mask(t.c)))
			}
			g := l.pass.Gradient()
			for k := range 2 {
				l.clear()
				for i := range t.batch {
					l.ask(i, rows[i][k], weight[i][k])
				}
				clear(g)
				l.teach()
				if k == 0 {
					copy(kept, g)
				}
			}
			scale := float32(clipped * norm(kept) / max(norm(g), 1e-30))
			for i, v := range kept {
				g[i] = v - scale*g[i]
			}
			return nil
		})
	}
}

// mixture returns the weights of two rows for a state that is masked from the second row with
// probability λ. A weight is the probability of the state given the row, divided by its
// probability given the mixture. The arguments first and second report which rows agree with the
// state.
func mixture(lambda float64, first, second bool) [2]float64 {
	var w [2]float64
	if first {
		w[0] = 1
	}
	if second {
		w[1] = 1
	}
	all := (1-lambda)*w[0] + lambda*w[1]
	return [2]float64{w[0] / all, w[1] / all}
}

// agrees reports whether a row agrees with all visible tokens of a state.
func agrees(x, row []int32, mask int32) bool {
	for i, v := range x {
		if v != mask && v != row[i] {
			return false
		}
	}
	return true
}

// erase is the ESD method (Gandikota, Materzyńska, Fiotto-Kaufman and Bau 2023). The network
// learns to reproduce the predictions of negative guidance, ∝ q̂^(1+η)·q̂_u^(−η), where q_u is a
// copy trained further on the concept's rows. The training states are generated by the network
// itself and masked as in training.
func (t *task) erase(ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	away := t.net.Clone()
	if err := t.fit(ctx, away, train.Config{Steps: (3*t.fewer() + 1) / 2, Rate: tuning, Seed: seed}, t.weights(1, 0)); err != nil {
		return 0, err
	}
	model, err := t.model(net)
	if err != nil {
		return 0, err
	}
	l, levels := t.lessons(net), t.c.Levels+1
	pq, pu := t.net.NewPass(t.batch), away.NewPass(t.batch)
	yq, yu := make([]float32, len(l.y)), make([]float32, len(l.y))
	x := make([]int32, len(l.x))
	k := 0
	return 0, t.descend(ctx, net, l, seed, func(r *rand.Rand) error {
		if err := t.drawing(seed)(ctx, model, k*t.batch, x); err != nil {
			return err
		}
		k++
		l.clear()
		u := r.Float64()
		for i := range t.batch {
			row := x[i*t.c.Sites : (i+1)*t.c.Sites]
			l.hide(i, row, (float64(i)+u)/float64(t.batch), r)
			l.ask(i, row, 1)
		}
		y, q, u2 := l.answer(l.pass, l.y), l.answer(pq, yq), l.answer(pu, yu)
		for i, w := range l.weight {
			p, a, b := y[i*levels:(i+1)*levels], q[i*levels:(i+1)*levels], u2[i*levels:(i+1)*levels]
			for j := range a {
				a[j] = (1+negates)*a[j] - negates*b[j]
			}
			a[mask(t.c)] = float32(math.Inf(-1))
			softmax(p)
			softmax(a)
			for j := range p {
				p[j] = float32(w) * (p[j] - a[j])
			}
		}
		l.pass.Backward(y)
		return nil
	})
}

// flatten returns the method of masked diffusion unlearning (MDU; Lee, Jeong, Kim, Park and Lee
// 2026). On partly masked rows of the concept, it minimises the mean over masked positions of
//
//	KL(p(·|x_t) ‖ p_0(·|x_t)^τ/Z),
//
// where p_0 is the network before. In the paper p sees a prompt that p_0 does not see. This network
// has no prompt, so both see the same state, and τ = 1 would change nothing.
func flatten(tau float64) func(t *task, ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
	return func(t *task, ctx context.Context, net *neural.Transformer, seed uint64) (float64, error) {
		l, forget, levels := t.lessons(net), t.concerned(), t.c.Levels+1
		before := t.net.NewPass(t.batch)
		old := make([]float32, len(l.y))
		return 0, t.descend(ctx, net, l, seed, func(r *rand.Rand) error {
			l.clear()
			u := r.Float64()
			for i := range t.batch {
				row := t.row(forget[r.IntN(len(forget))])
				l.hide(i, row, (float64(i)+u)/float64(t.batch), r)
				l.ask(i, row, 1)
			}
			y, a := l.answer(l.pass, l.y), l.answer(before, old)
			for i, w := range l.weight {
				anchored(y[i*levels:(i+1)*levels], a[i*levels:(i+1)*levels], tau, w, mask(t.c))
			}
			l.pass.Backward(y)
			return nil
		})
	}
}

// anchored replaces the log-weights p of a position by weight times the gradient, in p, of
// KL(p ‖ a^τ/Z). It uses a as scratch. The mask has no probability.
func anchored(p, a []float32, tau, weight float64, mask int32) {
	for j := range a {
		a[j] *= float32(tau)
	}
	p[mask], a[mask] = float32(math.Inf(-1)), float32(math.Inf(-1))
	softmax(p)
	softmax(a)
	kl := unlearn.KL(doubles(p), doubles(a))
	for j, v := range p {
		if v > 0 {
			p[j] = float32(weight * float64(v) * (math.Log(float64(v)/float64(a[j])) - kl))
		}
	}
}

func doubles(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// softmax converts log-weights to probabilities in place.
func softmax(y []float32) {
	top := math.Inf(-1)
	for _, v := range y {
		top = max(top, float64(v))
	}
	sum := 0.0
	for _, v := range y {
		sum += math.Exp(float64(v) - top)
	}
	for i, v := range y {
		y[i] = float32(math.Exp(float64(v)-top) / sum)
	}
}

// relearn trains a network that has forgotten on 1 % of the concept's rows. It returns the
// number of steps until half of the original share is back. If this does not happen within the
// number of unlearning steps, it returns that number.
func (t *task) relearn(ctx context.Context, forgot *neural.Transformer, seed uint64) (steps int, err error) {
	const looks = 128
	most, net, forget := t.fewer(), forgot.Clone(), t.concerned()
	r := rand.New(rand.NewPCG(seed, 100))
	r.Shuffle(len(forget), func(i, j int) { forget[i], forget[j] = forget[j], forget[i] })
	var rows []int32
	for _, k := range forget[:max(1, len(forget)/100)] {
		rows = append(rows, t.row(k)...)
	}
	tr, err := train.New(net, t.objective(), rows, train.Config{Steps: most, Batch: t.batch, Rate: tuning, Warmup: -1, Seed: seed})
	if err != nil {
		return 0, err
	}
	model, err := t.model(net)
	if err != nil {
		return 0, err
	}
	for steps = 1; ; steps = min(most, steps+max(1, steps/2)) {
		if err := tr.Run(ctx, steps-tr.Step()); err != nil {
			return 0, err
		}
		samples, err := t.texts(ctx, model, seed, anew, looks)
		if err != nil {
			return 0, err
		}
		has := 0
		for _, s := range samples {
			if t.shows(s) {
				has++
			}
		}
		if 2*fraction(has, looks) >= t.shareBefore() || steps == most {
			return steps, nil
		}
	}
}

// left estimates the concept's share in n samples of a network, from the probabilities of its letters
// if it is one of letters. It also returns the standard error.
func (t *task) left(ctx context.Context, net *neural.Transformer, seed uint64, n int) (share, se float64, err error) {
	model, err := t.model(net)
	if err != nil {
		return 0, 0, err
	}
	if t.single != "" {
		samples, err := t.texts(ctx, model, seed, second, n)
		share = fraction(judgeAll(t.c, t.shows, samples).has, n)
		return share, math.Sqrt(share * (1 - share) / float64(n)), err
	}
	a, err := unlearn.NewAvoiding(model, mask(t.c), t.tokens...)
	if err != nil {
		return 0, 0, err
	}
	x, r := make([]int32, n*t.c.Sites), make([]float64, n)
	if err := t.drawing(seed)(ctx, a, second, x); err != nil {
		return 0, 0, err
	}
	a.LogSurvival(r, x)
	for i, v := range r {
		r[i] = -math.Expm1(v)
	}
	share, deviation := stat.MeanStdDev(r, nil)
	return share, stat.StdErr(deviation, float64(n)), nil
}
