package admin

import (
	"net/http"
	"strings"
	"unicode"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// Bounds in bytes of the reason and the author of a change, and the author if none is given. So a
// line of the log has a bound.
const (
	maxReason   = override.MaxReason
	maxWho      = override.MaxWho
	nobodyNamed = "admin"
)

// claimed returns the author of a change, by default nobodyNamed, or the problem of the name or of
// the reason. The name is only a claim, as everybody who may make changes may use any name. The
// audit log therefore holds the address of the client too.
func claimed(by, reason string) (who string, p *api.Problem) {
	switch {
	case by == "":
		by = nobodyNamed
	case len(by) > maxWho || strings.ContainsFunc(by, unprintable):
		return "", api.BadParameter("by", "must be at most 64 bytes of printable characters")
	}
	if len(reason) > maxReason || strings.ContainsFunc(reason, unprintable) {
		return "", api.BadParameter("reason", "must be at most 256 bytes of printable characters")
	}
	return by, nil
}

// unprintable reports whether r could hide or reorder text for later readers: control characters,
// line ends and direction marks.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// audit writes a line for a change: kind, author, reason and the address of the client. Keys in
// more must be escaped already.
func (a *Door) audit(r *http.Request, change string, more ...any) {
	a.auditLog.InfoContext(r.Context(), "admin: changed",
		append([]any{"change", change, "from", r.RemoteAddr}, more...)...)
}
