//go:build !soak && !race

package seam_test

// everything: one byte in eight, and so many spellings a column.
const everything, spellings = false, 500
