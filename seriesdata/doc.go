// Package seriesdata reads time series from real-world files: tables in CSV, TSV, aligned text or
// JSON, as written by spreadsheets, brokers, sensors and statistical offices. [Read] returns a
// [Frame] that holds times × channels for every entity, such as a stock or a sensor:
//
//	f, err := seriesdata.Read(file, seriesdata.Options{})
//	fmt.Print(f) // what was decided, as a table
//
// From whole columns, Read infers the cell separator, the decimal separator, the order of day and
// month, units, and numbers that stand for missing values. It finds the columns that hold the time
// and the columns that identify entities. Times may run down the file, across it, or both (one line
// per year, one column per month). Read also infers the regular grid of times; grid times that are
// absent from the file become rows of missing values. If a column is ambiguous, the error names
// both interpretations and the option that selects one. The frame records all decisions and
// everything that was left out.
//
// [Frame.Write] writes the file again and fills in its missing values. Everything else stays
// exactly as it was.
//
// # Caveats
//
// A file is held in memory. Times have a resolution of one microsecond. A number such as −9999
// counts as missing only if it is commonly used for this purpose and lies far from the rest of its
// column. The frame lists these numbers.
package seriesdata
