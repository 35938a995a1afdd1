package main

import (
	"encoding/binary"

	"github.com/headgate-dev/headgate/gossip"
)

// state is what another member is given: the words that were said by hand, and if it joins the notices in force too, which are
// spread again every few seconds and so need no second way among members.
func (w *world) state(join bool) []byte {
	b := appendPart(nil, tagWords, w.edge.Words())
	if !join {
		return b
	}
	w.mu.Lock()
	notices := w.council.Notices(w.edge.Now())
	w.mu.Unlock()
	for _, n := range notices {
		b = appendPart(b, tagNotice, n)
	}
	return b
}

// appendPart appends a part of a state, unless that would make it too long.
func appendPart(b []byte, tag byte, part []byte) []byte {
	if len(b)+len(part)+1+binary.MaxVarintLen64 > gossip.MaxState {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(part)+1))
	return append(append(b, tag), part...)
}

// merge takes in another member's state.
func (w *world) merge(state []byte) {
	for len(state) > 0 {
		size, n := binary.Uvarint(state)
		if n <= 0 || size > uint64(len(state)-n) {
			return
		}
		part := state[n : n+int(size)] // at most len(state)
		if len(part) > 0 && part[0] == tagWords {
			_, _ = w.edge.MergeWords(part[1:]) // what is wrong with it is counted
		} else {
			w.hear(part)
		}
		state = state[n+int(size):]
	}
}
