package client

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// NoKey is the key standing for the empty key: requests without a key share a count, so leaving out
// an API key does not evade the limit.
const NoKey = "-"

// digestPrefix begins the key standing for a key of more than wire.MaxKey bytes.
const digestPrefix = "sha256:"

// Query is a question: may a request of this key pass under this rule?
//
// Key and Cost may come straight from a request; no value of theirs makes a query fail, since under
// FailOpen a failed query passes uncounted. A key of more than 256 bytes is replaced by "sha256:"
// and the hexadecimal SHA-256 digest of it. The digest is not keyed: all clients of a limit must
// give a key the same name and share no secret, and without a secret a collision-resistant digest
// still keeps two keys from sharing a count. The digest hides nothing; do not use digests to store
// secrets.
type Query struct {
	Op   wire.Op // Check, Peek or Count
	Rule string  // the name of a rule: 1..64 of A-Z a-z 0-9 _ . -
	Key  string  // any bytes; empty: NoKey; above 256 bytes: a digest
	Cost uint32  // 1..1,000,000; 0 means 1, and more means 1,000,000
	// of a unit, beside Cost, 1..1,000,000, for a rule with a scale: Cost 1 and 250000 are 1.25
	Millionths uint32

	CanWait bool // an Answer may have a Delay; else such a request is denied
}

// SentKey returns the key a [Query] with key is counted by: key itself, [NoKey] for none, and a
// digest of a too long key.
func SentKey(key string) string {
	switch {
	case key == "":
		return NoKey
	case len(key) <= wire.MaxKey:
		return key
	}
	digest := sha256.Sum256([]byte(key))
	return digestPrefix + hex.EncodeToString(digest[:])
}

// Answer is the verdict on a query or request.
type Answer struct {
	Status     wire.Status   // Allow or Deny; OK for a Count
	Why        wire.Why      // the reason for Deny: limit, shed or block
	View       wire.View     // the nodes the counts come from: node, pop or global
	Shadow     bool          // allowed only because the rule is in shadow
	Remaining  int64         // cost left in the trailing window, whole units
	Reset      time.Duration // until more cost is available, in whole seconds; 0 with Deny
	Millionths uint32        // of a unit, beside Remaining: for a rule with a scale
	// with Deny: until another attempt can pass, whole seconds, at least one
	Retry time.Duration
	Ratio float64 // the share of requests being dropped, 0..1; 0: none
	// with Deny: about how many clients a block would deny, where shed instead; else 0
	Blast  int
	Rule   string // of an Ask: the rule that answers; empty: none did
	Ground string // of an Ask no rule answers: none, skip or policy
	HTTP   int    // of an Ask: the status for a denial, such as 429; 0 with Allow
	Ticket string // of an Ask: report the response with it; empty: no report is due
	// with Allow: to wait before the request passes, whole milliseconds up to a minute; only for
	// who CanWait
	Delay time.Duration
	// with Allow of an Ask: do nothing, and answer as if all were well; only for who CanDeceive
	Deceive bool
	// why the daemon gave no verdict, and the FailMode did; nil if answered
	Err error
}

// Allowed reports whether the request may pass.
func (a Answer) Allowed() bool { return a.Status == wire.Allow }

// answerOf returns a reply line's answer to a query of op. Err is not nil if the line holds no
// answer.
func answerOf(op wire.Op, a wire.Answer) Answer {
	switch {
	case a.Status == wire.Error:
		return Answer{Err: a.Code}
	case op == wire.Count && a.Status == wire.OK, op != wire.Count && a.Status <= wire.Deny:
	default:
		return Answer{Err: wire.ErrReply}
	}
	if a.Status == wire.Deny && a.Why != wire.WhyCost {
		a.Retry = max(a.Retry, 1)
	}
	return Answer{
		Status: a.Status, Why: a.Why, View: a.View, Shadow: a.Shadow, Remaining: a.Remaining,
		Millionths: a.Millionths,
		Reset: time.Duration(
			a.Reset,
		) * time.Second, Retry: time.Duration(a.Retry) * time.Second,
		Ratio: float64(a.Ratio), Blast: int(a.Blast),
		Delay: time.Duration(a.Delay) * time.Millisecond,
	}
}
