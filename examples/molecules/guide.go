package main

import (
	"cmp"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// The runs that favour a large polar surface without enforcing it: classifier-free guidance by a
// network that gets the class as an input, and guidance by a classifier of noised strings.
const (
	free = "cfg" // name of the run with classifier-free guidance
	led  = "cbg" // name of the run with guidance by a classifier
)

// Shapes of the guidance networks: number of class features, and the size of the classifier,
// which is evaluated for every token of every site.
const (
	features        = 32 // class features that the network gets as inputs
	classifierWidth = 32 // width of the classifier
	classifierDepth = 2  // blocks of the classifier
	classifierShare = 4  // ratio of the other networks' training steps to the classifier's
)

// large is the class of molecules with a large polar surface, towards which guidance leads.
const large = 1

// guides returns the networks that the chosen runs need in addition to the plain one.
func guides(c *corpus.Corpus, n *networks, shape neural.Config, plain train.Objective, wanted map[string]bool, least float64, o options) []part {
	labels := make([]int32, len(c.Train))
	for i, s := range c.Train {
		if area(s) >= least {
			labels[i] = large
		}
	}
	var parts []part
	if wanted[free] {
		classed := shape
		classed.Cond, classed.Classes = features, 2
		parts = append(parts, part{".classes", classed, train.Classes{Objective: plain, Labels: labels}, o.guideSteps(), &n.classes})
	}
	if wanted[led] {
		judge := shape
		judge.Outputs, judge.Width, judge.Heads, judge.Blocks = 2, classifierWidth, classifierWidth/head, classifierDepth
		parts = append(parts, part{".classifier", judge, train.Classify{Objective: plain, Labels: labels}, max(1, o.guideSteps()/classifierShare), &n.classifier})
	}
	return parts
}

// guideSteps returns the training steps of guidance networks other than the classifier.
func (o options) guideSteps() int { return cmp.Or(o.guide, o.steps) }

// leaning returns the runs with guidance: restricted to the syntax, and additionally to novel
// strings.
func leaning(c *corpus.Corpus, within projection.Path, novel *corpus.Seen, least float64, o options) []job {
	var all []job
	for _, g := range []struct{ name, what string }{{free, "classifier-free guidance"}, {led, "guidance by a classifier"}} {
		what := fmt.Sprintf("%s towards a polar surface ≥ %.2f Å², weight %g", g.what, least, o.scale)
		all = append(all,
			job{name: g.name, what: what, projector: within, holds: corpus.Balanced, guide: g.name},
			job{name: g.name + " novel", what: what + ", " + c.Novel(), projector: novel, holds: both(novel.Judge()), guide: g.name})
	}
	return all
}

// denoiser returns the denoiser that generates the samples of a job.
func (n *networks) denoiser(c *corpus.Corpus, guide string, scale float64) (energy.Denoiser[int32], error) {
	opt := neural.Options{TimeFree: true}
	switch guide {
	case free:
		classed, err := n.classes.Given(large)
		if err != nil {
			return nil, err
		}
		with, err := neural.NewMasked(classed, mask(c), opt)
		if err != nil {
			return nil, err
		}
		without, err := neural.NewMasked(n.classes, mask(c), opt)
		return diffusion.ClassifierFree{Conditional: with, Unconditional: without, Scale: scale}, err
	case led:
		plain, err := neural.NewMasked(n.plain, mask(c), opt)
		if err != nil {
			return nil, err
		}
		judge, err := neural.NewClassifier(n.classifier, large, mask(c), neural.ClassifierConfig{TimeFree: true})
		return diffusion.ClassifierGuided{Denoiser: plain, Classifier: judge, Scale: scale}, err
	}
	return neural.NewMasked(n.plain, mask(c), opt)
}
