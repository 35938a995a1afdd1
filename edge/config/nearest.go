package config

import "strings"

// minPrefix is how many letters of a name must stand for the whole of it to be suggested.
const minPrefix = 3

// didYouMean returns ` (did you mean "…"?)` for the known word nearest to word, or "".
func didYouMean(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return ` (did you mean "` + near + `"?)`
	}
	return ""
}

// nearest returns the known word that word most likely was meant to be, or "": the one it differs
// from by the fewest edits, two at most and one in short words, else one that begins alike.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, fewest := "", 3
	for _, k := range known {
		if n := edits(word, k); n < fewest && (n < 2 || len(k) > minPrefix) {
			best, fewest = k, n
		}
	}
	if best == "" && len(word) >= minPrefix {
		best = begunBy(word, known)
	}
	return best
}

// begunBy returns the known word of which word is the beginning, or that begins word.
func begunBy(word string, known []string) string {
	for _, k := range known {
		if strings.HasPrefix(k, word) || strings.HasPrefix(word, k) {
			return k
		}
	}
	return ""
}

// edits returns how many bytes must be added, dropped, changed or swapped with their neighbour to
// turn a into b, or some number above two where their lengths alone say so: a key may be a
// megabyte.
func edits(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			next[j+1] = min(row[j]+differ(a[i], b[j]), row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
