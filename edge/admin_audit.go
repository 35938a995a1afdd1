package edge

import (
	"net/http"
	"strings"
	"unicode"

	"github.com/headgate-dev/headgate/mitigation"
)

const (
	maxReason   = mitigation.MaxReason
	maxWho      = mitigation.MaxWho
	nobodyNamed = "admin"
)

// said returns who asks for a change, by the name that is given, and what is wrong with that name or the reason. It is
// a claim: whoever may change anything may say any name, but the log says as well where it came from.
func said(by, reason string) (who string, p *problem) {
	switch {
	case by == "":
		by = nobodyNamed
	case len(by) > maxWho || strings.ContainsFunc(by, unprintable):
		return "", badParam("by", "must be at most 64 bytes of printable characters")
	}
	if len(reason) > maxReason || strings.ContainsFunc(reason, unprintable) {
		return "", badParam("reason", "must be at most 256 bytes of printable characters")
	}
	return by, nil
}

// unprintable finds what could hide or turn around what others read: controls, line ends, marks of
// direction.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// audit logs a change that was made, a line each: what, on whose word, why, and from where. Keys in more are escaped
// already.
func (a *Admin) audit(r *http.Request, change string, more ...any) {
	a.auditLog.InfoContext(r.Context(), "admin: changed", append([]any{"change", change, "from", r.RemoteAddr}, more...)...)
}
