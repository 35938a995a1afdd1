// Package systemtest holds the tests that run whole daemons: processes of their own, real
// memcached, proxies, browsers and systemd around them. They stand apart from the commands because
// they take minutes and need programs that not every machine has.
//
//	test ──► headgate serve, built from these sources ◄──► memcached, nginx, HAProxy, Caddy, chromium, systemd-analyze
//
// Those that neither measure time nor lean on how fast the machine is run side by side.
package systemtest
