package diagnose_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// ones counts the sites at level 1.
func ones(x []int32) (n float64) {
	for _, v := range x {
		n += float64(v)
	}
	return n
}

func ExampleTrace() {
	tr := diagnose.NewTrace(ones).Name("ones")
	// A runner calls Observe; here two chains count up in binary.
	for draw := range 8 {
		x := []int32{int32(draw & 1), int32(draw >> 1 & 1), int32(draw >> 2)}
		tr.Observe(0, draw, x, &sampler.Info{Accept: 1, Moved: 1})
		tr.Observe(1, draw, x, &sampler.Info{Accept: 0.5})
	}
	fmt.Print(tr.Summary())
	// Output:
	// 2 chains × 8 draws, acceptance 0.75, 0.5 moves per step
	//
	//       Mean    MCSE  StdDev  5%  50%  95%  ESS_bulk  ESS_tail  R_hat
	// ones   1.5  0.3162  0.8944   0  1.5    3         8         8  1.118
	//
	// Warning: ones: R-hat = 1.118 > 1.01: the chains have not mixed
	// Warning: ones: bulk ESS = 8 < 400: estimates are unreliable
	// Warning: ones: tail ESS = 8 < 400: estimates are unreliable
}

// Figures of draws from anywhere, by chain, and of too few of them.
func ExampleRHat() {
	draws := [][]float64{{0, 1, 0, 2, 1, 0, 1, 2}, {1, 0, 2, 1, 0, 1, 2, 0}}
	for _, f := range []struct {
		name string
		of   func([][]float64) (float64, error)
	}{
		{"R-hat", diagnose.RHat}, {"bulk ESS", diagnose.ESSBulk}, {"tail ESS", diagnose.ESSTail},
		{"autocorrelation time", diagnose.AutocorrelationTime},
	} {
		v, err := f.of(draws)
		fmt.Printf("%s %.3f %v\n", f.name, v, err)
	}
	_, err := diagnose.RHat([][]float64{{1, 2}})
	fmt.Println(errors.Is(err, diagnose.ErrTooFew))
	// Output:
	// R-hat 0.906 <nil>
	// bulk ESS 8.000 <nil>
	// tail ESS 8.000 <nil>
	// autocorrelation time 2.000 <nil>
	// true
}

// Draws that a run has written to a file give a trace of what nobody thought of before.
func ExampleReplay() {
	dir, err := os.MkdirTemp("", "draws")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := model.NewIsing(model.Lattice{10}, 0.3, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	seen := diagnose.NewTrace(ones)
	cfg := sampler.Config{Chains: 4, Seed: 1, Warmup: 10, DrawsFile: filepath.Join(dir, "run.draws"), Observe: seen.Observe}
	ch, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := ch.Run(context.Background(), 100); err != nil {
		log.Fatal(err)
	}
	again := diagnose.NewTrace(ones)
	draws, err := diagnose.Replay(cfg.DrawsFile, again.Observe)
	fmt.Println(draws, "draws", err)
	fmt.Println("the trace of the run:", again.Summary().String() == seen.Summary().String())
	// Output:
	// 100 draws <nil>
	// the trace of the run: true
}

// Draws and states for other programs: CSV of a chain, NumPy arrays, JSON that ArviZ
// reads. The methods with Save write files that appear only when they are complete.
func ExampleTrace_WriteCSV() {
	tr := diagnose.NewTrace(ones).Name("ones").KeepStates()
	for draw := range 3 {
		tr.Observe(0, draw, []int32{1, int32(draw % 2)}, &sampler.Info{Accept: 1})
	}
	if err := tr.WriteCSV(os.Stdout, 0); err != nil {
		fmt.Println(err)
	}
	var draws, states, inference bytes.Buffer
	fmt.Println(errors.Join(tr.WriteNPY(&draws), tr.WriteStatesNPY(&states), tr.WriteInferenceData(&inference)))
	fmt.Println(draws.Len(), states.Len(), json.Valid(inference.Bytes()))

	dir, err := os.MkdirTemp("", "draws")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	paths, err := tr.SaveCSV(filepath.Join(dir, "chain"))
	fmt.Println(len(paths), err)
	fmt.Println(errors.Join(tr.SaveNPY(filepath.Join(dir, "draws.npy")), tr.SaveStatesNPY(filepath.Join(dir, "states.npy")),
		tr.SaveInferenceData(filepath.Join(dir, "draws.json"))))
	// Output:
	// # gibbsite draws
	// # num_samples = 3
	// # save_warmup = 0
	// # id = 1
	// lp__,accept_stat__,moves__,ones,x.1,x.2
	// 0,1,0,1,1,0
	// 0,1,0,2,1,1
	// 0,1,0,1,1,0
	// <nil>
	// 152 152 true
	// 1 <nil>
	// <nil>
}
