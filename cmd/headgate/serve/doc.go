// Package serve is `headgate serve`: a node is run, its state reported to the service manager, and
// keeps the process near `memory`.
package serve
