package subgraph
import ("testing";"github.com/gibbsite-go/gibbsite/internal/exact";"math/rand/v2")
func BenchmarkZZ(b *testing.B) {
	r := rand.New(rand.NewPCG(1,1))
	n := 2000
	var sc [][]int32; var tb [][]float64
	for range 1500 { i,j := int32(r.IntN(n)), int32(r.IntN(n)); if i==j {continue}; s := float64(1-2*r.IntN(2)); sc=append(sc,[]int32{i,j}); tb=append(tb,[]float64{-s,s,s,-s}) }
	cards := make([]int32,n); free := make([]bool,n); for i := range cards {cards[i]=2;free[i]=true}
	m := NewModel(cards,sc,tb)
	ps := m.Pairs(free)
	g := OfScopes(n,sc,free)
	set := g.Cover(1,r)[0]
	f := ps.Forest(set)
	o,h := f.Sites()
	b.Logf("open %d pendant %d bonds %d", o,h,f.Edges())
	x := make([]int32,n); own := make([]uint8,n+17); words := make([]uint32,8*n)
	for i := range words { words[i]=r.Uint32()}
	odds := make([]float64,8*(n+1)); u := make([]float64,8*n)
	b.Run("pend1", func(b *testing.B){ t0 := exact.CPU(); for b.Loop() { f.DrawPendants(x,words,r.Uint64)}; b.ReportMetric(1e9*(exact.CPU()-t0).Seconds()/float64(b.N)/float64(h),"ns/site")})
	var mv [8]int64
	for _, c := range []int{1,4,8} {
	b.Run("pend8", func(b *testing.B){ t0 := exact.CPU(); for b.Loop() { f.DrawEightPendants(own,words,n/2,0,c,func(int)uint64{return r.Uint64()},&mv)}; b.ReportMetric(1e9*(exact.CPU()-t0).Seconds()/float64(b.N)/float64(h*c),"ns/site")}) }
	b.Run("energy", func(b *testing.B){ t0 := exact.CPU(); for b.Loop() { ps.Energy(x)}; b.ReportMetric(1e9*(exact.CPU()-t0).Seconds()/float64(b.N)/2000,"ns/site")})
	var en [8]float64
	b.Run("energy8", func(b *testing.B){ t0 := exact.CPU(); for b.Loop() { ps.Energies(&en,own)}; b.ReportMetric(1e9*(exact.CPU()-t0).Seconds()/float64(b.N)/2000/8,"ns/site")})
	b.Run("forward", func(b *testing.B){ t0 := exact.CPU(); for b.Loop() { f.Forward(odds,x,0,o)}; b.ReportMetric(1e9*(exact.CPU()-t0).Seconds()/float64(b.N)/float64(o),"ns/site")})
	b.Run("draw", func(b *testing.B){ t0 := exact.CPU(); for b.Loop() { f.Draw(x,u[:o],odds)}; b.ReportMetric(1e9*(exact.CPU()-t0).Seconds()/float64(b.N)/float64(o),"ns/site")})
}
