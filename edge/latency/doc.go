// Package latency holds a histogram of durations that is cheap enough to be kept where decisions
// are made: an addition to a bucket and another to the sum, without a lock.
//
//	clock readings ──Note──► Histogram ──Sum.Add──► Sum ──Cumulative──► edge/metrics
//
// It is coarse on purpose: six buckets, each a Prometheus series a node. It shows a slow node, and
// cannot show the tail of single requests. The package reads no clock.
package latency
