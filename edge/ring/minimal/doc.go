// Package minimal is a memcached of a single kind of command: the meta protocol's arithmetic with
// creation, all that a ring needs. The demo, a machine without memcached and tests of whole nodes
// use the package in memcached's place. A server keeps nothing on disk, holds a bounded number of
// counters, and serves loopback only.
package minimal
