// Package minimal is a memcached of one kind of command: the meta protocol's arithmetic with
// creation, which is all that a ring asks for. It takes memcached's place in the demo, on a machine
// that has none, and in tests of whole nodes. It keeps nothing on disk, holds a bounded number of
// counters, and serves loopback only.
package minimal
