// Package live serves pages people keep open: it distributes the newest picture of a node, made
// once for all viewers, and remembers the rates of the last 15 minutes, 1 hour and 6 hours.
//
//	one frame ─► Hub.Send ─┬─► queue ─► a reader's stream     encoded once for all readers;
//	                       ├─► queue ─► a reader's stream     a reader that is too slow is cut
//	                       └─► queue ─► a reader's stream
//
//	totals every 5 s ─► History.Sample ─► 180 steps of each Range ─► History.Read
//
//	stream of events ─► Scanner ─► Event                      the client's side of a stream
//
// It handles bytes, names and numbers without knowing their meaning. Time is an argument, and there
// are no goroutines: each Reader is read by the goroutine that joined.
//
// # Bounds
//
// A Hub has at most MaxReaders readers, each with at most QueueFrames waiting frames; readers
// refused or cut are counted in HubStats. A History holds Steps steps of each Range for each name
// of the last sample: SeriesBytes (8.5 KiB) a name, 8.5 MiB for 1,000 rules. A Scanner holds at
// most MaxEvent bytes of an event.
package live
