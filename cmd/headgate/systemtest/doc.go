// Package systemtest starts whole daemons for the tests in its rooms: processes of their own beside
// real memcached, proxies, browsers and systemd. Such tests take minutes and need programs that not
// every machine has.
//
//	front      requests through real proxies, and the recipes of the pages
//	together   daemons of a PoP and of several PoPs, whose memcached or network fails or lies
//	life       memory, floods, restarts, units of systemd
//	people     the dashboard in Chromium, and the demo in a terminal
//	seam       what a visitor may send, row by row
//
//	test ──► headgate serve, built from these sources ◄──► memcached, nginx, HAProxy, Caddy, chromium, systemd-analyze
//
// The rooms run side by side. Within a room the tests do so that neither measure time nor lean on
// the speed of the machine.
package systemtest
