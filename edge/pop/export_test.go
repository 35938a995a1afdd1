package pop

// HeartbeatTTL is how long a server is to keep a node's heartbeat, in seconds.
const HeartbeatTTL = beatLife

// ClockTTL is how long a server is to keep the nodes' wall clocks, in seconds.
const ClockTTL = clockTTL
