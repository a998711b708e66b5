// Package seriesdata reads series from the files that people have: tables of CSV, TSV or
// aligned text and JSON, as spreadsheets, brokers, sensors and statistical offices write
// them. [Read] returns a [Frame] of times × channels for every entity:
//
//	f, err := seriesdata.Read(file, seriesdata.Options{})
//	fmt.Print(f) // what was decided, as a table
//
// It decides by whole columns: what stands between cells, decimal points or commas, the
// order of day and month, which column holds the time, which ones tell entities apart,
// units, numbers that stand for missing ones, whether times go down the file, across it or
// both (a line a year, a column a month), and the regular grid of times. Rows that
// the grid has and the file has not are rows of missing numbers. What a column does not
// decide is an error that names both readings and the option that settles it. All that
// was decided and all that was left out is in the frame.
//
// [Frame.Write] writes the file again with missing numbers filled in; what was there
// stays to the letter.
//
// # Caveats
//
// A file is held in memory. Times are kept to the microsecond. Numbers such as −9999
// count as missing only if they are known to be used so and lie apart from the rest of
// their column; the frame lists them. The package is for programs: nothing else in the
// library imports it.
package seriesdata
