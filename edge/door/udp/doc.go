// Package udp is the datagram door: the line protocol of edge/wire over UDP and unix datagram
// sockets.
//
//	socket ─recvmmsg─► up to 64 datagrams ─► lines ─wire.ParseQuery─► gate.Ask
//	                                                                    │ gate.Batch
//	socket ◄─sendmmsg─ one reply per datagram ◄─wire.AppendAnswer── gate.Decision
//	           └── equally long ones to one client in one message, which the kernel cuts apart
//
// Each reader is a goroutine with a socket, memory and lane. A reader reads a batch, reads the
// clock once, decides every line and sends the answers. Off Linux a batch is a datagram and a door
// has a single reader.
//
// A flood keeps the sockets full, and readers without waits would leave no processor to the other
// doors: see …/rest.
//
// The door gives up reliability for speed. The kernel drops datagrams that do not fit its buffer,
// and a reply the kernel does not take at once is lost. Clients therefore treat a missing answer as
// their own failure mode. Off loopback the door also gives up fields of the answer: a reply is
// never longer than its request.
//
// The door must never queue or retry, start a goroutine per datagram, answer an error with a longer
// datagram than the cause, or decide anything itself. A malformed line is never counted against a
// key.
package udp
