// Package ask holds the commands that ask a running daemon, or change it by hand:
//
//	check ────────────────────────► UDP, by edge/wire's client
//	rules, top, explain, events … ► the admin listener, JSON
//	block, mode, reload … ────────► the admin listener, with its token
package ask
