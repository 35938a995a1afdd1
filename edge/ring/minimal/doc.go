// Package minimal is a memcached of a single kind of command: the meta protocol's arithmetic with
// creation, all that a ring needs. In memcached's place in the demo, on a machine without
// memcached, and in tests of whole nodes. Nothing is kept on disk, holds a bounded number of
// counters, and serves loopback only.
package minimal
