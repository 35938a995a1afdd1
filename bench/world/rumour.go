package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Broadcasting as memberlist does it on a LAN profile: every interval a node with something to tell picks a
// few members by chance and tells each what it has told least often, until it has told it often enough.
const (
	gossipEvery    = 200 * time.Millisecond
	gossipTo       = 3
	retransmitMult = 4
	packetRoom     = 1350
	framing        = 3 // bytes a record
)

// rumour is a broadcast on its way.
type rumour struct {
	name   string
	record []byte
}

// telling is a rumour that a node passes on.
type telling struct {
	rumour
	told  int
	order int // of being queued
}

// rumours are what a node passes on, by name.
type rumours struct {
	all   []telling
	order int
}

// put queues r in place of what was queued under its name.
func (q *rumours) put(r rumour) {
	q.order++
	q.all = slices.DeleteFunc(q.all, func(t telling) bool { return t.name == r.name })
	q.all = append(q.all, telling{rumour: r, order: q.order})
}

// enough returns how often each node tells a rumour among n members.
func enough(n int) int { return retransmitMult * int(math.Ceil(math.Log10(float64(n+1)))) }

// take returns what goes into one packet among members, the least told first and the newest of those.
func (q *rumours) take(members int) (packed []rumour) {
	slices.SortFunc(q.all, func(a, b telling) int {
		return cmp.Or(cmp.Compare(a.told, b.told), cmp.Compare(b.order, a.order))
	})
	room := packetRoom
	for k := range q.all {
		t := &q.all[k]
		if size := framing + len(t.record); size <= room {
			room -= size
			t.told++
			packed = append(packed, t.rumour)
		}
	}
	q.all = slices.DeleteFunc(q.all, func(t telling) bool { return t.told >= enough(members) })
	return packed
}
