package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Broadcasting as memberlist does it in its LAN profile: at each interval a node sends its queued
// records to a few random members, those it has sent least often first, until each was sent often
// enough.
const (
	// gossipEvery is the interval of memberlist's LAN profile, gossipTo its number of targets.
	gossipEvery = 200 * time.Millisecond
	gossipTo    = 3
	// retransmitMult is memberlist's default.
	retransmitMult = 4
	// packetRoom is the room for records in a packet, bytes.
	packetRoom = 1350
	// framing is the overhead of a record, bytes.
	framing = 3
)

// broadcast is a record that is being spread. A newer one of the same name replaces it.
type broadcast struct {
	name   string
	record []byte
}

// queued is a broadcast in a node's queue.
type queued struct {
	broadcast
	// sends counts the copies sent so far.
	sends int
	// order is the order of arrival in the queue.
	order int
}

// broadcasts is a node's queue, one entry per name.
type broadcasts struct {
	all   []queued
	order int
}

// put queues r in place of the entry of its name.
func (q *broadcasts) put(r broadcast) {
	q.order++
	q.all = slices.DeleteFunc(q.all, func(t queued) bool { return t.name == r.name })
	q.all = append(q.all, queued{broadcast: r, order: q.order})
}

// enough returns the number of copies that each of n members sends: retransmitMult·⌈log10(n+1)⌉.
func enough(n int) int { return retransmitMult * int(math.Ceil(math.Log10(float64(n+1)))) }

// take returns the broadcasts for one packet: those sent least often first, newest first among
// equals.
func (q *broadcasts) take(members int) (packed []broadcast) {
	slices.SortFunc(q.all, func(a, b queued) int {
		return cmp.Or(cmp.Compare(a.sends, b.sends), cmp.Compare(b.order, a.order))
	})
	room := packetRoom
	for k := range q.all {
		t := &q.all[k]
		if size := framing + len(t.record); size <= room {
			room -= size
			t.sends++
			packed = append(packed, t.broadcast)
		}
	}
	q.all = slices.DeleteFunc(q.all, func(t queued) bool { return t.sends >= enough(members) })
	return packed
}
