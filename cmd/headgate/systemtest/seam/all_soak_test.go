//go:build soak && !race

package seam_test

// everything: all bytes, and so many spellings a column.
const everything, spellings = true, 2500
