//go:build !soak

package edgetest

// Soak is whether the tests are those of make soak.
const Soak = false
