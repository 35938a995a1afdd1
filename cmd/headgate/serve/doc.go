// Package serve is `headgate serve`: it runs a node, tells the service manager how it is, and keeps the process near `memory`.
package serve
