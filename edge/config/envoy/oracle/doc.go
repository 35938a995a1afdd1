// Package oracle holds the reader of envoyproxy/ratelimit's configuration to that program's own
// loader. It is a module of its own, so that the program is no dependency of the daemon.
package oracle
