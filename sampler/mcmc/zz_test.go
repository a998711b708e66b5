package mcmc
import ("testing";"fmt";"os";"strings";"strconv";"github.com/gibbsite-go/gibbsite/internal/exact";"github.com/gibbsite-go/gibbsite/sampler";"github.com/gibbsite-go/gibbsite/sampler/diagnose")
func TestZZ(t *testing.T) {
  for _, c := range strings.Split(os.Getenv("CASES"),";") {
	f := strings.Fields(c)
	d,_ := strconv.ParseFloat(f[0],64)
	be,_ := strconv.ParseFloat(f[1],64)
	chains,_ := strconv.Atoi(f[2])
	draws,_ := strconv.Atoi(f[3])
	m := sparse(2000,d,be)
	var rate [2]float64
	for k, meth := range []sampler.Method{Subgraph{}} {
		e := make([][]float64, chains)
		ch := exact.Must(sampler.NewChains(t.Context(), m, meth, sampler.Config{Chains: chains, Workers: 1, Seed: 1,
			Observe: func(s, _ int, _ []int32, info *sampler.Info) { e[s] = append(e[s], info.Energy) }}))
		exact.Must(0, ch.Run(t.Context(), draws/4))
		for s := range e { e[s]=e[s][:0] }
		began := exact.CPU()
		exact.Must(0, ch.Run(t.Context(), draws))
		sec := (exact.CPU()-began).Seconds()
		ess := exact.Must(diagnose.ESSMean(e))
		rh,_ := diagnose.RHat(e)
		rate[k]=ess/sec
		fmt.Printf("deg %v beta %v chains %d %T: ESS/draw %.4g rhat %.3f ESS/s %.4g ns/site %.3g\n", d, be, chains, meth, ess/float64(chains*draws),rh, ess/sec, 1e9*sec/float64(chains*draws*2000))
	}
	fmt.Printf("  deg ratio %.1f\n", rate[0])
  }
}
