package pop

// HeartbeatTTL is how long a server is to keep a node's heartbeat, in seconds.
const HeartbeatTTL = beatLife

// OwnBeats returns how many of its own heartbeats the node remembers.
func (p *Flusher) OwnBeats() int { return len(p.heartbeat.own) }

// SeesNobody reports whether the node found no heartbeat of others when it last looked.
func (p *Flusher) SeesNobody() bool { return p.heartbeat.newest == unclear }
