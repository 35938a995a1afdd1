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
	limit := c.amount(c.Rule.Limit).String()
	if c.Rule.Unit != "" {
		limit += " " + c.Rule.Unit
	}
	if limit += " in " + Span(c.Rule.Window); c.isBucket() {
		return fmt.Sprintf("%v at once and %s", c.amount(c.Rule.Burst), limit)
	}
	return limit
}

// span renders the time over which the rule's counts reach.
func (c *explanation) span() string { return Span(max(c.Rule.Fill(), mitigation.MinWindow)) }

// token returns the time of a token's return.
func (c *explanation) token() time.Duration { return c.Rule.Window / time.Duration(c.Rule.Limit) }

// threeDigits renders d to three digits: 100ms, 8.57s, 2m0s.
// Delays are shorter than a second as often as not, so Span's whole seconds would say too little.
func threeDigits(d time.Duration) string {
	for unit := time.Second; unit > 1; unit /= 10 {
		if d >= 100*unit {
			return d.Round(unit).String()
		}
	}
	return d.String()
}

// ahead returns by how much the key's bucket lacks more than all its tokens, as the time until it
// is empty; 0 or less: it is not. A bucket full again at T lacks T - now of filling; more than a
// whole filling is taken in advance.
func (c *explanation) ahead() time.Duration {
	if c.Evidence.Full <= c.now {
		return -c.Rule.Fill()
	}
	return c.Evidence.Full.Sub(c.now) - c.Rule.Fill()
}

// inAdvance returns how many tokens are taken the bucket does not have yet.
func (c *explanation) inAdvance() int64 {
	if late := c.ahead(); late > 0 {
		return int64((late + c.token() - 1) / c.token())
	}
	return 0
}

// wait returns how long a request of cost 1 has to wait for its token. false: nothing makes it
// wait, or it would be denied whether it waits or not.
func (c *explanation) wait() (time.Duration, bool) {
	wait := c.ahead() + c.token()
	return wait, c.Rule.Delay > 0 && wait > 0 && wait <= c.Rule.Delay &&
		(c.why() == mitigation.ByLimit || c.Count.Wait > 0) && !c.denied()
}

// bucketSays states how much of its bucket the key has taken, and when it is full again.
func (c *explanation) bucketSays(v *api.ExplainView) string {
	state := "is full"
	if left := c.Evidence.Full.Sub(c.now); left > 0 {
		state = fmt.Sprintf("holds %v of %v and is full again in %s", c.amount(c.left()),
			c.amount(c.Rule.Burst), Span(left))
	}
	if n := c.inAdvance(); n > 0 {
		state += ": " + plural(c.amount(n), "token is",
			"tokens are") + " taken in advance, by requests that wait or by costs known afterwards"
	}
	return fmt.Sprintf("By %s its bucket of %s %s.", countersOf(v.View), c.limitSays(), state)
}

// left returns the whole tokens in the key's bucket.
func (c *explanation) left() int64 { return max(0, c.Rule.Burst-c.Evidence.Admitted) }

// pastSays states the treatment of requests beyond the tokens left.
func (c *explanation) pastSays() string {
	every := "one every " + threeDigits(c.token()*time.Duration(c.Rule.Parts()))
	if c.Rule.Delay > 0 {
		return fmt.Sprintf("beyond that those that can wait up to %s pass later, and the others "+
			"are denied until tokens are back, %s", threeDigits(c.Rule.Delay), every)
	}
	return "requests beyond that are denied until tokens are back, " + every
}

// viewBucket returns the state of a key's bucket; nil under a rule of another kind.
func (c *explanation) viewBucket(fullAt func() time.Time) *api.BucketView {
	if !c.isBucket() {
		return nil
	}
	v := &api.BucketView{
		Burst: c.amount(c.Rule.Burst), Left: c.amount(c.Rule.Burst), Fill: 1,
		Delay: c.Rule.Delay.Seconds(), Debt: c.amount(c.inAdvance()),
		Token: c.Rule.Window.Seconds() / c.Rule.Units(c.Rule.Limit),
	}
	if wait, waits := c.wait(); waits {
		v.Wait = wait.Seconds()
	}
	if c.Evidence.Full > c.now {
		at := fullAt()
		v.Left, v.FullAt = c.amount(c.left()), &at
		v.Fill = max(0, 1-c.Evidence.Full.Sub(c.now).Seconds()/c.Rule.Fill().Seconds())
	}
	return v
}

// plural renders n with its noun: 1 token is, 3 tokens are.
func plural(n api.Amount, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return n.String() + " " + more
}
