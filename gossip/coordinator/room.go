package coordinator

import (
	"math"

	"github.com/headgate-dev/headgate/window"
)

// room is the cost still believable of other PoPs.
type room struct{ Offered, Admitted int64 }

// anyRoom is room for any report.
var anyRoom = room{math.MaxInt64, math.MaxInt64}

// Cut returns the part of fresh, the growth of a total, with room, and takes the room.
func (r *room) Cut(fresh window.PeriodTotals) window.PeriodTotals {
	admitted := min(fresh.Admitted, r.Admitted)
	if admitted < fresh.Admitted {
		fresh.Times = int64(float64(fresh.Times) * float64(admitted) / float64(fresh.Admitted))
	}
	fresh.Admitted, fresh.Offered = admitted, max(admitted, min(fresh.Offered, r.Offered))
	r.Admitted -= fresh.Admitted
	r.Offered -= min(fresh.Offered, r.Offered)
	return fresh
}
