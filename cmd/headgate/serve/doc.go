// Package serve is `headgate serve`: it runs a node, reports its state to the service manager, and
// keeps the process near `memory`.
package serve
