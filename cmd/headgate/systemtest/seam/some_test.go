//go:build !soak && !race

package seam_test

// everything: one byte in eight.
const everything = false
