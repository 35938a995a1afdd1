package ring

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// counterName is the arguments of Digester.Key.
type counterName struct {
	rule    string
	variant uint32
	window  time.Duration
	key     string
	id      uint64
}

func (c counterName) under(d *Digester) string {
	var dst Key
	d.Key(&dst, Counter{c.rule, c.variant, c.window, []byte(c.key), c.id})
	return string(dst[:])
}

const goldenSecret = "0123456789abcdef0123456789abcdef"

// TestDigesterGolden pins names for ever, computed apart from this code (Python's hmac and struct):
// a node that names counters otherwise would count alone. A change of format needs another
// digestVersion, and adds lines here.
func TestDigesterGolden(t *testing.T) {
	var every [256]byte
	for i := range every {
		every[i] = byte(i)
	}
	for _, c := range []struct {
		secret string
		counterName
		want string
	}{
		{
			goldenSecret,
			counterName{"per-ip", 0, time.Minute, "203.0.113.7", 29_000_000},
			"hg:75da25a1849aeaf9f3824a408a85d5ac",
		},
		{
			goldenSecret,
			counterName{"per-ip", 1, time.Minute, "203.0.113.7", 29_000_000},
			"hg:9a6a3b96006bfa373e747bff617f5d01",
		},
		{
			goldenSecret,
			counterName{"per-ip", 0, time.Minute, "203.0.113.7", 29_000_001},
			"hg:3cd1fd3aa9e6e833d272817f0a82b60f",
		},
		{
			goldenSecret,
			counterName{"login", 0, time.Second, "2001:db8::", 1_740_000_000},
			"hg:454da8af4c333c8a892c0fa62177de2e",
		},
		{
			goldenSecret,
			counterName{
				strings.Repeat("r", 64), 1<<32 - 1, 24 * time.Hour,
				string(every[:]), 1<<64 - 1,
			},
			"hg:f91396cc1049c45f9f2103d9b2e33dcf",
		},
		{"", counterName{}, "hg:698609f4969c19cd55e02091ac6275d5"},
		{
			strings.Repeat("k", 100),
			counterName{"a", 2, 1500 * time.Millisecond, "bc", 1},
			"hg:798edcc72bf357e2942e35ebf8e148ac",
		},
	} {
		d := NewDigester([]byte(c.secret))
		for range 2 { // the second time after a Reset
			if got := c.under(d); got != c.want {
				t.Errorf("%+v: %s, want %s", c.counterName, got, c.want)
			}
		}
	}
}

// TestDigesterTellsApart changes each argument alone, and moves a boundary.
func TestDigesterTellsApart(t *testing.T) {
	d := NewDigester([]byte(goldenSecret))
	base := counterName{"a", 1, time.Second, "bc", 1}
	seen := map[string]counterName{}
	for _, c := range []counterName{
		base,
		{"ab", 1, time.Second, "c", 1},
		{"", 1, time.Second, "abc", 1},
		{"b", 1, time.Second, "bc", 1},
		{"a", 2, time.Second, "bc", 1},
		{"a", 1, time.Second + time.Millisecond, "bc", 1},
		{"a", 1, time.Second, "bd", 1},
		{"a", 1, time.Second, "bc\x00", 1},
		{"a", 1, time.Second, "bc", 2},
	} {
		name := c.under(d)
		if other, twice := seen[name]; twice {
			t.Errorf("%+v and %+v are both %s", c, other, name)
		}
		seen[name] = c
	}
	if base.under(NewDigester([]byte("another"))) == base.under(d) {
		t.Error("the secret makes no difference")
	}
}

// TestDigestedTextIsInjective reads the arguments back out of what is digested: where that can be
// done, no two lists of arguments have the same text.
func TestDigestedTextIsInjective(t *testing.T) {
	d := NewDigester(nil)
	rapid.Check(t, func(r *rapid.T) {
		want := counterName{
			rule:    rapid.StringN(0, 300, -1).Draw(r, "rule"),
			variant: rapid.Uint32().Draw(r, "variant"),
			window:  time.Duration(rapid.Int64Range(0, 1<<40).Draw(r, "ms")) * time.Millisecond,
			key:     string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "key")),
			id:      rapid.Uint64().Draw(r, "id"),
		}
		want.under(d)
		if got := readDigested(t, d.text); got != want {
			r.Errorf("%q holds %+v, want %+v", d.text, got, want)
		}
	})
}

// readDigested undoes the encoding.
func readDigested(t *testing.T, text []byte) (c counterName) {
	t.Helper()
	r := bytes.NewBuffer(text)
	version, _ := r.ReadByte()
	if version != digestVersion {
		t.Fatalf("version %d", version)
	}
	ruleLen, err := binary.ReadUvarint(r)
	if err != nil || ruleLen > uint64(r.Len()) {
		t.Fatalf("a rule of %d bytes in %d, %v", ruleLen, r.Len(), err)
	}
	c.rule = string(r.Next(int(ruleLen)))
	c.variant = binary.BigEndian.Uint32(r.Next(4))
	c.window = time.Duration(binary.BigEndian.Uint64(r.Next(8))) * time.Millisecond
	c.id = binary.BigEndian.Uint64(r.Next(8))
	c.key = r.String()
	return c
}

func TestDigesterDoesNotAllocate(t *testing.T) {
	d, key := NewDigester([]byte(goldenSecret)), bytes.Repeat([]byte("k"), 256)
	var dst Key
	if n := testing.AllocsPerRun(100,
		func() { d.Key(&dst, Counter{"per-ip", 1, time.Minute, key, 7}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
