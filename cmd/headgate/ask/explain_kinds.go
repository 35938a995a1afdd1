package ask

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// limitOf names the limit: 10 per 1s; 20 at once, 10 per 1s; 3 places.
func limitOf(v api.ExplainView) string {
	if v.Places != nil {
		return fmt.Sprintf("%v places", v.Limit)
	}
	unit := ""
	if v.Unit != "" {
		unit = " " + cli.Safe(v.Unit)
	}
	limit := fmt.Sprintf("%v%s per %s", v.Limit, unit, cli.Span(cli.Seconds(v.Window)))
	if v.Bucket != nil {
		limit = fmt.Sprintf("%v at once, %s", v.Bucket.Burst, limit)
		if v.Bucket.Delay > 0 {
			limit += ", waits up to " + cli.Span(cli.Seconds(v.Bucket.Delay))
		}
	}
	return limit
}

// bucketOf describes the key's bucket; "" for a rule of another kind.
func bucketOf(v api.ExplainView) string {
	b := v.Bucket
	switch {
	case b == nil:
		return ""
	case b.FullAt == nil:
		return fmt.Sprintf("full, %v of %v tokens", b.Left, b.Burst)
	}
	text := fmt.Sprintf("%v of %v tokens, %.0f %% full, full again in %s", b.Left, b.Burst,
		100*b.Fill, cli.Span(b.FullAt.Sub(v.Now).Round(time.Millisecond)))
	if b.Debt > 0 {
		text += fmt.Sprintf("; %v taken in advance", b.Debt)
	}
	if b.Wait > 0 {
		text += "; the next request would wait " +
			cli.Span(cli.Seconds(b.Wait).Round(time.Millisecond))
	}
	return text
}

// placesText describes the places the key holds; "" for a rule without places.
func placesText(v api.ExplainView) string {
	p := v.Places
	switch {
	case p == nil:
		return ""
	case p.Oldest == nil:
		return fmt.Sprintf("0 of %v taken", v.Limit)
	}
	return fmt.Sprintf("%d of %v taken by %s, the oldest held for %s; it ends in %s unless it is "+
		"released",
		p.Taken, v.Limit, cli.Count(p.Leases, "lease"),
		cli.Span(v.Now.Sub(*p.Oldest).Truncate(time.Second)), timeLeft(*p.Until, v.Now))
}

// reserveText describes the room of each tier; "" where nothing is kept for any.
func reserveText(all []api.KeyReserveView) string {
	var parts []string
	for _, r := range all {
		parts = append(parts, fmt.Sprintf("%s %v of %v left",
			cli.First(r.Tier, "others"), r.Left, r.Most))
	}
	return strings.Join(parts, ", ")
}

// strikesText describes the key's place on a ladder of blocks; "" under a rule without.
func strikesText(v api.ExplainView) string {
	s := v.Strikes
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("%s in a row, the next lasts %s", cli.Count(s.Blocks, "block"),
		cli.Span(cli.Seconds(s.Next)))
	if s.Forgotten != nil {
		text += "; forgotten in " + timeLeft(*s.Forgotten, v.Now)
	}
	return text
}

// siblingsText describes the narrower keys under a network's key; "" under other rules.
func siblingsText(s *api.SiblingsView) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d narrower keys asked", s.Asked, s.Needed)
}

// networksOf describes the networks the key is in, under a rule with a ladder, a field each.
func networksOf(all []api.LevelView) (fields [][2]string) {
	for _, v := range all {
		fields = append(fields, [2]string{
			"network",
			fmt.Sprintf("%s, %s by %s: %v of %v used, %s", v.Key, v.Verdict, v.Rule, v.Used,
				v.Limit, siblingsText(&v.Siblings)),
		})
	}
	return fields
}

// blastText describes how many clients the key stands for; "" under a rule without such counts.
func blastText(b *api.KeyBlastView) string {
	switch {
	case b == nil:
		return ""
	case b.Clients == 0:
		return fmt.Sprintf("none counted; above %d a block sheds instead", b.Most)
	case b.Sheds:
		return fmt.Sprintf("about %d, more than %d: it sheds instead of blocking", b.Clients,
			b.Most)
	}
	return fmt.Sprintf("about %d; above %d a block sheds instead", b.Clients, b.Most)
}

// shedByText describes the part by which the drop ratio is drawn, and the draw asked for; "" where
// drawn for each request.
func shedByText(s *api.ShedByView, now time.Time) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("%s, for %s; drawn again in %s", s.Part, cli.Span(cli.Seconds(s.Epoch)),
		timeLeft(s.Ends, now))
	switch {
	case s.Denied == nil:
		return text
	case *s.Denied:
		return text + "; " + s.By + " is denied until then"
	}
	return text + "; " + s.By + " passes until then"
}

// spreadText says how much longer the retry of a denial may be; "" where exact.
func spreadText(part float64) string {
	if part == 0 {
		return ""
	}
	return fmt.Sprintf(", retry up to %s longer", cli.ShareText(part))
}

// sourceText says where a limit is from that is not the rule's own; "" for its own.
func sourceText(v api.ExplainView) string {
	if set, ok := strings.CutPrefix(v.LimitSource, "table:"); ok {
		return "the table @" + set
	}
	if who, ok := strings.CutPrefix(v.LimitSource, "override:"); ok && v.LimitUntil != nil {
		return fmt.Sprintf("set by hand by %s, %s left", who, timeLeft(*v.LimitUntil, v.Now))
	}
	if v.LimitSource == "unknown" {
		return "the rule; a policy may know a number of the key, by a field of the request"
	}
	return ""
}
