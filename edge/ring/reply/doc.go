// Package reply reads memcached's answers: the meta protocol's values, and the complaints that both
// protocols share.
//
//	VA 1 O7 / 5     the value 5, for the command with number 7       NF O7     no such counter
//	CLIENT_ERROR …  the counter is not a number                      SERVER_ERROR …
//
// It accepts exactly what memcached sends, lines of at most 128 bytes, and nothing that comes close:
// a server that lies must not make a count.
package reply
