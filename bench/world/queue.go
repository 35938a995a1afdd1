package main

import "time"

// eventKind is the type of an event.
type eventKind uint8

const (
	// flushes: a node exchanges totals with its PoP's ring and measures.
	flushes eventKind = iota
	// batches: a node's control loop ticks.
	batches
	// arrives: a packet reaches a node.
	arrives
	// hurries: a node exchanges what cannot wait for its next flush.
	hurries
	// strikes: the scenario changes the world.
	strikes
)

// event is an event at a node, or in the world.
type event struct {
	at time.Duration
	// order is the order of scheduling. It breaks ties, or runs would differ.
	order  uint64
	kind   eventKind
	node   *node
	packet packet
	strike func(*world)
}

// before orders events by time, then by scheduling.
func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// queue holds the coming events, the next one first: a binary heap.
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

// due removes and returns the next event, if its time is end or earlier.
func (q *queue) due(end time.Duration) (next event, ok bool) {
	if len(q.heap) == 0 || q.heap[0].at > end {
		return next, false
	}
	next = q.heap[0]
	last := len(q.heap) - 1
	e := q.heap[last]
	// Lets go of its packet and its func, which the array would hold on to otherwise.
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(e)
	}
	return next, true
}

// sink places e, from the root downwards.
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
