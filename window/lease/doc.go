// Package lease counts requests under way: each key of a rule has places, and a request holds some
// places, by a lease, until given back or out of time.
//
//	Take ─► lease: until, number ─┬─ list of its key's leases, oldest first ─► Release, Renew
//	                              └─ heap of all leases, by end ──────► expired: places free
//
// A table has room for a fixed number of leases and never allocates after it was made. A lease
// nobody releases ends by itself, so a holder that dies gives up all its places within a lease.
// Expiry is exact: no operation sees a lease whose end has come.
//
// The package reads no clock and draws no chance.
package lease
