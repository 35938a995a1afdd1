package verdict_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestOf: numbers that clients rely on are consistent, whatever the gate says.
func TestOf(t *testing.T) {
	t.Parallel()
	const most = ^uint64(0)
	plain, exact, wide := &mitigation.Rule{}, &mitigation.Rule{
		RetrySpread: mitigation.NoSpread,
	}, &mitigation.Rule{
		RetrySpread: 5000,
	}
	for _, tt := range []struct {
		name string
		d    gate.Decision
		want string
	}{
		{"allow", gate.Decision{Remaining: 4, Reset: 59_001 * time.Millisecond}, "4 60 0"},
		{"more admitted than the limit", gate.Decision{Remaining: -3}, "0 0 0"},
		{"deny", gate.Decision{Deny: true, Reset: time.Second, Retry: 7 * time.Second}, "0 1 7"},
		{"deny with a later reset", gate.Decision{
			Deny: true, Reset: 9 * time.Second,
			Retry: time.Second,
		}, "0 9 9"},
		{"deny without times", gate.Decision{Deny: true}, "0 1 1"},
		{"deny, not spread", gate.Decision{
			Rule: plain, Deny: true, Reset: 40 * time.Second,
			Retry: 4 * time.Second,
		}, "0 40 40"},
		{"deny, spread with a later reset", gate.Decision{
			Rule: plain, Deny: true,
			Reset: 40 * time.Second, Retry: 4 * time.Second, Late: most,
		}, "0 40 44"},
		{"deny, spread by half", gate.Decision{
			Rule: wide, Deny: true, Reset: 40 * time.Second,
			Retry: 6 * time.Second, Late: most,
		}, "0 40 60"},
		{"deny, spread beyond the reset", gate.Decision{
			Rule: wide, Deny: true,
			Reset: 40 * time.Second, Retry: 42 * time.Second, Late: most,
		}, "0 40 42"},
		{"deny, exact", gate.Decision{
			Rule: exact, Deny: true, Reset: 40 * time.Second,
			Retry: 4 * time.Second,
		}, "0 40 40"},
	} {
		v := verdict.Of(&tt.d)
		if got := fmt.Sprint(v.Remaining, v.Reset, v.Retry); got != tt.want {
			t.Errorf("%s: remaining, reset, retry %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestTexts: a rule's text is formatted once, in whole seconds or without them, and old rules are
// let go.
func TestTexts(t *testing.T) {
	t.Parallel()
	var texts verdict.Texts
	login := &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute}
	text := texts.Of(login)
	if texts.Of(login) != text {
		t.Error("formatted twice")
	}
	if got := string(text.Policy); got != `"login";q=5;w=60` {
		t.Error(got)
	}
	if got := string(verdict.AppendRateLimit(nil, text,
		verdict.Verdict{Remaining: 4, Reset: 60})); got != `"login";r=4;t=60` {
		t.Error(got)
	}
	if got := string(texts.Of(&mitigation.Rule{
		Name: "r", Limit: 5,
		Window: 1500 * time.Millisecond,
	}).Policy); got != `"r";q=5` {
		t.Error(got)
	}
	for range 4 * mitigation.MaxRules {
		texts.Of(&mitigation.Rule{Name: "x", Limit: 1, Window: time.Second})
	}
	if texts.Of(login) == text {
		t.Error("a rule of long ago is still kept")
	}
}

// TestTextsDoNotAllocate: the text of a rule that is known is looked up.
func TestTextsDoNotAllocate(t *testing.T) {
	var texts verdict.Texts
	login := &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute}
	texts.Of(login)
	if n := testing.AllocsPerRun(100, func() { texts.Of(login) }); n != 0 {
		t.Error(n, "allocations")
	}
}
