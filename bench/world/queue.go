package main

import "time"

// happening is what an event is.
type happening uint8

const (
	flushes happening = iota // a node exchanges totals with its PoP's ring and measures
	batches                  // a node's control loop has its turn
	gossips                  // a node passes broadcasts on
	arrives                  // a packet reaches a node
	strikes                  // the scenario does something to the world
)

// event is something that happens to a node at a moment.
type event struct {
	at     time.Duration
	order  uint64 // of being scheduled: events of one moment happen in this order, or runs would differ
	kind   happening
	node   *node
	packet packet
	strike func(*world)
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// queue holds what is to happen, the next first: a binary heap.
type queue struct {
	heap  []event
	order uint64
}

// put schedules e.
func (q *queue) put(e event) {
	q.order++
	e.order = q.order
	q.heap = append(q.heap, e)
	at := len(q.heap) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if q.heap[parent].before(&e) {
			break
		}
		q.heap[at] = q.heap[parent]
		at = parent
	}
	q.heap[at] = e
}

// due takes the next event, if it happens at end or before.
func (q *queue) due(end time.Duration) (next event, ok bool) {
	if len(q.heap) == 0 || q.heap[0].at > end {
		return next, false
	}
	next = q.heap[0]
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(e)
	}
	return next, true
}

// sink places e from the root on downwards.
func (q *queue) sink(e event) {
	at := 0
	for {
		child := 2*at + 1
		if child >= len(q.heap) {
			break
		}
		if child+1 < len(q.heap) && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if e.before(&q.heap[child]) {
			break
		}
		q.heap[at] = q.heap[child]
		at = child
	}
	q.heap[at] = e
}
