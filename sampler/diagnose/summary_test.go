package diagnose

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSummaryTable(t *testing.T) {
	x := posteriorSeries(t)["anti"]
	tr := NewTrace(first, second).Name("magnetization", "k")
	feed(tr, x, 0, 200)
	s := tr.Summary()
	s.Seconds = 0.5
	assert.Equal(t, strings.TrimLeft(`
4 chains × 200 draws, acceptance 0.375, 1.5 moves per step

                    Mean     MCSE  StdDev      5%    50%    95%  ESS_bulk  ESS_tail  ESS/s  R_hat
magnetization  -0.002331  0.02395   1.154  -2.018  0.003  1.863      2322       806   4645  0.998
k                  0.995  0.02751   0.816       0      1      2       880       879   1759  0.995

Warning: magnetization: bulk ESS = 2322 is the largest that is stated for 800 draws: successive draws are so different that it is not known
Warning: 400 evaluations gave NaN
`, "\n"), s.String())

	assert.InEpsilon(t, 2*s.Rows[0].ESSBulk.Value, s.ESSPerSecond(0).Value, 1e-15)
	s.Seconds = 0
	assert.EqualError(t, s.ESSPerSecond(0).Err, "diagnose: Summary.Seconds = 0, want > 0: too few draws")
	assert.NotContains(t, s.String(), "ESS/s")
}

func TestSummaryTableStreaming(t *testing.T) {
	tr := NewStreamingTrace(first).Name("magnetization")
	feed(tr, posteriorSeries(t)["anti"], 0, 200)
	s := tr.Summary()
	s.Seconds = 2
	head := strings.Fields(strings.Split(s.String(), "\n")[2])
	line := strings.Fields(strings.Split(s.String(), "\n")[3])
	assert.Equal(t, []string{"Mean", "MCSE", "StdDev", "ESS_mean", "ESS/s", "R_hat"}, head)
	assert.Equal(t, []string{"magnetization", "-0.002331"}, line[:2])
	assert.Equal(t, Estimate{Value: s.Rows[0].ESSMean.Value / 2}, s.ESSPerSecond(0))
	assert.Contains(t, NewStreamingTrace(first).Summary().String(), "f1     –")
}

func TestSummaryWarnings(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		draws [][]float64
		want  []string
	}{
		{posteriorSeries(t)["constant"], []string{"f1: all draws are equal, so mixing cannot be judged"}},
		{[][]float64{{1, 2, 3}}, []string{"f1: 3 draws per chain, want ≥ 4: too few draws"}},
		{[][]float64{{1, 2, nan, 3}}, []string{"f1: chain 0, draw 2 is NaN"}},
		{[][]float64{{}}, []string{"f1: 0 chains, want ≥ 1: too few draws"}},
		{posteriorSeries(t)["four"], []string{"f1: R-hat = 1.080 > 1.01: the chains have not mixed"}},
		{posteriorSeries(t)["allstuck"], []string{
			"f1: R-hat = +Inf > 1.01: the chains have not mixed",
			"f1: bulk ESS = 5 < 400: estimates are unreliable",
			"f1: tail ESS = 5 < 400: estimates are unreliable"}},
	} {
		var v float64
		tr := NewTrace(func([]int32) float64 { return v })
		for chain, x := range c.draws {
			for i := range x {
				v = x[i]
				tr.Observe(chain, i, nil, nil)
			}
		}
		s := tr.Summary()
		got := s.Warnings()
		assert.Equal(t, c.want, got)
		assert.NotContains(t, strings.Replace(s.String(), got[0], "", 1), "NaN", "numbers in the table")
	}
	s := stream(posteriorSeries(t)["slow"]).Summary()
	assert.Contains(t, s.Warnings()[1], "f1: ESS of the mean = ")
}

// What is constant still has a mean, and one draw has no spread.
func TestSummaryOfLittle(t *testing.T) {
	tr := NewTrace(first)
	tr.Observe(0, 0, []int32{2500}, nil)
	row := tr.Summary().Rows[0]
	for _, e := range []Estimate{row.Mean, row.Q5, row.Q50, row.Q95} {
		assert.Equal(t, Estimate{Value: 2.5}, e)
	}
	assert.ErrorIs(t, row.SD.Err, ErrTooFew)
	assert.ErrorIs(t, row.RHat.Err, ErrConstant)

	tr.Observe(0, 1, []int32{3500}, nil)
	row = tr.Summary().Rows[0]
	assert.Equal(t, Estimate{Value: math.Sqrt(0.5)}, row.SD)
	for _, e := range []Estimate{row.MCSE, row.RHat, row.ESSBulk, row.ESSTail, row.ESSMean} {
		assert.ErrorIs(t, e.Err, ErrTooFew)
	}
	for i := range int32(3) {
		tr.Observe(0, 0, []int32{i}, nil)
	}
	row = tr.Summary().Rows[0]
	assert.True(t, row.RHat.Defined())
	assert.ErrorIs(t, row.ESSBulk.Err, ErrTooFew)
	assert.Equal(t, "–", row.ESSBulk.String())
}

// holder is an error whose methods need a value.
type holder struct{ err error }

func (h *holder) Error() string { return h.err.Error() }
func (h *holder) Unwrap() error { return h.err }

// A Summary that a user built may hold errors that hold nil.
func TestSummaryOfNilErrors(t *testing.T) {
	for _, err := range []error{(*holder)(nil), &holder{(*holder)(nil)}, errors.Join(errors.New("why"), (*holder)(nil))} {
		s := Summary{Rows: []Row{{Name: "f", Mean: Estimate{Err: err}, RHat: Estimate{Err: err}, ESSBulk: Estimate{Err: err}}}}
		assert.Equal(t, adviceLonger, s.Reasons()[0].Advice)
		assert.Len(t, s.Warnings(), 2)
		assert.Contains(t, s.String(), "f     –")
		_, fault := s.MarshalJSON()
		assert.NoError(t, fault)
	}
	s := Summary{Rows: []Row{{RHat: Estimate{Err: errors.Join(errors.New("why"), &holder{ErrConstant})}}}}
	assert.Equal(t, adviceConstant, s.Reasons()[0].Advice)
}

func TestEstimateFormat(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "0.1235": 0.123456, "-12.35": -12.3456, "12346": 12345.6, "1.235e+09": 1234567890, "1.235e-07": 1.23456e-7,
	} {
		assert.Equal(t, want, Estimate{Value: v}.String())
	}
	var e Estimate
	e.set(math.Inf(1), nil)
	assert.Equal(t, Estimate{Err: ErrRange}, e)
}
