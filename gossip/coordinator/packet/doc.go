// Package packet is the wire format of the control loop: the bytes from a node's coordinator to
// another's. Known are the form and the bounds of a record, and nothing of the effect.
//
//	Record ─► AppendRecord ─► packet, at most MaxPacket bytes ─► gossip ─► ParseHeader
//	  ─► NextRecord ─► ParseRecord
//
// A packet is a header and records. Integers are little-endian or
// varints, floats are 32-bit, durations are whole milliseconds rounded up, and a text is a byte of
// length and the bytes:
//
//	packet  = version  sender  session  sequence  issued  *record
//	record  = kind  length  body
//	body    = rule  key  nonce  flags  ( report | view )
//	report  = rate  admitted  over  ttl  last-sum  [blocked]  [totals]  [moments]
//	view    = sum  limit  echo-rate  from  [blocked]  [rate-only]  [totals]  [share] [moments]
//	totals  = period  mask  *( offered  admitted  times )
//	moments = count  newest  units  *( gap  units )
//
// A record of kind counts has another body, of package counts.
//
// The fields in brackets are present if their flag is set. A key is 1..256 bytes and carries the
// length minus 1. The mask has a bit per counting period, the newest first; empty periods take no
// room. Moments are a list of package window/moments, 1..64 lumps: the first bin is told as bins
// after the end of the totals' period, each other bin as bins before its predecessor. A lump takes
// two bytes or three.
//
// A reader skips kinds it does not know, and bytes at the end of a body it does not know: later
// versions append. It refuses values out of range, so a parsed record needs no further check of
// numbers: see MaxRate, MaxCount, MaxSpan and MaxTTL.
//
// Given up: authenticity. Whoever holds the cluster's key can write any record; sessions, replays
// and clocks are package peers' affair, and nonces the coordinator's.
package packet
