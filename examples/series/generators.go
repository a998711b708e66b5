package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// generators maps values of -data to synthetic data. The arguments are the number of rows, the
// rows of a window and the seed.
var generators = map[string]func(rows, length int, seed uint64) *table{
	"market":    func(rows, _ int, seed uint64) *table { return market(rows, seed) },
	"waveforms": waveforms,
	"air":       func(rows, _ int, seed uint64) *table { return air(rows, seed) },
}

// checkData returns an error if -data names no generator.
func (o *options) checkData() error {
	if generators[o.data] == nil {
		return fmt.Errorf("-data = %q, want one of %s", o.data, strings.Join(slices.Sorted(maps.Keys(generators)), ", "))
	}
	return nil
}

// waveforms draws independent series of length rows. Channel c is
// a·sin(2π(f·t/length + φ)) + b·sin(2π(2f·t/length + ψ)) + trend·t/length, where a, f, φ, b, ψ
// and the trend are drawn for every series and channel.
func waveforms(rows, length int, seed uint64) *table {
	t := &table{name: "synthetic waveforms", names: []string{"a", "b"}}
	r := rand.New(rand.NewPCG(seed, 41))
	for start := 0; start+length <= rows || start == 0; start += length {
		if start > 0 {
			t.breaks = append(t.breaks, start)
		}
		x := make([]float64, length*len(t.names))
		for c := range t.names {
			large, small := 0.5+r.Float64(), 0.3*r.Float64()
			turns, first, second, trend := 1+2*r.Float64(), r.Float64(), r.Float64(), r.NormFloat64()
			for i := range length {
				u := float64(i) / float64(length)
				x[i*len(t.names)+c] = large*math.Sin(2*math.Pi*(turns*u+first)) + small*math.Sin(2*math.Pi*(2*turns*u+second)) + trend*u
			}
		}
		t.values = append(t.values, x...)
		for range length {
			t.lines = append(t.lines, len(t.lines)+1)
		}
	}
	return t
}

// air simulates hourly measurements of the temperature in °C, the wind in m/s and fine dust in
// µg/m³. Weather is an autoregression of coefficient 0.98 added to a daily cycle, the logarithm
// of the wind one of coefficient 0.9. Dust accumulates with traffic, which has two peaks a day,
// and is blown away by wind.
func air(rows int, seed uint64) *table {
	t := &table{name: "synthetic air", names: []string{"temperature", "wind", "dust"}}
	r := rand.New(rand.NewPCG(seed, 42))
	weather, gust, dust := 0.0, 0.0, 20.0
	for i := range rows {
		day := 2 * math.Pi * float64(i) / 24
		weather = 0.98*weather + 0.6*r.NormFloat64()
		gust = 0.9*gust + 0.2*r.NormFloat64()
		wind := 3 * math.Exp(gust+0.2*math.Sin(day-2))
		traffic := 1.2 + math.Sin(day-1) + 0.6*math.Sin(2*day)
		dust += 3*math.Max(0, traffic)*math.Exp(0.2*r.NormFloat64()) - 0.05*wind*dust
		t.values = append(t.values, 12+weather+5*math.Sin(day-2.3), wind, dust)
		t.lines = append(t.lines, len(t.lines)+1)
	}
	return t
}
