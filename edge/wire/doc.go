// Package wire is the language of decisions: one line asks whether a request
// may pass, one line answers. It holds the codec that the daemon and its
// clients share, and a client any Go program can embed: it imports the standard
// library only.
//
//	your program ──Check──► Client ──AppendQuery──► datagram ──ParseQuery──► the daemon
//	                          │                                                 decides
//	your program ◄─Answer── Client ◄─ParseAnswer── datagram ◄─AppendAnswer──────┘
//
//	check per-ip 203.0.113.7 id=7   ──►   id=7 deny why=limit retry=3 view=node
//
// A datagram holds up to [MaxLines] such lines, in at most [MaxDatagram] bytes,
// separated by line feeds; its reply holds as many, in the same order.
//
// # Asking
//
//	client, err := wire.Dial("udp", "127.0.0.1:4290")
//	if err != nil { … }                    // a wrong address; a daemon need not be up yet
//	defer client.Close()
//
//	answer, err := client.Check(ctx, "per-ip", "203.0.113.7", 1)
//	if err != nil {
//		log.Print(err)                 // nobody answered: answer is what FailOpen makes of that
//	}
//	if !answer.Allowed() {
//		w.Header().Set("Retry-After", strconv.Itoa(int(answer.Retry)))
//		http.Error(w, "slow down", http.StatusTooManyRequests)
//		return
//	}
//
// The answer always holds a verdict, whatever the error. [Client.Ask] asks many
// questions in few datagrams.
//
// # What it gives up
//
// Datagrams get lost, and the client does not send them again: a second
// question might be counted twice, and by then the request has waited long
// enough. What is not answered in time is answered by the client's [FailMode].
package wire
