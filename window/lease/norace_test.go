//go:build !race

package lease_test

const slower = 1
