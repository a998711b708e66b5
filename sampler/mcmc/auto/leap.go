package auto

import "github.com/gibbsite-go/gibbsite/sampler"

// leaper kernels make many steps at once, see [sampler.Transition].
type leaper interface {
	Company(blocks int) int
	Leap(stop func() bool, n int, kernels []sampler.Kernel, x [][]int32, r [][]sampler.Stream, moved []int) (steps int)
}

// settled returns the kernel that has been chosen, nil before.
func (k *kernel) settled() sampler.Kernel {
	if k.phase != decided || k.behind {
		return nil
	}
	return k.now().kernel
}

// Company implements the method that [sampler.Transition] speaks of.
func (k *kernel) Company(blocks int) int {
	if l, ok := k.settled().(leaper); ok {
		return l.Company(blocks)
	}
	return 0
}

// Leap implements the method that [sampler.Transition] speaks of, by the chosen kernels.
func (k *kernel) Leap(stop func() bool, n int, kernels []sampler.Kernel, x [][]int32, r [][]sampler.Stream, moved []int) (steps int) {
	k.chosen = k.chosen[:0]
	for _, other := range kernels {
		o, ok := other.(interface{ settled() sampler.Kernel })
		if !ok || o.settled() == nil {
			return 0
		}
		k.chosen = append(k.chosen, o.settled())
	}
	l, ok := k.settled().(leaper)
	if !ok {
		return 0
	}
	return l.Leap(stop, n, k.chosen, x, r, moved)
}
