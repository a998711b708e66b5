package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Kernels that copy the parameters of a model stay almost as fast under wrappers of energies. The
// table shows the time of a step of the wrapped model divided by that of the plain model. States
// are read after every step, and Clamp fixes a tenth of the sites (minimum of sixteen runs of
// BenchmarkAffine):
//
//	engine                    model                   Scale  Clamp  Lagrangian of a Count
//	wordGibbs                 torus 5×5               1.0    1.0    1.0
//	torusGibbs                torus 64×64             1.0    1.1    1.0
//	torusGibbs of Metropolis  torus 64×64             1.0    1.1    1.0
//	torusLangevin             torus 64×64             1.0    1.1    1.0
//	rowGibbs                  2000 sites, one J       1.0    0.9    1.0
//	fieldGibbs                2000 sites, a glass     1.0    1.0    1.0
//	rowGibbs                  complete graph of 100   1.1    0.9    1.1
//	denseGibbs of Metropolis  complete graph of 100   1.2    1.0    1.2    more is accepted
//	sparseGibbs               Potts 64×64             1.0    0.9    1.1
//	bipartite                 RBM 256 × 64            –      1.1    1.2
//	hastings of DMALA         RBM 256 × 64            1.2    1.1    1.4    see below
//
// Scale and a Lagrangian change parameters. The sum of a uniform field and a torus or a Matching
// model is a model of the same kind, and sums of pair models are pair models. The engines of
// package sweep, except memo and differences, skip fixed sites. DMALA on an RBM with a Lagrangian
// takes 1.4 times as long, because energy and field of the second part are added for every state,
// a nanosecond per site. A part whose field depends on the state takes longer.
//
// These cases do not keep the special kernel:
//   - A scaled RBM: no binary hidden units have its free energy.
//   - A torus with individual fields: it is a pair model.
//   - Metropolis at random sites, which keeps differences of the model. Under Scale these are
//     multiplied after every change, which takes 1.7 times as long on a lattice and on a
//     complete graph of 100 sites.
//   - Clusters of package cluster under a clamp, which makes fields differ, or under a Lagrangian,
//     whose parameters change.
//   - A Lagrangian of a set for which only values are available, or whose couplings differ from
//     site to site at every multiplier. It uses the kernels of its model.

// follow returns the kernel of a method for a model. If the parameters of the model can change,
// quick builds the kernel from the current parameters, and again after each change. If quick
// returns nil, plain builds a kernel that works on the model itself. If patient is true, the
// plain kernel makes the first steps after each change, because more changes may follow.
func follow(m energy.Model, patient bool, quick func(m energy.Model) (sampler.Kernel, error), plain func() (sampler.Kernel, error)) (sampler.Kernel, error) {
	v, ok := energy.As[energy.Varying](m)
	if !ok {
		return plain()
	}
	first, err := quick(v.Now())
	if first == nil || err != nil {
		return plain()
	}
	return &following{Kernel: first, quick: first, model: v, version: v.Version(), seen: v.Version(), make: quick, plain: plain, patient: patient, since: patience}, nil
}

// sweeping returns the kernel of a method that sweeps over sites. patient is as in [follow].
func sweeping(r sweep.Request, patient bool) (sampler.Kernel, error) {
	quick := func(m energy.Model) (sampler.Kernel, error) {
		r := r
		r.Model = m
		k, numbers, err := r.Kernel()
		if !numbers {
			k = nil
		}
		return k, err
	}
	return follow(r.Model, patient, quick, func() (sampler.Kernel, error) {
		k, _, err := r.Kernel()
		return k, err
	})
}

// following is the kernel of a model whose parameters change. It delegates to one of two kernels.
// The quick kernel copies the current parameters and is rebuilt after a change. The slow kernel
// works on the model itself.
type following struct {
	sampler.Kernel // the kernel in use: slow or quick
	model          energy.Varying
	version        uint64 // version of the model from which quick was built
	seen           uint64 // version of the model at the last Reset
	make           func(m energy.Model) (sampler.Kernel, error)
	plain          func() (sampler.Kernel, error)
	slow, quick    sampler.Kernel // kernels built by plain and by make; slow is nil until needed
	patient        bool
	since          int // steps since the last change of the model, at most patience
}

// patience is the number of steps that take as long as building a kernel, on small models. With
// this value, dual.ExampleInference, which changes the model every few steps, does not become
// slower.
const patience = 16

// Unwrap returns the kernel (slow or quick) that makes the steps at present. It implements
// [sampler.Wrapper].
func (k *following) Unwrap() sampler.Kernel { return k.Kernel }

// choose selects the slow or the quick kernel, and rebuilds the quick one if the model has
// changed.
func (k *following) choose() (err error) {
	v := k.model.Version()
	if k.since < patience {
		if k.slow == nil {
			if k.slow, err = k.plain(); err != nil {
				return err
			}
		}
		k.Kernel = k.slow
		return nil
	}
	if v != k.version {
		next, err := k.make(k.model.Now())
		if err == nil && next == nil {
			next, err = k.plain()
		}
		if err != nil {
			return err
		}
		sweep.KeepStep(next, k.quick)
		k.quick, k.version = next, v
	}
	k.Kernel = k.quick
	return nil
}

// Reset resets the kernel that makes the steps. If the model has changed, it first chooses anew
// between the slow and the quick kernel. It implements [sampler.Transition].
func (k *following) Reset(ctl sampler.Control, x []int32) error {
	if v := k.model.Version(); v != k.seen {
		if k.seen = v; k.patient {
			k.since = 0
		}
	}
	if err := k.choose(); err != nil {
		return err
	}
	return k.Kernel.Reset(ctl, x)
}

// Step makes one step with the slow or the quick kernel. After a change of the model, the slow
// kernel makes at most 16 steps (the constant patience). Then the quick kernel takes over. It
// implements [sampler.Transition].
func (k *following) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if k.since == patience {
		return k.Kernel.Step(ctl, info, x, r)
	}
	ctl.Steps = 1
	if done = k.Kernel.Step(ctl, info, x, r); done == 0 {
		return 0
	}
	if k.since++; k.since < patience {
		return done
	}
	err := k.choose()
	if err == nil {
		err = k.Kernel.Reset(sampler.Control{Workers: ctl.Workers}, x)
	}
	if err != nil { // for instance, a state now has probability zero
		for s := range info {
			info[s].Err = err
		}
	}
	return done
}

// AppendBinary appends to b the number of steps since the last change of the model, which
// determines whether the slow or the quick kernel is in use. It then appends the state of that
// kernel. It implements [sampler.Transition].
func (k *following) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

// UnmarshalBinary restores what AppendBinary saved, and chooses the kernel accordingly. It
// implements [sampler.Transition].
func (k *following) UnmarshalBinary(b []byte) error { return wire.ReadFields(b, k.fields) }

// fields reads or writes the steps since the last change and the kernel in use.
func (k *following) fields(f *wire.Fields) {
	least := patience
	if k.patient {
		least = 0
	}
	if f.Int("mcmc: steps since a change of the model", &k.since, least, patience); f.Reading() {
		f.Fail(k.choose())
	}
	f.Binary(k.Kernel, -1)
}
