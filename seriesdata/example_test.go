package seriesdata_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// Two stations whose rows take turns, newest first, with decimal commas, a number that
// stands for missing ones, and an hour that one of them leaves out.
const stations = `Zeit;station;temp (°C);note
20/03/2024 04:00;north;3,5;x
20/03/2024 04:00;south;9,1;y
20/03/2024 03:00;north;-200,0;ok
20/03/2024 03:00;south;8,7;ok
20/03/2024 02:00;north;3,1;ok
20/03/2024 01:00;north;2,9;ok
20/03/2024 01:00;south;8,2;ok
20/03/2024 00:00;north;2,8;ok
20/03/2024 00:00;south;8,0;ok
`

func ExampleRead() {
	f, err := seriesdata.Read(strings.NewReader(stations), seriesdata.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(f)
	// Output:
	// file      cells between ;         10 rows
	// time      Zeit                    newest first; day/month/year; step 1 hour; 1 times left out by the file
	// gap       south 20/03/2024 02:00  to 20/03/2024 02:00; 1 rows
	// entity    north                   5 rows
	// entity    south                   5 rows
	// channel   temp                    number; unit °C; 1 missing; multiples of 0.1; [-200] read as missing
	// left out  note                    words
}

func ExampleFrame_Write() {
	f, err := seriesdata.Read(strings.NewReader(stations), seriesdata.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := make([][]float64, len(f.Entities))
	for e := range f.Entities { // the number before, for those that are missing
		x := append([]float64(nil), f.Entities[e].Values...)
		for i := 1; i < len(x); i++ {
			if x[i] != x[i] {
				x[i] = x[i-1]
			}
		}
		values[e] = x
	}
	if err := f.Write(os.Stdout, values); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Zeit;station;temp (°C);note
	// 20/03/2024 04:00;north;3,5;x
	// 20/03/2024 04:00;south;9,1;y
	// 20/03/2024 03:00;north;3,1;ok
	// 20/03/2024 03:00;south;8,7;ok
	// 20/03/2024 02:00;south;8,2;
	// 20/03/2024 02:00;north;3,1;ok
	// 20/03/2024 01:00;north;2,9;ok
	// 20/03/2024 01:00;south;8,2;ok
	// 20/03/2024 00:00;north;2,8;ok
	// 20/03/2024 00:00;south;8,0;ok
}

func ExampleChannel() {
	f, err := seriesdata.Read(strings.NewReader(stations), seriesdata.Options{Keep: []float64{-200}, Columns: []string{"temp"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var c seriesdata.Channel = f.Channels[0]
	fmt.Println(c.Name, c.Unit, c.Missing, f.Spell(0, 1.25), f.Label(1, 2))
	// Output: temp °C 0 1,2 20/03/2024 02:00
}

func ExampleOmission() {
	f, err := seriesdata.Read(strings.NewReader(stations), seriesdata.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range f.LeftOut {
		var left seriesdata.Omission = o
		fmt.Println(left.Column, "is left out:", left.Why)
	}
	// Output: note is left out: words
}

func ExampleGap() {
	f, err := seriesdata.Read(strings.NewReader(stations), seriesdata.Options{Comma: ';'})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range f.Time.Ranges {
		var gap seriesdata.Gap = r
		fmt.Println(gap.Entity, gap.From, gap.To, gap.Rows)
	}
	// Output: south 20/03/2024 02:00 20/03/2024 02:00 1
}

func ExampleTime() {
	f, err := seriesdata.Read(strings.NewReader(stations), seriesdata.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := f.Time
	fmt.Printf("%s, %s, dates are %s, step %s, %d left out\n", t.Column, t.Order, t.Dates, t.Step, t.Gaps)
	// Output: Zeit, newest first, dates are day/month/year, step 1 hour, 1 left out
}

func ExampleEntity() {
	f, err := seriesdata.Read(strings.NewReader(stations), seriesdata.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	north := f.Entities[0]
	fmt.Println(north.Name, north.Values, north.Lines)
	// Output: north [2.8 2.9 3.1 NaN 3.5] [9 7 6 4 2]
}
