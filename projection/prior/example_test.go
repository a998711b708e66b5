package prior_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/prior"
)

// weather is rarely wet (token 1), but wet days come in spells.
var weather = prior.HMM{
	Start: []float64{0.9, 0.1},
	Trans: []float64{0.9, 0.1, 0.3, 0.7},
	Emit:  []float64{0.95, 0.05, 0.2, 0.8},
}

// The probability that four of ten days are wet, and such a series.
func ExamplePath() {
	four := prior.Path{HMM: weather, Language: constraint.Count{Levels: []int32{1}, Min: 4, Max: 4}}
	c, err := four.Compile(context.Background(), 10, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := make([]float32, 10*2)
	logP, err := c.LogZ(context.Background(), v)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("P(C) = %.4f\n", math.Exp(logP))
	x := make([]int32, 10)
	if _, err := c.Draw(context.Background(), x, v, rand.NewPCG(1, 2)); err != nil {
		fmt.Println(err)
		return
	}
	logP, _ = c.LogProb(context.Background(), x, v)
	fmt.Printf("%v with probability %.4f\n", x, math.Exp(logP))
	// Output:
	// P(C) = 0.0926
	// [0 0 0 0 0 1 1 1 1 0] with probability 0.0418
}

// What a language model's next token is weighed by: the probability of each
// token after three wet days, if there must be four of them in ten.
func ExampleConditional() {
	four := prior.Path{HMM: weather, Language: constraint.Count{Levels: []int32{1}, Min: 4, Max: 4}}
	c, err := four.Compile(context.Background(), 10, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	next := make([]float64, 2)
	if err := c.Advance(context.Background(), next, []int32{1, 1, 1}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("dry %.3f, wet %.3f\n", math.Exp(next[0]), math.Exp(next[1]))
	// Output:
	// dry 0.535, wet 0.465
}

// A Markov chain is the model whose hidden state is the token.
func ExampleHMM() {
	chain := prior.Markov([]float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
	c, err := prior.Path{HMM: chain, Language: constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}}.Compile(context.Background(), 4, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	logP, _ := c.LogZ(context.Background(), make([]float32, 8))
	fmt.Printf("%.4f\n", math.Exp(logP))
	// Output:
	// 0.0910
}

// Limit bounds the memory of the dynamic program, and Name is what errors call the
// language. The marginals of a site are those given the language.
func ExampleConditional_Marginals() {
	four := constraint.Count{Levels: []int32{1}, Min: 4, Max: 4}
	_, err := prior.Path{HMM: weather, Language: four, Name: "four wet days", Limit: 10}.Compile(context.Background(), 10, 2)
	fmt.Println(err)
	c, err := prior.Path{HMM: weather, Language: four}.Compile(context.Background(), 10, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, logs := make([]float64, 10*2), make([]float64, 10*2)
	if err := c.Marginals(context.Background(), p, nil); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.LogMarginals(context.Background(), logs, nil); err != nil {
		fmt.Println(err)
		return
	}
	wet := 0.0
	for i := range 10 {
		wet += p[2*i+1]
	}
	fmt.Printf("first day %.4f = e^%.4f, wet days %.4f\n", p[1], logs[1], wet)
	// Output:
	// prior: four wet days: constraint: prior.Path: numbers per site (at most Limit / sites) = 4, want ≤ 1
	// first day 0.2054 = e^-1.5827, wet days 4.0000
}
