// Package seriesdata reads series from real-world files: tables in CSV, TSV, aligned text
// or JSON, as written by spreadsheets, brokers, sensors and statistical offices. [Read]
// returns a [Frame] of times × channels for every entity:
//
//	f, err := seriesdata.Read(file, seriesdata.Options{})
//	fmt.Print(f) // what was decided, as a table
//
// Read infers the format from whole columns: the cell separator, decimal points or commas,
// the order of day and month, which column holds the time and which ones identify entities,
// units, numbers that stand for missing values, whether times run down the file, across it
// or both (one line per year, one column per month), and the regular grid of times. Times
// of the grid that are absent from the file become rows of missing values. If a column is
// ambiguous, the error names both readings and the option that selects one. The frame
// records everything that was decided and everything that was left out.
//
// [Frame.Write] writes the file again with missing values filled in and leaves everything
// else exactly as it was.
//
// # Caveats
//
// A file is held in memory. Times are kept to the microsecond. Numbers such as −9999 count
// as missing only if they are commonly used for this purpose and lie far from the rest of
// their column; the frame lists them. The package is for programs: nothing else in the
// library imports it.
package seriesdata
