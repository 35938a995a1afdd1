// Package pool sheds requests by how busy something is that they all need: workers, a database, a
// queue.
//
//	Report: 0.93 of it is in use ──► mean of the sources ──► Turn, once a second ──► level
//	request of a tier ──► Ratio: the share of such requests to deny ◄─────────────────┘
//
// The level rises by a step while the mean is above a mark, falls by a smaller step while it is
// below another, and stays in between. Level 1.3 denies every request of the first tier, 30 % of
// the second, and none of those after it. Slow up and slower down, so a loop through the workers
// does not swing. A pool that is not heard of falls to 0.
//
// The package reads no clock and draws no chance.
package pool
