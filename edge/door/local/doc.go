// Package local is the door for the program holding the node: it answers the questions of
// edge/client without a socket, and as a daemon would.
//
//	client.Query ───► Door.Batch ─► gate.Batch.Decide ──► client.Answer
//	client.Request ─► Door.Ask ───► ask.Session.Decide ─► client.Answer
//
// A question takes a seat: a lane of the gate and the memory of a request, about 60 KiB where
// policies are asked. Seats are used again, so there are about as many as questions answered at the
// same time. No question waits, and a question under a rule allocates nothing but the answers of a
// Batch.
package local
