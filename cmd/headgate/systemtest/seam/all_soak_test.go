//go:build soak && !race

package seam_test

// everything: all bytes.
const everything = true
