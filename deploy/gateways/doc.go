// Package gateways holds the files that `headgate init` writes for gateways to the gateways' own Go
// types. It is a module of its own, and its tests are slow to build: make soak runs them.
package gateways
