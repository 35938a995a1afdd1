// Package frame is the wire format of package gossip inside memberlist's own: the messages that
// carry packets, records and states, and the metadata of a node. It encodes and parses, and keeps
// nothing.
//
//	Send(packet) ─► AppendHead ──────────────────┐                ┌─► SplitHead ─► packet
//	Spread(record) ─► AppendRecord ─► AppendHead ┼─► memberlist ──┼─► SplitHead ─► NextRecord, NextRecord ...
//	State() ─► AppendHead ───────────────────────┘                └─► SplitHead ─► state
//	SetMeta(meta) ─► Meta.Append ─► memberlist's own messages ─► ParseMeta ─► roster
//
//	message = version  kind  ( packet | *record | state )
//	record  = id, 8 bytes  age, 2 bytes big-endian  length, uvarint  body
//	meta    = version  *( type  length  bytes )
//
// Later versions append types to a Meta, which a reader skips if it does not know them; a type is
// never used for another field.
//
// Given up: room for growth in records. Another layout of messages or records needs another
// version, which nodes of this version drop and count.
package frame
