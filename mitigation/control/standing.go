package control

import (
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Standing is the state of a key in the control loop, in this node's knowledge. A copy for people:
// explain and the admin pages read it, no decision does.
type Standing struct {
	// View is the last view received; zero when Viewed is.
	View GlobalView
	// Viewed is the time of View; 0 for never.
	Viewed window.Instant
	// Rate is the offered rate in this PoP, cost per second.
	Rate float64
	// Ratio is the drop ratio at this node.
	Ratio mitigation.Ratio
	// RateOnly is the cost offered elsewhere in the window known as a rate only.
	RateOnly int64

	// Owner and Standby are the nodes aggregating the key; "" for nobody.
	Owner, Standby string
	// Reporter is the node reporting the key for this PoP; "" for nobody.
	Reporter string
	// Alone: this node counts the key without the PoP.
	Alone bool
	// Parts are the origins in the key's aggregate, if this node is the owner or standby; else
	// none.
	Parts []Part
}
