// Package live is what a page that people keep open needs: the newest picture made once for all who look,
// and what was before.
//
//	one frame ─► Hub.Send ─┬─► queue ─► a reader's stream     made and encoded once, however many read;
//	                       ├─► queue ─► a reader's stream     who does not keep up is cut
//	                       └─► queue ─► a reader's stream
//
//	totals every 5 s ─► History.Sample ─► 180 steps a series ─► History.Read
//
//	stream of events ─► Scanner ─► Event                      the other end of a stream
//
// It knows bytes, names and numbers, not what they are about. Time is an argument.
package live
