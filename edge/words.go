package edge

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Operators' words: what is set or lifted by hand here, and at any other node.
//
//	POST, DELETE ─► setByHand, liftByHand ─► say ─┬─► flag table
//	                                             └─► words ─► publish ─► (gossip)
//	(gossip) ─► HearWord, MergeWords ─► words ─► obey ─► flag table
//	a reload, a restart ─► obeyAll ─► flag table

// words are the words this node knows of, and its way to other nodes.
type words struct {
	mitigation.Words
	publish func(record []byte) // nil: nobody to tell
	peers   func() bool         // whether there is anybody to tell now
}

// lately is how old a lift may be to lift what was flagged after it: two clocks may differ by as much as a word
// may be early. An older one, heard after a partition or a restart, lifts only what it can have meant.
const lately = mitigation.MaxEarly

// OnWord has publish called with every word that is given at this node, as HearWord takes it at others; peers
// tells whether there are any. publish must not wait. Call it before the node's doors open.
func (e *Edge) OnWord(publish func(record []byte), peers func() bool) {
	e.words.publish, e.words.peers = publish, peers
}

// hasPeers reports whether a word said here reaches anybody else.
func (e *Edge) hasPeers() bool { return e.words.peers != nil && e.words.peers() }

// say stamps w, which is about to hold here from now on for ttl, and tells it to everybody else once the
// returned function is called, with no lock held.
func (e *Edge) say(now window.Instant, w mitigation.Word, ttl time.Duration) (tell func()) {
	wall := e.Wall(now).UnixMilli()
	w.Node, w.Until = e.node, wall+ttl.Milliseconds()
	w, err := e.words.Issue(wall, w)
	if e.words.publish == nil || err != nil {
		return func() {} // without room for it every node would take it for news again and again
	}
	record := mitigation.AppendWord(nil, &w)
	return func() { e.words.publish(record) }
}

// HearWord takes in a word that another node published, and reports whether it was news and so is to be passed
// on. It has the effect it would have by hand here. It may wait for a reload to end, and keeps nothing of record.
func (e *Edge) HearWord(record []byte) (news bool) {
	w, err := mitigation.ParseWord(record)
	if err != nil {
		e.words.Reject()
		return false
	}
	now := e.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	is, _ := e.words.Merge(e.Wall(now).UnixMilli(), w) // counted
	e.obeyNews(now, w, is)
	return is != mitigation.Known
}

// Words returns every word this node remembers, as MergeWords takes it at another; at most
// mitigation.MaxWordsRecord bytes.
func (e *Edge) Words() []byte {
	return mitigation.AppendWords(nil, e.words.All(e.Wall(e.Now()).UnixMilli()))
}

// MergeWords takes in what Words returned at another node, and returns how many of them were news. An error
// says what was not taken; when state cannot be read that is all of it.
func (e *Edge) MergeWords(state []byte) (news int, err error) {
	all, err := mitigation.ParseWords(state)
	if err != nil {
		e.words.Reject()
		return 0, err
	}
	now := e.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err = e.words.MergeAll(e.Wall(now).UnixMilli(), all, func(w mitigation.Word, is mitigation.News) {
		news++
		e.obeyNews(now, w, is)
	})
	return news, err
}

// obeyNews does what w says if it is the last word. The caller holds e.mu.
func (e *Edge) obeyNews(now window.Instant, w mitigation.Word, is mitigation.News) {
	r := e.rules.Load().byName[w.Rule]
	if is != mitigation.Newest || r == nil {
		return
	}
	i := r.meter.Index(w.Key)
	switch was, held := e.flags.Find(now, i); {
	case w.Says == mitigation.SaysLift:
		e.obeyLift(now, r, &w, was, held)
	case w.InForce(e.Wall(now).UnixMilli()):
		e.replaceManual(now, e.flagOf(now, r, &w)) // without room it is counted, and tried again at a reload
	case held && was.Source == mitigation.Manual: // it is over, and so is what it took the place of
		e.flags.Lift(now, i)
	}
}

// obeyLift lifts key's flag was, if it is held, as far as w can have meant it.
func (e *Edge) obeyLift(now window.Instant, r *rule, w *mitigation.Word, was mitigation.Flag, held bool) {
	issued := e.instant(w.Issued)
	if late := now.Sub(issued) > lately; late && (!held || was.Since > issued) {
		return
	}
	e.lift(now, r, w.Key, was)
}

// obeyAll sets the flags of all words in force that have none: the rule of a word may have come with the
// reload, or the node with its words from a restart. The caller holds e.mu.
func (e *Edge) obeyAll(now window.Instant) {
	wall := e.Wall(now).UnixMilli()
	for _, w := range e.words.All(wall) {
		r := e.rules.Load().byName[w.Rule]
		if r == nil || !w.InForce(wall) {
			continue
		}
		if was, held := e.flags.Find(now, r.meter.Index(w.Key)); !held || was.Source != mitigation.Manual {
			e.flags.Put(now, e.flagOf(now, r, &w))
		}
	}
}

// flagOf returns the flag that w sets, for at most MaxTTL from now whatever another node's clock said.
func (e *Edge) flagOf(now window.Instant, r *rule, w *mitigation.Word) mitigation.Flag {
	return mitigation.Flag{
		Index: r.meter.Index(w.Key), Rule: r.Name, Key: w.Key, Action: w.Action(), Source: mitigation.Manual,
		Origin: w.Who, Reason: w.Reason,
		Since: min(e.instant(w.Issued), now), Until: min(e.instant(w.Until), now.Add(MaxTTL)),
	}
}

// saidAt returns the other node at which the operator was who set f, or "".
func (e *Edge) saidAt(now window.Instant, f *mitigation.Flag) string {
	w, ok := e.words.Last(e.Wall(now).UnixMilli(), f.Rule, f.Key)
	if f.Source != mitigation.Manual || !ok || w.Node == e.node {
		return ""
	}
	return w.Node
}

// instant returns when the wall clock, as it goes now, showed ms Unix milliseconds.
func (e *Edge) instant(ms int64) window.Instant {
	return window.Instant(ms*int64(time.Millisecond) - e.steps.offset.Load())
}
