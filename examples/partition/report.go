package main

import (
	"bytes"
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// report is the program's output, printed as a table or as JSON. Values that were not computed
// are omitted.
type report struct {
	Graph  string  `json:"graph"`
	Nodes  int     `json:"nodes"`
	Edges  int     `json:"edges"`
	Size   int     `json:"size"`
	Beta   float64 `json:"beta"`
	Chains int     `json:"chains"`
	Steps  int     `json:"steps"`
	Seed   uint64  `json:"seed"`
	// greatest modularity found by the first kernel
	Modularity float64 `json:"modularity"`
	// agreement of that partition with the known split
	Agreement *float64 `json:"agreement,omitempty"`
	RHat      *float64 `json:"rhat,omitempty"` // largest R-hat of the first kernel
	// whether every draw of every kernel has the required size
	Balanced  bool      `json:"balanced"`
	Known     *float64  `json:"known_modularity,omitempty"`
	Exact     string    `json:"exact"` // which distribution the draws follow
	Partition []int32   `json:"partition"`
	Methods   []figures `json:"methods"`

	picture.Album `json:"-"`

	differ []int // nodes that are not on their known side
}

// figures holds the statistics of the modularity drawn by one kernel.
type figures struct {
	Method       string   `json:"method"`
	Mean         *float64 `json:"mean,omitempty"`
	MCSE         *float64 `json:"mcse,omitempty"`
	Best         float64  `json:"best"`
	RHat         *float64 `json:"rhat,omitempty"`
	ESSBulk      *float64 `json:"ess_bulk,omitempty"`
	ESSPerSecond *float64 `json:"ess_per_second,omitempty"`
	Accept       *float64 `json:"accept,omitempty"`
	Moves        *float64 `json:"moves_per_step,omitempty"`
	MsPerStep    float64  `json:"ms_per_step"`
	Unbalanced   int      `json:"unbalanced"`
}

func newReport(o options, c *community) *report {
	return &report{
		Graph: c.name, Nodes: c.n, Edges: len(c.edges), Size: o.size, Beta: o.beta,
		Chains: o.chains, Steps: o.steps, Seed: o.seed, Balanced: true, Exact: command.Chains,
	}
}

func (r *report) add(o *outcome) {
	row := o.summary.Rows[0]
	_, best := o.best()
	r.Methods = append(r.Methods, figures{
		Method: o.name, Best: best, RHat: value(o.rhat()),
		Mean: value(row.Mean), MCSE: value(row.MCSE), ESSBulk: value(row.ESSBulk),
		ESSPerSecond: value(o.summary.ESSPerSecond(0)), Accept: value(o.summary.Accept), Moves: value(o.summary.Moves),
		MsPerStep: 1000 * o.seconds / float64(o.steps), Unbalanced: o.unbalanced(),
	})
	r.Balanced = r.Balanced && o.unbalanced() == 0
}

// settle fills in the main results from the first kernel.
func (r *report) settle(c *community, first *outcome) {
	r.Partition, r.Modularity = first.best()
	r.RHat = r.Methods[0].RHat
	if c.known == nil {
		return
	}
	agreement, q := c.agreement(r.Partition), c.modularity(c.known)
	r.Agreement, r.Known = &agreement, &q
	same := 0
	for i, l := range r.Partition {
		if l == c.known[i] {
			same++
		}
	}
	for i, l := range r.Partition {
		if (l == c.known[i]) != (2*same >= c.n) {
			r.differ = append(r.differ, i)
		}
	}
}

// value returns nil for an estimate that is undefined or infinite; JSON then omits it.
func value(e diagnose.Estimate) *float64 {
	if !e.Defined() || math.IsInf(e.Value, 0) {
		return nil
	}
	return &e.Value
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d nodes, %d edges; %d nodes on one side, %d on the other\n", r.Graph, r.Nodes, r.Edges, r.Size, r.Nodes-r.Size)
	fmt.Fprintf(&b, "%d chains × %d steps, beta %v, seed %d\n\n", r.Chains, r.Steps, r.Beta, r.Seed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tmodularity\tMCSE\tbest\tworst R-hat\tESS bulk\tESS/s\taccept\tmoves/step\tms/step\toff the count\t")
	for _, f := range r.Methods {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.5f\t%s\t%s\t%s\t%s\t%s\t%.4f\t%d\t\n", f.Method,
			show("%.5f", f.Mean), show("%.5f", f.MCSE), f.Best, show("%.4f", f.RHat), show("%.0f", f.ESSBulk),
			show("%.0f", f.ESSPerSecond), show("%.3f", f.Accept), show("%.2f", f.Moves), f.MsPerStep, f.Unbalanced)
	}
	w.Flush()
	fmt.Fprintf(&b, "\n%s\n", r.Exact)
	fmt.Fprintf(&b, "\nbest partition of %s: modularity %.6f\n", r.Methods[0].Method, r.Modularity)
	if r.Agreement != nil {
		fmt.Fprintf(&b, "the known split has %.6f; they agree in %.1f %% of the nodes", *r.Known, 100**r.Agreement)
		for i, n := range r.differ {
			fmt.Fprintf(&b, "%s %d", []string{", all but", " and"}[min(i, 1)], n+1)
		}
		fmt.Fprintln(&b)
	}
	for _, w := range r.Warnings() {
		fmt.Fprintln(&b, "warning:", w)
	}
	return b.String()
}

// rhatLimit is the R-hat threshold of Vehtari et al. (2021).
const rhatLimit = 1.01

func show(format string, v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

// Warnings returns a warning if the chains disagree with each other.
func (r *report) Warnings() []string {
	if r.RHat != nil && *r.RHat <= rhatLimit {
		return nil
	}
	return []string{fmt.Sprintf("the chains disagree (worst R-hat %s, want ≤ %v); run longer or lower -beta", show("%.3f", r.RHat), rhatLimit)}
}
