//go:build race

package lease_test

const slower = 20 // of the steps against the model, which the race detector makes slow
