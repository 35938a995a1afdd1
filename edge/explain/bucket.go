package explain

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// isBucket reports whether the key's rule is a bucket.
func (c *explanation) isBucket() bool { return c.Rule.Kind == mitigation.Bucket }

// limitSays states the rule's limit: 5 in 1m, or 20 at once and 10 in 1s.
func (c *explanation) limitSays() string {
	limit := fmt.Sprintf("%d in %s", c.Rule.Limit, Span(c.Rule.Window))
	if c.isBucket() {
		return fmt.Sprintf("%d at once and %s", c.Rule.Burst, limit)
	}
	return limit
}

// span renders the time over which the rule's counts reach.
func (c *explanation) span() string { return Span(max(c.Rule.Fill(), mitigation.MinWindow)) }

// tokenSays renders the time in which one token comes back, to three digits: 100ms, 8.57s.
func (c *explanation) tokenSays() string {
	token := c.Rule.Window / time.Duration(c.Rule.Limit)
	for unit := time.Second; unit > 1; unit /= 10 {
		if token >= 100*unit {
			return token.Round(unit).String()
		}
	}
	return token.String()
}

// bucketSays states how much of its bucket the key has taken, and when it is full again.
func (c *explanation) bucketSays(v *api.ExplainView) string {
	full := "is full"
	if left := c.Evidence.Full.Sub(c.now); left > 0 {
		full = fmt.Sprintf("holds %d of %d and is full again in %s", c.Rule.Burst-c.Evidence.Admitted, c.Rule.Burst, Span(left))
	}
	return fmt.Sprintf("By %s its bucket of %s %s.", countersOf(v.View), c.limitSays(), full)
}

// viewBucket returns the state of a key's bucket; nil under a rule of another kind.
func (c *explanation) viewBucket(fullAt func() time.Time) *api.BucketView {
	if !c.isBucket() {
		return nil
	}
	v := &api.BucketView{Burst: c.Rule.Burst, Left: c.Rule.Burst, Fill: 1}
	if c.Evidence.Full > c.now {
		at := fullAt()
		v.Left, v.FullAt = c.Rule.Burst-c.Evidence.Admitted, &at
		v.Fill = max(0, 1-c.Evidence.Full.Sub(c.now).Seconds()/c.Rule.Fill().Seconds())
	}
	return v
}
