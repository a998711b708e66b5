package main

import (
	"fmt"
	"slices"
)

// parts splits the rows of a file into series, each oldest first. Where a column
// of words has each of its words in one block of rows, the blocks are series of
// their own; by names that column, or is empty.
func parts(columns []column, rows []record) (series [][]record, by string, err error) {
	series = [][]record{rows}
	for i, c := range columns {
		if c.kind == words && c.why == "words" {
			if blocks := blocksOf(rows, i); blocks != nil {
				series, by = blocks, c.name
				break
			}
		}
	}
	for _, s := range series {
		if err := oldestFirst(columns, s); err != nil {
			return nil, "", err
		}
	}
	return series, by, nil
}

// blocksOf returns the blocks of equal words in a column, nil if there are fewer
// than two, if a word has several blocks, or if one has a single row.
func blocksOf(rows []record, column int) [][]record {
	var blocks [][]record
	seen := map[string]bool{}
	for at := 0; at < len(rows); {
		word, end := rows[at].cells[column], at+1
		for end < len(rows) && rows[end].cells[column] == word {
			end++
		}
		if seen[word] || end-at < 2 {
			return nil
		}
		seen[word] = true
		blocks = append(blocks, rows[at:end])
		at = end
	}
	if len(blocks) < 2 {
		return nil
	}
	return blocks
}

// oldestFirst reverses rows whose dates descend. Dates that do neither are an
// error.
func oldestFirst(columns []column, rows []record) error {
	up, down := 0, 0
	for i := 1; i < len(rows); i++ {
		a, ok := when(columns, rows[i-1])
		b, also := when(columns, rows[i])
		if !ok || !also {
			continue
		}
		switch {
		case a.Before(b):
			up = i
		case b.Before(a):
			down = i
		}
	}
	switch {
	case up > 0 && down > 0:
		return fmt.Errorf("line %d: the dates are in no order: sort the rows, or keep one series per file", rows[min(up, down)+oneIf(down == 0)].line)
	case down > 0:
		slices.Reverse(rows)
	}
	return nil
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
