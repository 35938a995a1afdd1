// Package serve is `headgate serve`: the command runs a node, reports the node's state to the
// service manager, and keeps the process near `memory`.
package serve
