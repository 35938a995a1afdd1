package api

import (
	"iter"
	"strings"
)

// Bounds of a search.
const (
	MaxWord     = 64  // bytes of a word or a compared name
	MaxCompared = 128 // names compared; those after them are not suggested

	minPrefix = 3 // letters of a name that may stand for the whole of it
	maxEdits  = 2 // by which a word may differ from the name suggested for it
)

// Nearest returns the name most likely meant by word, or "" when none comes near: the name with the
// fewest edits, at most two and a third of the longer, else the first beginning with word or with
// which word begins. Names are in lower case; word need not be.
func Nearest(word string, names iter.Seq[string]) string {
	if len(word) > MaxWord {
		return ""
	}
	word = strings.ToLower(word)
	best, fewest, begun, compared := "", maxEdits+1, "", 0
	for name := range names {
		if compared++; compared > MaxCompared {
			break
		}
		longer := max(len(word), len(name))
		if n := edits(word, name); n < fewest && 3*n <= longer {
			best, fewest = name, n
		}
		if begun == "" && (strings.HasPrefix(name, word) || strings.HasPrefix(word, name)) {
			begun = name
		}
	}
	if best == "" && len(word) >= minPrefix {
		return begun
	}
	return best
}

// edits returns the number of bytes to be added, dropped, changed or swapped with their neighbour
// to turn a into b. Some number above maxEdits when the lengths alone say so.
func edits(a, b string) int {
	if d := len(a) - len(b); d > maxEdits || d < -maxEdits || len(a) > MaxWord || len(b) > MaxWord {
		return maxEdits + 1
	}
	var rows [3][MaxWord + 1]int
	before, row, next := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			next[j+1] = min(row[j]+differ(a[i], b[j]), row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// differ returns 1 for different bytes, else 0.
func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
