package gatetest

import (
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// Gossip returns statistics in which every field has a value of its own, so that a test sees which
// of them was shown where.
func Gossip() api.GossipStats {
	since := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	return api.GossipStats{
		Members: []api.Member{
			{
				Name: "a", PoP: "lhr", Address: "192.0.2.1:4293", State: "alive", Since: since,
				Version: "v1", Wire: 1, Ring: "e295", Rules: "77aa", Self: true,
			},
			{Name: "b", PoP: "cdg", Address: "192.0.2.2:4293", State: "dead", Since: since},
			{Name: "c", PoP: "n\xffrt", State: "alive", Since: since, Offset: 300},
			{Name: "d", PoP: "n\xffrt", State: "alive", Since: since, Offset: -1500},
		},
		PoPs: []api.PoPMembers{
			{PoP: "cdg", Alive: 0, Dead: 1, Left: 2},
			{PoP: "lhr", Alive: 3, Dead: 4, Left: 5},
			{PoP: "nrt", Alive: 6, Dead: 0, Left: 0},
		},
		Mismatches: api.Mismatches{Ring: 1, Rules: 2, Wire: 3, Clock: 4},
		Bytes:      api.Flow{In: 101, Out: 102}, Packets: api.Flow{In: 103, Out: 104},
		Records:  map[string]api.Flow{"demand": {In: 105, Out: 106}, "view": {In: 107, Out: 108}},
		Rejected: map[string]uint64{"replay": 109, "quota": 0},
		Dropped:  map[string]uint64{"key": 110},
		Queue:    api.Queue{Spreading: 111, Waiting: 112, Sending: 113},
		Lag: api.Lag{
			Count: 200, Sum: 50 * time.Second,
			Buckets: []api.LagBucket{
				{Within: 0.1, Count: 100},
				{Within: 0.5, Count: 197},
				{Within: 1, Count: 198},
				{Within: 30, Count: 199},
			},
		},
		Joins: 114, Rejoins: 115, JoinErrors: 116, JoinError: "join: refused", Conflicts: 117,
		Health: 2,
		Keys: api.ControlKeys{
			Measured: 118, Reported: 119, Owned: 120, Shed: 122,
			Guarded: 123, Bytes: 1234, Capacity: 12345,
		},
		MostDebt: 1.5, Overloaded: true, Deferred: 124, Full: 125, Origins: 128,
		Counts: api.CountsStats{
			Records: api.Flow{In: 126, Out: 127}, Waiting: 128, Dropped: 129,
			Displaced: 130, Pressure: 1.5,
		},
	}
}
